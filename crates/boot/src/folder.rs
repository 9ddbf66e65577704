// SPDX-License-Identifier: GPL-2.0-only
//! Where the boot lab keeps what it fetched and built.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use crate::BootError;

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
            .ok_or_else(|| {
                BootError::Request("no folder for the lab: say --folder, or set IDLEWISE_LAB".to_owned())
            })?;
        fs::create_dir_all(&folder).map_err(BootError::io(&folder))?;
        let folder = folder.canonicalize().map_err(BootError::io(&folder))?;
        Ok(Self(folder))
    }

    /// The folder itself.
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
        let unfinished = tempfile::Builder::new()
            .prefix(".unfinished-")
            .tempdir_in(&self.0)
            .map_err(BootError::io(&self.0))?;
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
