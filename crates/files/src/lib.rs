// SPDX-License-Identifier: GPL-2.0-only
//! Opens the files that users name: ordinary files only, and never waits for one. [`new_file`] writes those that they ask for,
//! [`unified_diff`] says what a patch would change in them.
//!
//! A pipe (FIFO) that nobody writes to would hold whoever opens it forever, a device may have no end, and opening one may
//! start something. Traces, side-cars, platform files, workloads, tables and sessions all go through here, and what is read whole
//! is read here, within a limit; `crates/cli/tests/inputs.rs` checks both.

pub mod new_file;

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

/// Opens the ordinary file at `path`, also through symbolic links.
///
/// # Errors
/// What the system says; or [`io::ErrorKind::InvalidInput`], with what the file is and what to do, where it is none.
pub fn open(path: &Path) -> io::Result<File> {
    let there =
        std::fs::metadata(path).map_err(|e| if path == Path::new("-") { no_stdin(e.kind()) } else { e })?;
    ordinary(there.file_type())?;
    // It may have become something else meanwhile: opened without waiting, and looked at again.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    ordinary(file.metadata()?.file_type())?;
    Ok(file)
}

/// What makes `before` of the file `name` into `after`, for `git apply` and `patch -p1`; without `before` the file is new.
#[must_use]
pub fn unified_diff(name: &str, before: Option<&str>, after: &str) -> String {
    let from = before.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{name}"));
    let mut options = diffy::DiffOptions::new();
    options.set_original_filename(from).set_modified_filename(format!("b/{name}"));
    options.create_patch(before.unwrap_or(""), after).to_string()
}

/// `-` is a file's name only; elsewhere it is standard input.
fn no_stdin(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, "standard input is not read; write it to a file, and name that")
}

/// A new file at `path`, to be written, in a folder that somebody else may have filled: an ordinary file of that name goes,
/// anything else (a symbolic link, a pipe) is refused, so that nothing is written elsewhere and nothing waits.
///
/// # Errors
/// What the system says; or [`io::ErrorKind::InvalidInput`] with what stands there.
pub fn write_anew(path: &Path) -> io::Result<File> {
    match std::fs::symlink_metadata(path) {
        Ok(there) => {
            own(there.file_type())?;
            std::fs::remove_file(path)?;
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    File::create_new(path)
}

/// The ordinary file at `path` and at no other place, to be read and written at its end.
///
/// # Errors
/// As [`write_anew`], also where nothing is there.
pub fn append(path: &Path) -> io::Result<File> {
    own(std::fs::symlink_metadata(path)?.file_type())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file =
        OpenOptions::new().read(true).append(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    ordinary(file.metadata()?.file_type())?;
    Ok(file)
}

fn own(kind: FileType) -> io::Result<()> {
    if kind.is_symlink() {
        let what = "is a symbolic link; nothing is written through one";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    ordinary(kind)
}

/// Waits until no other process holds `folder`, and holds it until the result is dropped: whoever changes an index locks its
/// folder first. Readers do not wait.
///
/// # Errors
/// What the system says.
pub fn lock(folder: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOCTTY;
    let held = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(folder)?;
    rustix::io::retry_on_intr(|| rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive))?;
    Ok(held)
}

/// No file that a person writes is larger, bytes: a side-car, a platform, a workload, an experiment, a C file.
pub const LARGEST: u64 = 16 << 20;
/// No file that a program writes and that is read whole is larger, bytes: a dump of sysfs, a result, a session, a list of symbols.
pub const LARGEST_MADE: u64 = 64 << 20;

/// All bytes of the ordinary file at `path`, of [`LARGEST`] at most.
///
/// # Errors
/// As [`open`], when it cannot be read, and where it is larger.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_within(path, LARGEST)
}

/// The text of the ordinary file at `path`, of [`LARGEST`] at most.
///
/// # Errors
/// As [`read`]; [`io::ErrorKind::InvalidData`] where it is no UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    text(read(path)?)
}

/// As [`read_to_string`], of a file that a program wrote: [`LARGEST_MADE`] at most.
///
/// # Errors
/// As [`read_to_string`].
pub fn read_made(path: &Path) -> io::Result<String> {
    text(read_within(path, LARGEST_MADE)?)
}

/// All bytes of the ordinary file at `path`, of `most` at most: no more of it is read, whatever length it says it has.
///
/// # Errors
/// As [`read`].
pub fn read_within(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    // The kernel's own files say no length.
    let says = file.metadata()?.len();
    if says <= most {
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    }
    if says > most || bytes.len() as u64 > most {
        let why = format!("larger than {most} bytes, which no file of this kind is; name the right file");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "not a text file (UTF-8)"))
}

fn ordinary(kind: FileType) -> io::Result<()> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "is a directory; name a file"
    } else if kind.is_fifo() {
        "is a pipe (FIFO), not an ordinary file; write what comes through it to a file, and name that"
    } else if kind.is_socket() {
        "is a socket, not an ordinary file"
    } else {
        "is a device, not an ordinary file; copy its data to a file, and name that"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, what))
}

/// No table shrinks to less than a thousandth when it is packed; what does so is made to fill a memory.
const MOST_TIMES: u64 = 1000;
/// Granted whatever the packed size, bytes.
const GRANTED: u64 = 64 << 20;
/// No row of a table is longer, bytes.
const LONGEST_LINE: usize = 1 << 20;

/// The text of a table, plain or unpacked, that ends with an error where it is longer than `packed` bytes can be, or has a
/// line without end.
#[derive(Debug)]
pub struct TableText<R> {
    text: R,
    left: u64,
    line: usize,
}

impl<R> TableText<R> {
    /// Of `text`, from a file of `packed` bytes.
    pub fn new(text: R, packed: u64) -> Self {
        Self { text, left: packed.saturating_mul(MOST_TIMES).saturating_add(GRANTED), line: 0 }
    }
}

impl<R: io::Read> io::Read for TableText<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.text.read(to)?;
        let read = to.get(..n).unwrap_or(to);
        let (end, begins) = match read.iter().rposition(|b| *b == b'\n') {
            Some(at) => (read.iter().position(|b| *b == b'\n').unwrap_or(at), n - at - 1),
            None => (n, self.line + n),
        };
        let longest = begins.max(self.line + end);
        self.line = begins;
        let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
        if longest > LONGEST_LINE {
            return wrong(format!("a line of more than {LONGEST_LINE} bytes: this is no table"));
        }
        match self.left.checked_sub(n as u64) {
            Some(left) => self.left = left,
            None => {
                return wrong(format!("unpacks to more than {MOST_TIMES} times its size: this is no table"));
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_written_through_a_link_or_into_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("victim"), "precious").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .unwrap();
        for name in ["link", "dangling", "pipe"] {
            for why in [write_anew(&at(name)).unwrap_err(), append(&at(name)).unwrap_err()] {
                assert_eq!(why.kind(), io::ErrorKind::InvalidInput, "{name}: {why}");
            }
        }
        assert!(!at("nowhere").exists());
        assert_eq!(fs::read(at("victim")).unwrap(), b"precious");
    }

    #[test]
    fn what_is_read_whole_has_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        let file = File::create(&path).unwrap();
        for (len, most) in [(LARGEST, LARGEST), (100, 100), (0, 0)] {
            file.set_len(len).unwrap();
            assert_eq!(read_within(&path, most).unwrap().len() as u64, len);
        }
        // A file of holes says any length, and takes no place.
        for len in [LARGEST + 1, 1 << 40] {
            file.set_len(len).unwrap();
            for why in [read(&path).unwrap_err(), read_to_string(&path).unwrap_err()] {
                assert_eq!(why.kind(), io::ErrorKind::FileTooLarge);
                assert!(why.to_string().contains("larger than 16777216 bytes"), "{why}");
            }
        }
        assert!(read_made(&path).unwrap_err().to_string().contains("larger than 67108864 bytes"));
        file.set_len(0).unwrap();
        (&file).write_all(b"\xff").unwrap();
        assert_eq!(read_to_string(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn tables_have_ends_and_lines() {
        let read = |text: &mut dyn io::Read, packed: u64| {
            let mut all = Vec::new();
            TableText::new(text, packed).read_to_end(&mut all).map(|_| all)
        };
        let good = b"a,b\n1,2\n".repeat(300_000);
        assert_eq!(read(&mut &good[..], 0).unwrap(), good);
        assert_eq!(read(&mut &b"no end of line"[..], 0).unwrap(), b"no end of line");
        let why = read(&mut io::repeat(0), u64::MAX).unwrap_err().to_string();
        assert!(why.contains("a line of more than 1048576 bytes"), "{why}");
        let why = read(&mut io::repeat(b'\n'), 3).unwrap_err().to_string();
        assert!(why.contains("more than 1000 times its size"), "{why}");
    }

    #[test]
    fn ordinary_files_are_replaced_or_grow() {
        let folder = tempfile::tempdir().unwrap();
        let (path, kept) = (folder.path().join("run.txt"), folder.path().join("kept"));
        fs::write(&path, "before").unwrap();
        // The same file under another name keeps what it had.
        fs::hard_link(&path, &kept).unwrap();
        write_anew(&path).unwrap().write_all(b"after").unwrap();
        append(&path).unwrap().write_all(b"wards").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(&kept).unwrap()),
            (b"afterwards".to_vec(), b"before".to_vec())
        );
        assert_eq!(append(&folder.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
