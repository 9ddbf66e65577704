// SPDX-License-Identifier: GPL-2.0-only
//! Where pages go while a recording runs: a folder beside the file that is to be, which can be read by itself if it comes to
//! nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use idlewise_trace::write::DatHead;

use idlewise_live::tracefs::Instance;
use idlewise_live::tracefs::pages::{self, KNOWN_BY};
use idlewise_live::{Host, LiveError};

/// One CPU's buffer and the file that takes what is read from it.
struct Lane {
    cpu: u32,
    pages: File,
    path: PathBuf,
    file: File,
    bytes: u64,
}

/// The folder, and a lane for each CPU.
pub struct Spool {
    lanes: Vec<Lane>,
    page: Vec<u8>,
}

/// Makes the folder for a recording. What a killed one left there goes if no pages are in it, or if `force`; else it is moved
/// aside, and where to is reported. Who calls this is the only session that records.
///
/// # Errors
/// [`LiveError`] where something else than a recording's folder is there, or it cannot be moved, removed or made.
pub fn make_folder(folder: &Path, force: bool) -> Result<Option<PathBuf>, LiveError> {
    let mut moved = None;
    if folder.symlink_metadata().is_ok() {
        if !is_ours(folder) {
            let why = "is in the way of what is recorded, and nothing that a recording has left; move it, or name another file";
            return Err(LiveError::file(folder, why));
        }
        if holds_pages(folder) && !force {
            let aside = aside(folder);
            fs::rename(folder, &aside).map_err(LiveError::io(folder))?;
            moved = Some(aside);
        } else {
            remove(folder).map_err(LiveError::io(folder))?;
        }
    }
    // The kernel's symbols and all that happened are nobody else's business until the recording is written.
    DirBuilder::new().mode(0o700).create(folder).map_err(LiveError::io(folder))?;
    Ok(moved)
}

/// `folder` with the first number behind its name that is free.
fn aside(folder: &Path) -> PathBuf {
    let numbered = |n: u32| {
        let mut name = folder.as_os_str().to_owned();
        name.push(format!(".{n}"));
        PathBuf::from(name)
    };
    let mut n = 1;
    while n < u32::MAX && numbered(n).symlink_metadata().is_ok() {
        n += 1;
    }
    numbered(n)
}

/// Removes what a recording has made, the folder by which it is known for one last: who is killed meanwhile leaves what the next
/// recording takes for one's, too.
///
/// # Errors
/// What the system says.
pub fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() != KNOWN_BY {
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?
            } else {
                fs::remove_file(entry.path())?
            }
        }
    }
    fs::remove_dir_all(folder)
}

/// Whether a recording has made `folder`: it is empty, or holds the descriptions of events.
fn is_ours(folder: &Path) -> bool {
    let real = folder.symlink_metadata().is_ok_and(|m| m.is_dir());
    real && (folder.join(KNOWN_BY).is_dir()
        || fs::read_dir(folder).is_ok_and(|mut list| list.next().is_none()))
}

/// Whether any CPU's file in the folder holds pages.
pub(super) fn holds_pages(folder: &Path) -> bool {
    let Ok(mut list) = fs::read_dir(folder) else { return true };
    list.any(|entry| {
        let Ok(entry) = entry else { return true };
        let is_pages = entry.file_name().to_string_lossy().starts_with("cpu");
        is_pages && entry.metadata().is_ok_and(|m| m.len() > 0)
    })
}

/// Writes the descriptions beside the pages, where the reader of raw ring buffers looks for them.
pub fn describe(folder: &Path, head: &DatHead) -> Result<(), LiveError> {
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        // The folder may be opened to others, or moved to where they read: the kernel tells its symbols to root only.
        let new = || OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let written = made.and_then(|()| new()?.write_all(text.as_bytes()));
        written.map_err(LiveError::io(&path))
    };
    put("events/header_page", &head.header_page)?;
    put("printk_formats", &head.printk_formats)?;
    put("saved_cmdlines", &head.saved_cmdlines)?;
    put("kallsyms", &head.kallsyms)?;
    put("trace_clock", &head.clock)?;
    // The reader wants release and machine only.
    put("uname", head.uname.splitn(3, ' ').nth(2).unwrap_or_default())?;
    for (system, formats) in &head.formats {
        for (n, text) in formats.iter().enumerate() {
            put(&format!("events/{system}/{n}/format"), text)?;
        }
    }
    Ok(())
}

impl Spool {
    /// A file below `folder` for each CPU of `instance`; `page` bytes are read at a time.
    pub fn new(folder: &Path, instance: &Instance, page: usize) -> Result<Self, LiveError> {
        let mut lanes = Vec::new();
        for cpu in instance.cpus()? {
            let path = folder.join(format!("cpu{cpu}"));
            let file = File::create(&path).map_err(LiveError::io(&path))?;
            lanes.push(Lane { cpu, pages: instance.pages(cpu)?, path, file, bytes: 0 });
        }
        Ok(Self { lanes, page: vec![0; page] })
    }

    /// Takes what all lanes have; see [`Spool::take`].
    pub(super) fn take_each(&mut self) -> Result<(), LiveError> {
        (0..self.lanes.len()).try_for_each(|at| self.take(at, false).map(drop))
    }

    /// The files to wait for.
    pub(super) fn pages(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lanes.iter().map(|l| l.pages.as_fd())
    }

    /// Bytes taken so far.
    pub(super) fn bytes(&self) -> u64 {
        self.lanes.iter().map(|l| l.bytes).sum()
    }

    /// Takes what the lane number `at` has; `all` until nothing is left, else up to the page that is being written. Gives
    /// the number of pages.
    pub(super) fn take(&mut self, at: usize, all: bool) -> Result<u64, LiveError> {
        let Some(lane) = self.lanes.get_mut(at) else { return Ok(0) };
        let taken = pages::take(&mut lane.pages, &mut self.page, all, &mut lane.file)
            .map_err(LiveError::io(&lane.path))?;
        lane.bytes += taken * self.page.len() as u64;
        Ok(taken)
    }

    /// Takes all that is left of all CPUs, and closes their buffers. Gives the files with the pages.
    pub fn finish(mut self) -> Result<Vec<(u32, PathBuf)>, LiveError> {
        for at in 0..self.lanes.len() {
            self.take(at, true)?;
        }
        Ok(self.lanes.into_iter().map(|l| (l.cpu, l.path)).collect())
    }
}

/// The buffer for each CPU that suits the machine, KiB: 64 MiB, and an eighth of the memory that is free for all of them at most.
pub fn buffer_kib(host: &Host, cpus: usize) -> u64 {
    const USUAL: u64 = 64 << 10;
    const LEAST: u64 = 1 << 10;
    let text = fs::read_to_string(host.proc.join("meminfo")).unwrap_or_default();
    let kib = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"));
    let kib = kib.and_then(|l| l.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map_or(USUAL, |kib| (kib / 8 / cpus.max(1) as u64).clamp(LEAST, USUAL))
}
