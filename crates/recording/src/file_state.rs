// SPDX-License-Identifier: GPL-2.0-only
//! A trace is read several times over: whoever rewrites it meanwhile gets an error, not numbers from two files.

use std::fs::{self, Metadata};
use std::path::Path;

use crate::error::CommandError;

/// What a file was like before it was read.
pub struct FileState<'a> {
    path: &'a Path,
    before: Option<Metadata>,
}

impl<'a> FileState<'a> {
    /// The file at `path`, as it is now.
    pub fn of(path: &'a Path) -> Self {
        Self { path, before: fs::metadata(path).ok().filter(Metadata::is_file) }
    }

    /// Whether the file is what it was. It may have grown: what was appended is not looked at.
    ///
    /// # Errors
    /// [`CommandError::File`] when it was written to otherwise.
    pub fn check(&self) -> Result<(), CommandError> {
        let Some((before, now)) = self.before.as_ref().zip(fs::metadata(self.path).ok()) else {
            return Ok(());
        };
        let touched = before.modified().ok() != now.modified().ok();
        if now.len() < before.len() || (touched && now.len() == before.len()) {
            let why = "changed while it was read; wait until it is written, or read a copy";
            return Err(CommandError::file(self.path, why));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail loudly")]

    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_file_may_grow_while_it_is_read_but_not_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace.txt");
        let old = || {
            fs::write(&path, "0123456789").unwrap();
            let file = fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(9)).unwrap();
            FileState::of(&path)
        };
        let steady = old();
        assert!(steady.check().is_ok());
        fs::write(&path, "0123456789 and more").unwrap();
        assert!(steady.check().is_ok());
        for text in ["0123", "9876543210"] {
            let steady = old();
            fs::write(&path, text).unwrap();
            let why = steady.check().unwrap_err().to_string();
            assert!(why.contains("trace.txt") && why.contains("changed while it was read"), "{why}");
        }
        assert!(FileState::of(dir.path()).check().is_ok());
    }
}
