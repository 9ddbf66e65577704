// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::entry::Entry;
use super::place;
use crate::tracefs::pages::{self, Parts};
use crate::{Host, LiveError};

/// How often an instance that somebody still reads is tried again, 20 ms apart.
const BUSY: u32 = 100;

/// What became of a session's changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restoration {
    /// What is as it was: `current_governor: menu -> haltpoll`.
    pub restored: Vec<String>,
    /// What somebody else changed meanwhile, and was left as it is.
    pub left_alone: Vec<String>,
    /// What could not be restored, and why; the next session tries it again.
    pub failed: Vec<String>,
}

impl Restoration {
    /// Whether there was nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.restored.is_empty() && self.left_alone.is_empty() && self.failed.is_empty()
    }

    /// In plain words, a line each; what went as it should only if `all`.
    #[must_use]
    pub fn lines(&self, all: bool) -> Vec<String> {
        let restored = self.restored.iter().filter(|_| all).map(|l| format!("restored: {l}"));
        let left = self.left_alone.iter().map(|l| format!("left as it is: {l}"));
        restored.chain(left).chain(self.failed.iter().map(|l| format!("not restored: {l}"))).collect()
    }
}

/// One file's story in a journal.
struct Change {
    path: PathBuf,
    /// Before the first change.
    first: String,
    /// What it may be now, if nobody else touched it: the last value written, or the one before if the session died
    /// between its note and the write.
    ours: [String; 2],
}

enum Step {
    Value(Change),
    Instance(PathBuf, Option<Parts>),
}

/// Undoes what `journal` tells of `host`, the last change first, and removes it; what failed stays in it. No journal: nothing to
/// do. Doing it twice is doing it once. Of what is no setting and no instance that sessions change it says so, and no more.
pub(super) fn restore(host: &Host, journal: &Path) -> Result<Restoration, LiveError> {
    let text = match idlewise_files::read(journal) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Restoration::default()),
        Err(e) => return Err(LiveError::io(journal)(e)),
    };
    let (entries, strange) = Entry::all(&text);
    let (entries, foreign): (Vec<Entry>, Vec<Entry>) =
        entries.into_iter().partition(|entry| place::is_ours(host, entry));
    let mut out = Restoration::default();
    if strange > 0 {
        let journal = journal.display();
        out.left_alone.push(format!("{strange} lines of {journal} are not valid"));
    }
    for entry in &foreign {
        let (path, journal) = (entry.path(), journal.display());
        out.left_alone.push(format!("{path:?}, which {journal} names, is nothing that sessions change"));
    }
    let mut open = Vec::new();
    for step in steps(entries).into_iter().rev() {
        if let Some(entry) = undo(&step, &mut out) {
            open.push(entry.line());
        }
    }
    if open.is_empty() {
        fs::remove_file(journal).map_err(LiveError::io(journal))?;
    } else {
        open.reverse();
        let beside = journal.with_extension("new");
        fs::write(&beside, open.concat()).map_err(LiveError::io(&beside))?;
        fs::rename(&beside, journal).map_err(LiveError::io(journal))?;
    }
    Ok(out)
}

/// What there is to do, in the order of the first change of each file.
fn steps(entries: Vec<Entry>) -> Vec<Step> {
    let mut out: Vec<Step> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Made { folder, parts } => out.push(Step::Instance(folder, parts)),
            Entry::Set { path, old, new } => {
                let known = out.iter_mut().find_map(|s| match s {
                    Step::Value(change) if change.path == path => Some(change),
                    _ => None,
                });
                match known {
                    Some(change) => change.ours = [new, old],
                    None => out.push(Step::Value(Change { path, first: old.clone(), ours: [new, old] })),
                }
            }
        }
    }
    out
}

/// The entry to keep, if it failed.
fn undo(step: &Step, out: &mut Restoration) -> Option<Entry> {
    match step {
        Step::Value(change) => {
            let result = undo_value(change, out);
            let Err(e) = result else { return None };
            out.failed.push(format!("{}: {e} (it was {})", change.path.display(), change.first.trim()));
            let [new, _] = change.ours.clone();
            Some(Entry::Set { path: change.path.clone(), old: change.first.clone(), new })
        }
        Step::Instance(folder, parts) => {
            let Err(e) = remove_instance(folder, parts.as_ref(), out) else { return None };
            out.failed.push(format!("{}: {e}", folder.display()));
            Some(Entry::Made { folder: folder.clone(), parts: parts.clone() })
        }
    }
}

fn undo_value(change: &Change, out: &mut Restoration) -> io::Result<()> {
    let Change { path, first, ours } = change;
    let now = fs::read_to_string(path)?;
    let (was, is) = (first.trim(), now.trim());
    if *first == now {
        return Ok(());
    }
    // No value at all is a file of an ordinary file system between truncation and write.
    if !is.is_empty() && is != was && ours.iter().all(|v| v.trim() != is) {
        let path = path.display();
        out.left_alone.push(format!("{path} is {is}, which another program has set; it was {was}"));
        return Ok(());
    }
    fs::write(path, first)?;
    let now = fs::read_to_string(path)?;
    if now.trim() != was {
        return Err(io::Error::other(format!("wrote {was}, but the kernel made {} of it", now.trim())));
    }
    out.restored.push(format!("{}: {is} -> {was}", path.display()));
    Ok(())
}

/// Stops what the instance records, moves what its buffers hold to `parts`, and removes it. Its files may be missing in part, as
/// a session may have died while it was made. Where the pages find no room the instance stays, so that they are not lost.
fn remove_instance(folder: &Path, parts: Option<&Parts>, out: &mut Restoration) -> io::Result<()> {
    for file in ["events/enable", "tracing_on"] {
        let file = folder.join(file);
        if file.exists() {
            fs::write(file, "0")?;
        }
    }
    if let Some(parts) = parts {
        let to = parts.folder.display();
        let rescued = pages::rescue(folder, parts).map_err(|e| {
            let why =
                format!("its pages cannot be moved to {to}: {e}; make room there, or remove that folder");
            io::Error::new(e.kind(), why)
        })?;
        if rescued > 0 {
            out.restored
                .push(format!("{to}: {rescued} more pages of the recording (`idlewise info {to}` reads it)"));
        }
    }
    for _ in 0..BUSY {
        match fs::remove_dir(folder) {
            Ok(()) => {
                out.restored.push(format!("{}: removed", folder.display()));
                return Ok(());
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) if e.kind() == ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(20)),
            // An ordinary folder below an ordinary `instances`: a tree that looks like a machine's.
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => fs::remove_dir_all(folder)?,
            Err(e) => return Err(e),
        }
    }
    Err(io::Error::other("somebody still reads it"))
}
