// SPDX-License-Identifier: GPL-2.0-only
//! A governor in all the trees of a series: what differs is compiled once.

use std::path::{Path, PathBuf};

use idlewise_governor::{Build, Governor, GovernorError, GovernorSource, SourceFile, Spec, Workshop};
use idlewise_recording::CommandError;
use xxhash_rust::xxh3::xxh3_128;

use crate::patch::{Problem, ProblemKind};
use crate::snapshot::{Snapshot, file_of};

/// A governor's source as it is in one row or several.
#[derive(Clone)]
pub(crate) struct Version {
    pub(crate) governor: Governor,
    /// A copy that counts the basic blocks that it executes; or why there is none.
    pub(crate) counted: Result<Governor, String>,
    /// The governor as options of commands name it: `+2@FILE`.
    pub(crate) named: String,
    pub(crate) hash: String,
}

/// What a row has of a governor.
#[derive(Clone)]
pub(crate) enum Of {
    /// The number of a version.
    Version(usize),
    /// Why it has none, and the hash of what the governor's file has then.
    Problem(Problem, Option<u128>),
}

/// One governor through all rows.
pub(crate) struct Lineage {
    /// `teo`.
    pub(crate) name: String,
    pub(crate) versions: Vec<Version>,
    /// One for each row.
    pub(crate) rows: Vec<Of>,
}

impl Lineage {
    /// `name` in the trees of `rows`, each with what the row is called.
    ///
    /// # Errors
    /// [`CommandError`] where there is no compiler, or no folder to keep trees in.
    pub(crate) fn of<'t>(
        name: &str,
        rows: impl Iterator<Item = (String, &'t Snapshot)>,
    ) -> Result<Self, CommandError> {
        let mut out = Self { name: name.to_owned(), versions: Vec::new(), rows: Vec::new() };
        for (row, tree) in rows {
            let of = out.row(&row, tree)?;
            out.rows.push(of);
        }
        Ok(out)
    }

    /// Governors of ours, each of which is a row.
    ///
    /// # Errors
    /// [`CommandError`] where one is not there.
    pub(crate) fn of_ours(name: &str, specs: &[Spec]) -> Result<Self, CommandError> {
        let mut out = Self { name: name.to_owned(), versions: Vec::new(), rows: Vec::new() };
        for (number, spec) in specs.iter().enumerate() {
            let governor = Governor::find(spec)?;
            let (counted, named) = (Err("nobody asks".to_owned()), spec.to_string());
            out.versions.push(Version { governor, counted, hash: named.clone(), named });
            out.rows.push(Of::Version(number));
        }
        Ok(out)
    }

    fn row(&mut self, row: &str, tree: &Snapshot) -> Result<Of, CommandError> {
        let inside = file_of(&self.name);
        if tree.get(&inside).is_none() {
            let why = "the tree has no such governor".to_owned();
            let problem = Problem { kind: ProblemKind::NotThere, file: Some(inside), line: None, why };
            return Ok(Of::Problem(problem, None));
        }
        let folder = Workshop::from_env().keep_tree(&tree.files())?;
        let path = folder.join(&inside).to_string_lossy().into_owned();
        let source = GovernorSource::File(SourceFile::named_by_user(Spec::new(&path)));
        let governor = match Governor::open(&source) {
            Ok(governor) => governor.called(row),
            Err(e @ (GovernorError::Compile { .. } | GovernorError::Source { .. })) => {
                let text = tree.get(&inside).map(xxh3_128);
                return Ok(Of::Problem(not_compiled(&e, &folder, &inside), text));
            }
            Err(e) => return Err(e.into()),
        };
        let Some(hash) = governor.source_hash() else { unreachable!("{path} is a file, and has a hash") };
        if let Some(same) = self.versions.iter().position(|v| v.hash == hash) {
            return Ok(Of::Version(same));
        }
        let counted = governor.built(Build::Counted).map_err(|e| without(&e.to_string(), &folder));
        let named = format!("{row}@{path}");
        self.versions.push(Version { governor, counted, named, hash });
        Ok(Of::Version(self.versions.len() - 1))
    }

    /// The version of a row; nothing where it has none.
    pub(crate) fn version(&self, row: usize) -> Option<usize> {
        match self.rows.get(row) {
            Some(Of::Version(version)) => Some(*version),
            _ => None,
        }
    }

    /// The version of a row, if it is `usable`.
    fn usable(&self, row: usize, usable: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.version(row).filter(|version| usable(*version))
    }

    /// The row that the others are compared with: the first that has a usable version.
    pub(crate) fn base_row(&self, usable: &dyn Fn(usize) -> bool) -> Option<usize> {
        (0..self.rows.len()).find(|row| self.usable(*row, usable).is_some())
    }

    /// The last row before `row` that has a usable version.
    pub(crate) fn row_above(&self, row: usize, usable: &dyn Fn(usize) -> bool) -> Option<usize> {
        (0..row).rev().find(|above| self.usable(*above, usable).is_some())
    }

    /// Pairs of usable versions that are compared: each with the first, and each with that of the row above.
    pub(crate) fn pairs(&self, usable: &dyn Fn(usize) -> bool) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        for row in 0..self.rows.len() {
            let before = [self.base_row(usable), self.row_above(row, usable)];
            let version = self.usable(row, usable);
            for (a, b) in before.into_iter().filter_map(|a| self.version(a?).zip(version)) {
                if a != b && !out.contains(&(a, b)) {
                    out.push((a, b));
                }
            }
        }
        out
    }
}

/// Where and why a governor does not compile, without the folder that it was put into.
fn not_compiled(e: &GovernorError, folder: &Path, inside: &str) -> Problem {
    let kind = ProblemKind::DoesNotCompile;
    let whole =
        Problem { kind, file: Some(inside.to_owned()), line: None, why: without(&e.to_string(), folder) };
    let GovernorError::Compile { problems, .. } = e else { return whole };
    let Some(first) = problems.first() else { return whole };
    let file = PathBuf::from(without(&first.file, folder));
    let named = if first.file.is_empty() { inside.to_owned() } else { file.to_string_lossy().into_owned() };
    let more = match problems.len() - 1 {
        0 => String::new(),
        n => format!(" (and {n} more)"),
    };
    let line = Some(first.line).filter(|line| *line > 0);
    Problem { kind, file: Some(named), line, why: format!("{}{more}", without(&first.what, folder)) }
}

/// `text` without the folder of a tree: what is in it is called by its path in the tree.
pub(crate) fn without(text: &str, folder: &Path) -> String {
    text.replace(&format!("{}/", folder.display()), "")
}

impl Version {
    /// `text` without the folder that its tree was put into.
    pub(crate) fn shown(&self, text: &str) -> String {
        let file = self.governor.file();
        match file.and_then(|f| f.ancestors().nth(4)) {
            Some(folder) => without(text, folder),
            None => text.to_owned(),
        }
    }
}
