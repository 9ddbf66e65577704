// SPDX-License-Identifier: GPL-2.0-only
//! Writes the files that users ask for: whole or not at all, and over no existing file unless that is asked for.

use std::convert::Infallible;
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;

/// Why a result was not written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The reader of standard output has left. That ends a command, and is no failure.
    #[error("nobody reads standard output any more")]
    Closed,
    /// Which file, why, and what to do.
    #[error("{0}")]
    Refused(String),
}

/// Whether `path` stands for standard output, as it does wherever a file is written; a file of that name is `./-`.
#[must_use]
pub fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes to `path`, whole or not at all; an existing file is not overwritten unless `force`.
///
/// # Errors
/// [`WriteError`] when it cannot be written, or may not be.
pub fn write_new(path: &Path, bytes: &[u8], force: bool) -> Result<(), WriteError> {
    write_new_with(path, force, |file| file.write_all(bytes).map_err(|e| failed(path, &e)))
}

fn failed(path: &Path, e: &io::Error) -> WriteError {
    if is_stdout(path) {
        return match e.kind() {
            io::ErrorKind::BrokenPipe => WriteError::Closed,
            _ => WriteError::Refused(format!("standard output: {e}")),
        };
    }
    WriteError::Refused(format!("{}: {e}", path.display()))
}

/// Whether `path` may be written, asked before the work begins: it is new, or an ordinary file and `force` is given.
///
/// # Errors
/// [`WriteError`] when it cannot be written, or may not be.
pub fn check_new(path: &Path, force: bool) -> Result<(), WriteError> {
    if is_stdout(path) {
        return Ok(());
    }
    let refuse = |why: &str| Err(WriteError::Refused(format!("{}: {why}", path.display())));
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            return refuse("is a directory, a device or a pipe; name a file");
        }
        Ok(_) if !force => return refuse("exists; name another file or remove it"),
        Ok(_) => {}
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            return refuse("is a symbolic link to nowhere; name another file or remove it");
        }
        Err(_) => {}
    }
    if !folder(path).is_dir() {
        return refuse("its directory does not exist; make it first, or name a file elsewhere");
    }
    Ok(())
}

/// Whether the folder of `path` takes files. Found out by doing it: what a mode, a read-only file system or a quota says, it says
/// now and not after the work.
///
/// # Errors
/// [`WriteError`] when it cannot be written, or may not be.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    if is_stdout(path) {
        return Ok(());
    }
    tempfile::tempfile_in(folder(path)).map(drop).map_err(|e| {
        WriteError::Refused(format!(
            "{}: nothing can be written there: {e}; name a file elsewhere",
            path.display()
        ))
    })
}

/// [`check_new`] of a file that is made of `trace` and of `others`, where they are files, too: none of them, nor a file that belongs to
/// the trace, is overwritten even by `force`.
///
/// # Errors
/// [`WriteError`] when it cannot be written, or may not be.
pub fn check_new_from(path: &Path, force: bool, trace: &Path, others: &[&Path]) -> Result<(), WriteError> {
    check_new(path, force)?;
    let inode = |p: &Path| fs::metadata(p).ok().map(|m| (m.dev(), m.ino()));
    let Some(of) = inode(path) else { return Ok(()) };
    let refuse = |what: &str| {
        let why = format!("{}: is {what}, which would be lost; name another file", path.display());
        Err(WriteError::Refused(why))
    };
    if inode(trace) == Some(of) {
        return refuse("the trace itself");
    }
    if ["toml", "inputs.csv"].iter().any(|end| inode(&trace.with_extension(end)) == Some(of)) {
        return refuse("what belongs to the trace");
    }
    if others.iter().any(|other| inode(other) == Some(of)) {
        return refuse("what the command reads");
    }
    Ok(())
}

/// Whether two files that a command is to write are two, whatever their paths look like; asked before the work begins. Each comes with
/// the option that names it.
///
/// # Errors
/// [`WriteError::Refused`] where both are the same file.
pub fn check_apart(one: (&str, &Path), other: (&str, &Path)) -> Result<(), WriteError> {
    if is_stdout(one.1) || is_stdout(other.1) || place(one.1) != place(other.1) {
        return Ok(());
    }
    Err(WriteError::Refused(format!(
        "{} {} and {} {} are the same file; name two",
        one.0,
        one.1.display(),
        other.0,
        other.1.display()
    )))
}

/// Where `path`, a file that may not be there yet, is.
fn place(path: &Path) -> PathBuf {
    let new = || {
        let name = path.file_name().unwrap_or_default();
        fs::canonicalize(folder(path)).unwrap_or_else(|_| folder(path).to_path_buf()).join(name)
    };
    fs::canonicalize(path).unwrap_or_else(|_| new())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file that would stay when a signal ends the process: [`end_without_unfinished`] removes it while this lives.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Unfinished {
    /// The file at `path`.
    #[must_use]
    pub fn keep(path: &Path) -> Self {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

/// Removes the files that are being written, and ends the process by `exit`: for the handler of a signal.
pub fn end_without_unfinished(exit: impl FnOnce() -> Infallible) -> ! {
    // The lock is kept: no file is created between this and the end.
    let paths = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in paths.iter() {
        let _ = fs::remove_file(path);
    }
    match exit() {}
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.0);
    }
}

/// As [`write_new`], with bytes that `write` writes one after the other; asked before it begins.
///
/// # Errors
/// [`WriteError`] when it cannot be written, or may not be.
pub fn write_new_with<T, E: From<WriteError>>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    write_new_file(path, force, |file| {
        let mut file = io::BufWriter::new(Reader { file, left: false });
        let result = write(&mut file);
        let flushed = if result.is_ok() { file.flush() } else { Ok(()) };
        // What is left in the buffer goes nowhere, and is not tried again.
        let (reader, _) = file.into_parts();
        if reader.left && is_stdout(path) {
            return Err(WriteError::Closed.into());
        }
        flushed.map_err(|e| E::from(failed(path, &e)))?;
        result
    })
}

/// The same error, with what to do where a limit ends a file.
fn with_way_out(e: io::Error) -> io::Error {
    let limit = "the shell's limit (ulimit -f) or the file system's; raise it, or name a file elsewhere";
    match e.kind() {
        io::ErrorKind::FileTooLarge => io::Error::new(e.kind(), format!("{e}: {limit}")),
        _ => e,
    }
}

/// A file that may be a pipe; knows whether its reader has left.
struct Reader<'f> {
    file: &'f fs::File,
    left: bool,
}

impl Write for Reader<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes).map_err(with_way_out);
        self.left |= written.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// As [`write_new`], with a file that `write` fills; asked before it begins.
///
/// # Errors
/// [`WriteError`] when it cannot be written, or may not be.
pub fn write_new_file<T, E: From<WriteError>>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&fs::File) -> Result<T, E>,
) -> Result<T, E> {
    let fail = |e: io::Error| E::from(failed(path, &e));
    if is_stdout(path) {
        let out = io::stdout().as_fd().try_clone_to_owned().map_err(fail)?;
        return write(&fs::File::from(out));
    }
    check_new(path, force)?;
    // Of a symbolic link the file that it leads to is replaced, not the link.
    let to = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    // A temporary file is readable by its owner only; a result is an ordinary file, as the umask has it.
    let ordinary = fs::Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().permissions(ordinary).tempfile_in(folder(&to)).map_err(fail)?;
    let _unfinished = Unfinished::keep(file.path());
    let result = write(file.as_file())?;
    if force {
        file.persist(&to).map_err(|e| fail(e.error))?;
    } else {
        file.persist_noclobber(&to).map_err(|e| fail(e.error))?;
    }
    Ok(result)
}
