// SPDX-License-Identifier: GPL-2.0-only
//! Changes to the machine that are undone whatever happens.
//!
//! A session notes each change in a file before it makes it, so that who comes after knows what to undo:
//!
//! 1. the session itself, at its end or when the [`Journal`] is dropped,
//! 2. a guard process, when the session dies without a word (SIGKILL),
//! 3. the next session, when both died.
//!
//! The guard reads a pipe that only the session writes to: which benchmark it is about to start, which it runs, and at last a
//! farewell. The end of the pipe without a farewell is the session's death, which no signal and no crash can hide. The guard holds the
//! session's lock, too, so that nobody comes between.

mod entry;
mod guard;
mod place;
mod process_tree;
mod undo;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::tracefs::pages::Parts;
use crate::{Host, LiveError};
use entry::Entry;
use guard::Guard;
pub use guard::guard;
use place::{Found, needs_root};
pub use undo::Restoration;

/// The subcommand that makes an `idlewise` process a guard: `idlewise guard-session JOURNAL`, a hidden name of `restore`. A test
/// program whose session starts itself takes it for a filter of tests: no test has a hyphen in its name, so none is run again.
pub const GUARD: &str = "guard-session";
/// How long a session waits for the guard of a dead one to finish, in steps of [`STEP`].
const PATIENCE: u32 = 50;
const STEP: Duration = Duration::from_millis(100);

/// The right to change the machine, held by one session at a time, and what it changed.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    host: Host,
    /// Nothing was noted yet if there is none.
    file: Option<File>,
    leftovers: Restoration,
    guard: Option<Guard>,
    /// Held as long as the session and its guard live; the last field, so that it goes last.
    _lock: File,
}

impl Journal {
    /// Takes the lock of `host`, restores what dead sessions left (see [`Journal::leftovers`]), starts a guard: this
    /// program with the subcommand [`GUARD`].
    ///
    /// # Errors
    /// When another session has the lock, files in `host.run` cannot be written, or the guard does not start.
    pub fn open(host: &Host) -> Result<Self, LiveError> {
        let this = std::env::current_exe().map_err(LiveError::io(Path::new("/proc/self/exe")))?;
        let mut command = Command::new(this);
        command.arg(GUARD);
        Self::open_guarded_by(host, Some(command))
    }

    /// [`Journal::open`] with another guard: a command that calls [`guard`] with its last argument, which is added
    /// here; or without one.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_guarded_by(host: &Host, guard: Option<Command>) -> Result<Self, LiveError> {
        let found = place::make(&host.run)?;
        let lock_path = host.run.join("lock");
        let mut lock = take_lock(&lock_path)?;
        if found == Found::Open {
            // Others may have the lock's file open, and could hold it whenever they like: from now on it is another one.
            fs::remove_file(&lock_path).map_err(LiveError::io(&lock_path))?;
            lock = take_lock(&lock_path)?;
        }
        let path = host.run.join("journal");
        let leftovers = undo::restore(host, &path)?;
        let guard = match guard {
            None => None,
            Some(command) => Some(Guard::start(command, &path, &lock)?),
        };
        Ok(Self { path, host: host.clone(), file: None, leftovers, guard, _lock: lock })
    }

    /// What an earlier session had left, and what became of it when this one began.
    #[must_use]
    pub fn leftovers(&self) -> &Restoration {
        &self.leftovers
    }

    /// Writes `value` to the file at `path` of sysfs or the like, once its old value is noted.
    ///
    /// # Errors
    /// When it cannot be read, noted or written, or the kernel made something else of the value. What was changed is
    /// restored at the end all the same.
    pub fn set(&mut self, path: &Path, value: &str) -> Result<(), LiveError> {
        if !place::is_setting(&self.host, path) {
            // It would not be restored.
            return Err(LiveError::file(path, "sessions do not change this file"));
        }
        let old = fs::read_to_string(path).map_err(LiveError::io(path))?;
        if old.trim() == value.trim() {
            return Ok(());
        }
        self.note(&Entry::Set { path: path.to_owned(), old, new: value.to_owned() })?;
        fs::write(path, value).map_err(needs_root(path))?;
        let now = fs::read_to_string(path).map_err(LiveError::io(path))?;
        if now.trim() == value.trim() {
            return Ok(());
        }
        Err(LiveError::NotTaken {
            path: path.to_owned(),
            wrote: value.to_owned(),
            now: now.trim().to_owned(),
        })
    }

    /// Notes `folder`, an instance of tracefs that the caller is about to make with `mkdir`. At the end its recording
    /// is stopped, its events are switched off, pages that are still in it are moved to `parts`, and it is removed.
    ///
    /// # Errors
    /// When it exists already (it is not ours to remove), is no instance, or cannot be noted.
    pub fn made(&mut self, folder: &Path, parts: Option<Parts>) -> Result<(), LiveError> {
        if !place::is_instance(&self.host, folder) {
            let why = format!("not an instance of ours in {}", self.host.tracefs().display());
            return Err(LiveError::file(folder, why));
        }
        if fs::symlink_metadata(folder).is_ok() {
            return Err(LiveError::file(folder, "exists already; remove it with rmdir"));
        }
        self.note(&Entry::Made { folder: folder.to_owned(), parts })
    }

    /// Notes that the pages of `folder`, an instance that [`Journal::made`] has noted, have been moved: none is moved at the end.
    ///
    /// # Errors
    /// When that cannot be noted.
    pub fn emptied(&mut self, folder: &Path) -> Result<(), LiveError> {
        self.note(&Entry::Made { folder: folder.to_owned(), parts: None })
    }

    /// Starts `command`, which the session will wait for: if the session is killed before it calls [`Journal::ended`], the guard kills
    /// the process with all that it has started. Its environment has the variable `IDLEWISE_RUN`, by which the guard finds it before
    /// it knows its number.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn start(&mut self, command: &mut Command) -> io::Result<Child> {
        let Some(guard) = &mut self.guard else { return command.spawn() };
        guard.announce(command);
        let child = command.spawn();
        guard.watch(child.as_ref().ok().map(Child::id));
        child
    }

    /// The process of [`Journal::start`] has ended.
    pub fn ended(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.watch(None);
        }
    }

    /// Restores everything, the last change first, where it still is as it was left: what somebody else changed
    /// meanwhile stays, and is reported. What fails is tried again by the next session.
    ///
    /// # Errors
    /// When the journal itself cannot be read or written.
    pub fn restore(&mut self) -> Result<Restoration, LiveError> {
        self.file = None;
        undo::restore(&self.host, &self.path)
    }

    /// On the disk before this returns.
    fn note(&mut self, entry: &Entry) -> Result<(), LiveError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .mode(0o600)
                    .open(&self.path)
                    .map_err(LiveError::io(&self.path))?,
            ),
        };
        let written = file.write_all(entry.line().as_bytes()).and_then(|()| file.sync_data());
        written.map_err(LiveError::io(&self.path))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // What could not be restored stays in the journal, for the next session.
        let done = self.restore().is_ok();
        if let Some(guard) = self.guard.take() {
            guard.dismiss(done);
        }
    }
}

/// Takes the lock in `path`, or says who has it. One that only the guard of a dead session holds is waited for: it is
/// putting things back.
fn take_lock(path: &Path) -> Result<File, LiveError> {
    let mut lock = OpenOptions::new()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(needs_root(path))?;
    // The umask may have taken more away.
    lock.set_permissions(Permissions::from_mode(0o600)).map_err(LiveError::io(path))?;
    for step in 0.. {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) => {}
            Err(e) => return Err(LiveError::io(path)(e.into())),
        }
        let holder = fs::read_to_string(path).unwrap_or_default();
        let pid = holder.split(':').next().unwrap_or_default();
        let alive = pid.parse::<u32>().is_ok_and(|pid| Path::new("/proc").join(pid.to_string()).exists());
        if step == PATIENCE || (alive && step > 0) {
            return Err(LiveError::Busy { holder: holder.trim().to_owned(), path: path.to_owned() });
        }
        thread::sleep(STEP);
    }
    let words: Vec<String> = std::env::args().take(6).collect();
    let holder = format!("{}: {}\n", process::id(), words.join(" "));
    lock.set_len(0).and_then(|()| lock.write_all(holder.as_bytes())).map_err(LiveError::io(path))?;
    Ok(lock)
}

#[cfg(test)]
mod tests;
