// SPDX-License-Identifier: GPL-2.0-only
//! Where the boot lab keeps what it fetched and built.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use tempfile::TempDir;

use crate::BootError;

/// Before the name of what is not complete, and then the number of the process that is at it.
const UNFINISHED: &str = ".unfinished-";

/// A folder for everything that can be made again: package lists, kernel sources, builds, guests.
#[derive(Clone, Debug)]
pub struct LabFolder(PathBuf);

impl LabFolder {
    /// `folder`; without it `$IDLEWISE_LAB`, else `idlewise/lab` in the user's cache folder. It is created.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be created, or nothing says where.
    pub fn open(folder: Option<&Path>) -> Result<Self, BootError> {
        let named = |name: &str| env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        let folder = folder
            .map(Path::to_owned)
            .or_else(|| named("IDLEWISE_LAB"))
            .or_else(|| Some(named("XDG_CACHE_HOME")?.join("idlewise/lab")))
            .or_else(|| Some(named("HOME")?.join(".cache/idlewise/lab")))
            .ok_or(BootError::NoFolder)?;
        fs::create_dir_all(&folder).map_err(|why| {
            let why = format!(
                "{why}; sources, builds and guests are kept there, some 3 GB: name another folder with --folder or \
                 IDLEWISE_LAB"
            );
            BootError::file(&folder, why)
        })?;
        let folder = folder.canonicalize().map_err(BootError::io(&folder))?;
        remove_leftovers(&folder)?;
        Ok(Self(folder))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A part of it, created.
    pub(crate) fn part(&self, name: &str) -> Result<PathBuf, BootError> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).map_err(BootError::io(&path))?;
        Ok(path)
    }

    /// A part that is there whole or not at all: `make` fills an empty folder, which then gets the name.
    pub(crate) fn whole(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), BootError>,
    ) -> Result<PathBuf, BootError> {
        let path = self.0.join(name);
        if path.exists() {
            return Ok(path);
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(BootError::io(parent))?;
        }
        let unfinished = unfinished(&self.0)?;
        make(unfinished.path())?;
        let unfinished = unfinished.keep();
        match fs::rename(&unfinished, &path) {
            Ok(()) => Ok(path),
            // Somebody else was faster.
            Err(_) if path.exists() => {
                fs::remove_dir_all(&unfinished).map_err(BootError::io(&unfinished))?;
                Ok(path)
            }
            Err(error) => Err(BootError::Io { path, error }),
        }
    }
}

/// A folder in `parent` for what is to get its name when it is complete. What processes that ended before their time left there
/// is removed.
pub(crate) fn unfinished(parent: &Path) -> Result<TempDir, BootError> {
    remove_leftovers(parent)?;
    let prefix = format!("{UNFINISHED}{}-", process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(parent).map_err(BootError::io(parent))
}

fn remove_leftovers(parent: &Path) -> Result<(), BootError> {
    for entry in fs::read_dir(parent).map_err(BootError::io(parent))? {
        let path = entry.map_err(BootError::io(parent))?.path();
        let owner = path.file_name().and_then(|n| n.to_str()?.strip_prefix(UNFINISHED)?.split('-').next());
        let Some(owner) = owner.and_then(|number| number.parse::<u32>().ok()) else { continue };
        if Path::new("/proc").join(owner.to_string()).exists() {
            continue;
        }
        match fs::remove_dir_all(&path) {
            // Somebody else was faster.
            Err(_) if !path.exists() => {}
            done => done.map_err(BootError::io(&path))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_makes_is_not() {
        let top = tempfile::tempdir().unwrap();
        let mut child = process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let dead = top.path().join(format!("{UNFINISHED}{}-abc", child.id()));
        let alive = top.path().join(format!("{UNFINISHED}{}-def", process::id()));
        let other = top.path().join(".unfinished-business");
        for folder in [&dead, &alive, &other] {
            fs::create_dir_all(folder.join("source")).unwrap();
        }
        let lab = LabFolder::open(Some(top.path())).unwrap();
        assert!(!dead.exists() && alive.exists() && other.exists());
        fs::create_dir_all(&dead).unwrap();
        let whole = lab.whole("part", |to| fs::write(to.join("x"), "").map_err(BootError::io(to))).unwrap();
        assert!(whole.join("x").exists() && !dead.exists());
        assert!(fs::read_dir(top.path()).unwrap().count() == 3);
    }
}
