// SPDX-License-Identifier: GPL-2.0-only
//! Where the journal is, and which files it may be about. Who restores the machine is root, and does what the journal says:
//! nobody else may write it, and it may only name what sessions change.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use super::entry::Entry;
use crate::{Host, LiveError};

/// Nobody but the owner.
const PRIVATE: u32 = 0o700;
const OTHERS: u32 = 0o077;
const WRITE_OF_OTHERS: u32 = 0o022;
/// The first word of the names of our trace instances; the number of a process follows.
const INSTANCE: &str = "idlewise-";

/// What an earlier session left in the place of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It was ours alone, or is new.
    Private,
    /// Others could open what is in it.
    Open,
}

/// Makes the folder `run` for its owner alone, whatever the umask, or holds one that is there against that.
pub(super) fn make(run: &Path) -> Result<Found, LiveError> {
    if let Some(parent) = run.parent() {
        fs::create_dir_all(parent).map_err(needs_root(parent))?;
    }
    match DirBuilder::new().mode(PRIVATE).create(run) {
        // The umask may have taken more away.
        Ok(()) => fs::set_permissions(run, Permissions::from_mode(PRIVATE)).map_err(LiveError::io(run))?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(e) => return Err(needs_root(run)(e)),
    }
    check(run)
}

/// Whether `run` is a folder of who asks, closed to all others from now on.
pub(super) fn check(run: &Path) -> Result<Found, LiveError> {
    let refuse = |why: &str| Err(LiveError::file(run, why));
    let about = fs::symlink_metadata(run).map_err(needs_root(run))?;
    if !about.is_dir() {
        return refuse("is no directory (a symbolic link is none either); remove it");
    }
    let me = rustix::process::geteuid();
    if about.uid() != me.as_raw() {
        let owner = about.uid();
        if me.is_root() {
            return refuse(&format!(
                "belongs to user {owner}, who could make idlewise write as root; remove it"
            ));
        }
        return Err(no_root(run, format!("belongs to user {owner}")));
    }
    if about.mode() & WRITE_OF_OTHERS != 0 {
        return refuse("others may write in it, and could make idlewise write as root; remove it");
    }
    if about.mode() & OTHERS == 0 {
        return Ok(Found::Private);
    }
    fs::set_permissions(run, Permissions::from_mode(PRIVATE)).map_err(LiveError::io(run))?;
    Ok(Found::Open)
}

/// The host whose journal is at `journal`.
pub(super) fn host_of(journal: &Path) -> Option<Host> {
    let run = journal.parent().filter(|_| journal.ends_with("run/idlewise/journal"))?;
    let host = Host::below(run.parent()?.parent()?);
    (host.run == run).then_some(host)
}

/// Whether `entry` is about a file that sessions change, or a trace instance that they make.
pub(super) fn is_ours(host: &Host, entry: &Entry) -> bool {
    match entry {
        Entry::Set { path, .. } => is_setting(host, path),
        Entry::Made { folder, .. } => is_instance(host, folder),
    }
}

/// The governor's file, a state's `disable`, a module's parameter.
pub(super) fn is_setting(host: &Host, path: &Path) -> bool {
    let Some(names) = names_below(&host.sys, path) else { return false };
    match names.as_slice() {
        ["devices", "system", "cpu", "cpuidle", "current_governor"] => true,
        ["devices", "system", "cpu", cpu, "cpuidle", state, "disable"] => {
            numbered(cpu, "cpu") && numbered(state, "state")
        }
        ["module", module, "parameters", parameter] => is_word(module) && is_word(parameter),
        _ => false,
    }
}

/// An instance of tracefs with a name of ours.
pub(super) fn is_instance(host: &Host, folder: &Path) -> bool {
    let Some(names) = names_below(&host.tracefs(), folder) else { return false };
    matches!(names.as_slice(), ["instances", name] if numbered(name, INSTANCE))
}

/// The names from `root` to `path`, where there is nothing else between them.
fn names_below<'p>(root: &Path, path: &'p Path) -> Option<Vec<&'p str>> {
    let rest = path.strip_prefix(root).ok()?;
    // Normal names only, and written as they are: no `..`, no second slash.
    let whole = root.join(rest.components().collect::<PathBuf>());
    let names = rest.components().map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    names.collect::<Option<Vec<&str>>>().filter(|_| whole.as_os_str() == path.as_os_str())
}

fn numbered(name: &str, word: &str) -> bool {
    name.strip_prefix(word).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn no_root(path: &Path, why: impl std::fmt::Display) -> LiveError {
    LiveError::NotRoot { why: format!("{}: {why}; changing the machine needs root", path.display()) }
}

/// As [`LiveError::io`], and says what helps where the system denies it.
pub(super) fn needs_root(path: &Path) -> impl FnOnce(std::io::Error) -> LiveError {
    let path = path.to_owned();
    move |error| match error.kind() {
        std::io::ErrorKind::PermissionDenied => no_root(&path, error),
        _ => LiveError::Io { path, error },
    }
}
