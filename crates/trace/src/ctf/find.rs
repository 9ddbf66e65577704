// SPDX-License-Identifier: GPL-2.0-only
//! From what the user names to the directory of one trace: LTTng nests it in directories of session, date and domain.

use std::collections::BTreeMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::metadata;
use crate::error::TraceError;
use crate::input::Input;

/// The name of the metadata's file in every trace.
pub(super) const METADATA: &str = "metadata";

/// The name of a copy of the kernel's symbols, which people put beside a trace.
const KALLSYMS: &str = "kallsyms";

/// So many directories are looked through, and so deep.
const MOST_DIRECTORIES: usize = 10_000;
const DEEPEST: usize = 12;

/// How much of the metadata is searched for the domain; LTTng puts it in the first kilobytes.
const HEAD: usize = 64 << 10;

fn entries(dir: &Path) -> Result<Vec<DirEntry>, TraceError> {
    let fail = |source| TraceError::Open { path: dir.to_path_buf(), source };
    let mut all = fs::read_dir(dir).map_err(fail)?.collect::<Result<Vec<_>, _>>().map_err(fail)?;
    all.sort_by_key(DirEntry::file_name);
    Ok(all)
}

/// The start of a trace's metadata, if `dir` is a trace.
fn head(dir: &Path) -> Option<Vec<u8>> {
    let input = Input::open(&dir.join(METADATA)).ok()?;
    let mut head = vec![0; HEAD];
    let got = input.read_at(0, &mut head).ok()?;
    head.truncate(got);
    metadata::looks_like(&head).then_some(head)
}

fn of_kernel(head: &[u8]) -> bool {
    String::from_utf8_lossy(head).contains("domain = \"kernel\"")
}

/// The directory of the trace in `dir`; of several the kernel's. `None` when there is none.
///
/// # Errors
/// When several could be meant.
pub(super) fn trace_in(dir: &Path) -> Result<Option<PathBuf>, TraceError> {
    if head(dir).is_some() {
        return Ok(Some(dir.to_path_buf()));
    }
    let mut found: Vec<(PathBuf, bool)> = Vec::new();
    let mut waiting = vec![(dir.to_path_buf(), 0)];
    let mut seen = 0;
    while let Some((dir, depth)) = waiting.pop() {
        seen += 1;
        if let Some(head) = head(&dir) {
            found.push((dir, of_kernel(&head)));
        } else if depth < DEEPEST && seen < MOST_DIRECTORIES {
            // A link is not followed: it may lead back.
            let inner = entries(&dir)?.into_iter().filter(|e| e.file_type().is_ok_and(|t| t.is_dir()));
            waiting.extend(inner.map(|e| (e.path(), depth + 1)));
        }
    }
    found.sort();
    let kernels: Vec<&PathBuf> = found.iter().filter(|(_, kernel)| *kernel).map(|(dir, _)| dir).collect();
    match (found.as_slice(), kernels.as_slice()) {
        ([], _) => Ok(None),
        ([(only, _)], _) => Ok(Some(only.clone())),
        (_, [kernel]) => Ok(Some((*kernel).clone())),
        (all, _) => {
            const SHOWN: usize = 10;
            let mut names: Vec<String> =
                all.iter().take(SHOWN).map(|(dir, _)| dir.display().to_string()).collect();
            if all.len() > SHOWN {
                names.push(format!("{} more", all.len() - SHOWN));
            }
            Err(TraceError::Several {
                path: dir.to_path_buf(),
                what: format!("{} CTF traces", all.len()),
                names: names.join(", "),
            })
        }
    }
}

/// The files of a trace.
pub(crate) struct Files {
    pub(super) metadata: Input,
    /// In order of their names.
    pub(super) streams: Vec<Input>,
    /// What `/proc/kallsyms` said, for LTTng stores no names of functions.
    pub(super) kallsyms: Option<Input>,
}

impl Files {
    /// Sorts out a trace's files in memory; `dir` stands for the path in errors.
    pub(crate) fn in_memory(dir: &Path, files: BTreeMap<String, Vec<u8>>) -> Self {
        let empty = Input::memory(&dir.join(METADATA), Vec::new());
        let mut all = Self { metadata: empty, streams: Vec::new(), kallsyms: None };
        for (name, bytes) in files {
            let input = Input::memory(&dir.join(&name), bytes);
            match name.as_str() {
                METADATA => all.metadata = input,
                KALLSYMS => all.kallsyms = Some(input),
                _ => all.streams.push(input),
            }
        }
        all
    }

    /// Finds the files of the trace in `dir`. The kernel's symbols are there or beside it, in the session's directory.
    pub(super) fn in_directory(dir: &Path) -> Result<Self, TraceError> {
        let metadata = Input::open(&dir.join(METADATA))?;
        let mut streams = Vec::new();
        for entry in entries(dir)? {
            let name = entry.file_name();
            let other = name == METADATA || name == KALLSYMS || name.to_string_lossy().starts_with('.');
            if !other && entry.path().is_file() {
                streams.push(Input::open(&entry.path())?);
            }
        }
        let beside = [Some(dir), dir.parent()].into_iter().flatten().map(|dir| dir.join(KALLSYMS));
        let kallsyms = beside.into_iter().find(|path| path.is_file());
        Ok(Self { metadata, streams, kallsyms: kallsyms.map(|path| Input::open(&path)).transpose()? })
    }
}
