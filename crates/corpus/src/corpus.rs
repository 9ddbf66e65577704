// SPDX-License-Identifier: GPL-2.0-only
//! A corpus on disk.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use idlewise_files::new_file::{WriteError, write_new};

use crate::error::CorpusError;
use crate::hash::hash_of;
use crate::index::{Basis, Entry, Index};
use crate::split::Split;

/// The name of the index in a corpus's folder.
pub const INDEX: &str = "index.toml";

/// A folder with an index.
#[derive(Clone, Debug)]
pub struct Corpus {
    folder: PathBuf,
    index: Index,
}

/// Which recordings of a corpus are meant; those that all of it agrees to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// By id; nothing: all.
    pub ids: Vec<String>,
    pub split: Option<Split>,
    pub basis: Option<Basis>,
    /// By the id of the machine.
    pub machines: Vec<String>,
    /// By kind of load.
    pub workloads: Vec<String>,
}

/// Whether a recording's file is what the index says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is there, unchanged.
    Whole,
    Missing,
    /// It is another file, or cannot be read: why.
    Changed(String),
}

impl Corpus {
    /// The corpus in `folder`.
    ///
    /// # Errors
    /// [`CorpusError::File`] when its index cannot be read.
    pub fn open(folder: &Path) -> Result<Self, CorpusError> {
        let path = folder.join(INDEX);
        let text = idlewise_files::read_to_string(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => CorpusError::file(
                &path,
                "there is no index; name the folder of a corpus, or begin one with `idlewise corpus add`",
            ),
            _ => CorpusError::file(&path, e),
        })?;
        let index = Index::parse(&text).map_err(|why| CorpusError::file(&path, why))?;
        Ok(Self { folder: folder.to_owned(), index })
    }

    /// The corpus in `folder`, or an empty one where none is there yet.
    ///
    /// # Errors
    /// As [`Corpus::open`].
    pub fn open_or_new(folder: &Path) -> Result<Self, CorpusError> {
        if folder.join(INDEX).exists() {
            return Self::open(folder);
        }
        Ok(Self { folder: folder.to_owned(), index: Index::default() })
    }

    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    #[must_use]
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Where the file of `entry` is.
    #[must_use]
    pub fn path(&self, entry: &Entry) -> PathBuf {
        self.folder.join(&entry.file)
    }

    /// Whether [`Corpus::insert`] would take `entry`, as far as this knows: nobody else may have changed the index.
    ///
    /// # Errors
    /// As [`Corpus::insert`].
    pub fn would_take(&self, entry: &Entry) -> Result<(), CorpusError> {
        let path = self.folder.join(INDEX);
        self.index.clone().insert(entry.clone()).map_err(|why| CorpusError::file(&path, why))
    }

    /// Puts `entry` into the index on disk, which others may have changed since this was opened.
    ///
    /// # Errors
    /// [`CorpusError::File`] where it does not go with the others, or the index cannot be read or written; it is then as before.
    pub fn insert(&mut self, entry: Entry) -> Result<(), CorpusError> {
        let path = self.folder.join(INDEX);
        let _held = idlewise_files::lock(&self.folder).map_err(|e| CorpusError::file(&self.folder, e))?;
        let mut now = Self::open_or_new(&self.folder)?;
        now.index.insert(entry).map_err(|why| CorpusError::file(&path, why))?;
        now.save()?;
        self.index = now.index;
        Ok(())
    }

    fn save(&self) -> Result<(), CorpusError> {
        let path = self.folder.join(INDEX);
        if std::fs::symlink_metadata(&path).is_ok_and(|there| there.is_symlink()) {
            let why = "is a link, and is not written through; put the index itself there, or name the folder that has it";
            return Err(CorpusError::file(&path, why));
        }
        let text = self.index.to_text().map_err(|why| CorpusError::file(&path, why))?;
        write_new(&path, text.as_bytes(), true).map_err(|e| match e {
            WriteError::Refused(why) => CorpusError::File { path: INDEX.to_owned(), why },
            WriteError::Closed => CorpusError::file(&path, "closed"),
        })
    }

    /// The recordings that `selection` means, in order of their ids.
    ///
    /// # Errors
    /// [`CorpusError::NoSuch`] when it means none, or names what is not there.
    pub fn select(&self, selection: &Selection) -> Result<Vec<&Entry>, CorpusError> {
        let all = &self.index.recordings;
        self.check_named("of the id", &selection.ids, all.iter().map(|e| e.id.as_str()))?;
        self.check_named("of the machine", &selection.machines, all.iter().map(|e| e.machine.as_str()))?;
        self.check_named("under the load", &selection.workloads, all.iter().map(|e| e.workload.as_str()))?;
        let among = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let found: Vec<&Entry> = all
            .iter()
            .filter(|e| among(&selection.ids, &e.id))
            .filter(|e| selection.split.is_none_or(|split| e.split == split))
            .filter(|e| selection.basis.is_none_or(|basis| e.basis == basis))
            .filter(|e| among(&selection.machines, &e.machine))
            .filter(|e| among(&selection.workloads, &e.workload))
            .collect();
        if found.is_empty() {
            return Err(CorpusError::NoSuch {
                path: self.folder.join(INDEX).display().to_string(),
                what: "is of all that is asked for".to_owned(),
                expected: format!("{} recordings are there: ask for less at once", all.len()),
            });
        }
        Ok(found)
    }

    fn check_named<'e>(
        &self,
        what: &str,
        names: &[String],
        known: impl Iterator<Item = &'e str>,
    ) -> Result<(), CorpusError> {
        let known: BTreeSet<&str> = known.collect();
        let Some(name) = names.iter().find(|name| !known.contains(name.as_str())) else { return Ok(()) };
        let shown: Vec<&str> = known.iter().copied().take(40).collect();
        Err(CorpusError::NoSuch {
            path: self.folder.join(INDEX).display().to_string(),
            what: format!("{what} {name:?}"),
            expected: format!("expected one of {}", shown.join(", ")),
        })
    }

    /// Whether the file of `entry` is there and unchanged; reads all of it.
    #[must_use]
    pub fn check(&self, entry: &Entry) -> Presence {
        presence(&self.path(entry), entry)
    }
}

/// Whether the file at `path` is that of `entry`; reads all of it.
#[must_use]
pub fn presence(path: &Path, entry: &Entry) -> Presence {
    match hash_of(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Presence::Missing,
        Err(e) => Presence::Changed(e.to_string()),
        Ok(hash) if (&hash.sha256, hash.bytes) == (&entry.sha256, entry.bytes) => Presence::Whole,
        // An index may name any file, by a symbolic link: its hash is not printed.
        Ok(hash) => Presence::Changed(format!(
            "{} bytes of another SHA-256; the index has {}, {} bytes: it was changed or replaced",
            hash.bytes, entry.sha256, entry.bytes
        )),
    }
}
