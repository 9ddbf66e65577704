// SPDX-License-Identifier: GPL-2.0-only
//! Governors that files name: each selects one of ours, or one that the user of this invocation offers.

use std::fmt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kernel_tree::{has, of_trees};
use crate::source::{GovernorSource, SourceFile};
use crate::{Governor, GovernorError, Spec};

/// A governor's name as a file has it: a recording, its description, a tape, an experiment, a result. It selects what ships
/// with us, and what the user of this invocation offers; a path in it opens nothing by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RecordedName(String);

impl RecordedName {
    /// The name `text`, wherever it was read.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is the path of a C file, or anything else that is no governor's name.
    #[must_use]
    pub fn names_a_file(&self) -> bool {
        self.0.parse::<Spec>().is_ok_and(|spec| spec.names_a_file())
    }

    /// The governor that it selects: one of ours, or one that is `offered`. A path counts from the folder of the process, and
    /// from `folder`, where the name was read.
    ///
    /// # Errors
    /// [`GovernorError::NotNamedByUser`] for a file that is not offered, and as [`Governor::open`].
    pub fn find(&self, offered: &Offered, folder: Option<&Path>) -> Result<Governor, GovernorError> {
        self.source(offered, folder).and_then(|source| Governor::open(&source))
    }

    /// What [`RecordedName::find`] opens.
    ///
    /// # Errors
    /// As [`RecordedName::find`], where that is known before anything is opened.
    pub fn source(&self, offered: &Offered, folder: Option<&Path>) -> Result<GovernorSource, GovernorError> {
        let spec: Spec = self.0.parse()?;
        let not_named = || GovernorError::NotNamedByUser { path: spec.id.clone() };
        // Without trees, what is missing is one.
        if !offered.trees.is_empty()
            && let Some(files) = of_trees(&spec, &offered.trees)?
        {
            let mut files = files.into_iter();
            return match (files.next(), files.next()) {
                (Some(one), None) => Ok(GovernorSource::File(one)),
                _ => Err(not_named()),
            };
        }
        if !spec.names_a_file() {
            return Ok(GovernorSource::Shipped(spec));
        }
        let path = Path::new(&spec.id);
        let places = [folder.map(|f| f.join(path)), Some(path.to_owned())];
        let found = places.into_iter().flatten().find_map(|path| offered.file(&path, &spec));
        found.map(GovernorSource::File).ok_or_else(not_named)
    }
}

impl fmt::Display for RecordedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The C files and kernel trees that options of this invocation name: what names from files may select beside what ships
/// with us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    files: Vec<PathBuf>,
    trees: Vec<PathBuf>,
}

impl Offered {
    /// Nothing: only what ships with us.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Offers the governors of the kernel tree in `folder`.
    #[must_use]
    pub fn with_tree(mut self, folder: &Path) -> Self {
        self.trees.push(folder.to_owned());
        self
    }

    /// Offers the C file at `path`.
    #[must_use]
    pub fn with_file(mut self, path: &Path) -> Self {
        self.files.push(path.to_owned());
        self
    }

    /// Offers what `spec`, of an option of this invocation, names, if that is a file.
    #[must_use]
    pub fn with(self, spec: &Spec) -> Self {
        if spec.names_a_file() { self.with_file(Path::new(&spec.id)) } else { self }
    }

    /// The kernel trees that are offered.
    #[must_use]
    pub fn trees(&self) -> &[PathBuf] {
        &self.trees
    }

    /// Whether the kernel tree in `folder` is offered.
    #[must_use]
    pub fn has_tree(&self, folder: &Path) -> bool {
        let Ok(folder) = folder.canonicalize() else { return false };
        self.trees.iter().any(|tree| tree.canonicalize().is_ok_and(|tree| tree == folder))
    }

    /// The first of what is offered that names none of `files`, holds none of them, and is none of `trees`.
    #[must_use]
    pub fn unused(&self, files: &[PathBuf], trees: &[PathBuf]) -> Option<&Path> {
        let same = |a: &Path, b: &PathBuf| {
            a.canonicalize().ok().is_some_and(|a| b.canonicalize().is_ok_and(|b| a == b))
        };
        let file = self.files.iter().find(|file| !files.iter().any(|f| same(file, f)));
        let holds = |tree: &PathBuf| {
            trees.iter().any(|t| same(tree, t))
                || files.iter().any(|f| f.canonicalize().is_ok_and(|f| has(tree, &f)))
        };
        file.or_else(|| self.trees.iter().find(|tree| !holds(tree))).map(PathBuf::as_path)
    }

    /// Whether the file at `path` is among these; with links followed, so that one file is one.
    #[must_use]
    pub fn has(&self, path: &Path) -> bool {
        let Ok(file) = path.canonicalize() else { return false };
        self.files.iter().any(|f| f.canonicalize().is_ok_and(|f| f == file))
            || self.trees.iter().any(|tree| has(tree, &file))
    }

    fn file(&self, path: &Path, spec: &Spec) -> Option<SourceFile> {
        let id = path.to_str().filter(|_| self.has(path))?;
        Some(SourceFile::named_by_user(Spec { id: id.to_owned(), params: spec.params.clone() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_data_selects_what_ships_and_what_is_offered() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, evil) = (folder.path().join("mine.c"), folder.path().join("evil.c"));
        std::fs::write(&mine, "").unwrap();
        std::fs::write(&evil, "").unwrap();
        let offered = Offered::nothing().with_file(&mine);
        let source = |text: &str| RecordedName::new(text).source(&offered, Some(folder.path()));
        assert_eq!(source("menu").unwrap(), GovernorSource::Shipped(Spec::new("menu")));
        assert!(
            matches!(source("mine.c:a=1").unwrap(), GovernorSource::File(f) if f.spec().params.len() == 1)
        );
        assert!(matches!(source(mine.to_str().unwrap()), Ok(GovernorSource::File(_))));
        for path in ["evil.c", "./evil.c", "../x/e.c", evil.to_str().unwrap(), "linux/teo", "a/b"] {
            let refused = source(path);
            assert!(matches!(refused, Err(GovernorError::NotNamedByUser { .. })), "{path}: {refused:?}");
            assert!(Governor::find(&path.parse().unwrap()).is_err(), "{path}");
        }
        std::os::unix::fs::symlink(&evil, folder.path().join("mine-too.c")).unwrap();
        assert!(source("mine-too.c").is_err(), "a link leads where it leads");
    }
}
