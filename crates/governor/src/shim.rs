// SPDX-License-Identifier: GPL-2.0-only
//! The shim's files, which this program carries with it for governors that are compiled at run time.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::hash::Hash;

include!(concat!(env!("OUT_DIR"), "/shim.rs"));
include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The compiler's flags, one a line.
pub(crate) fn flags() -> &'static str {
    SHIM.iter().find(|(name, _)| *name == "flags").map_or("", |(_, text)| text)
}

/// Whether one of its headers defines `tag`, such as `struct cpuidle_device`, or a type of that name.
pub(crate) fn defines(tag: &str) -> bool {
    SHIM.iter().any(|(_, text)| definition(text, tag).is_some())
}

/// The line, from 1, on which `text` defines `tag`: `struct x {`, or `} x;` for a type's name.
pub(crate) fn definition(text: &str, tag: &str) -> Option<usize> {
    let begins = |line: &str| {
        let rest = line.trim().strip_prefix("typedef ").unwrap_or(line.trim()).strip_prefix(tag);
        rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with('{'))
    };
    let ends = |line: &str| {
        let name = line.trim().strip_prefix('}').and_then(|rest| rest.trim().strip_suffix(';'));
        name.is_some_and(|name| name.split_whitespace().next_back() == Some(tag))
    };
    text.lines().position(|line| begins(line) || ends(line)).map(|at| at + 1)
}

/// The structs, unions and enums that its headers define, as `struct cpuidle_device`.
pub(crate) fn all_tags() -> impl Iterator<Item = &'static str> {
    SHIM.iter().filter(|(file, _)| file.ends_with(".h")).flat_map(|(_, text)| tags(text))
}

/// Those that `text` defines.
pub(crate) fn tags(text: &str) -> Vec<&str> {
    let tag = |line| {
        let line = str::trim(line).strip_suffix('{')?.trim();
        let line = line.strip_prefix("typedef ").unwrap_or(line);
        let (kind, name) = line.split_once(' ')?;
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        (matches!(kind, "struct" | "union" | "enum") && is_name).then_some(line)
    };
    text.lines().filter_map(tag).collect()
}

/// The folders below `include` that its headers are in.
pub(crate) fn folders() -> Vec<&'static Path> {
    let inside = |(name, _): &(&'static str, &str)| Path::new(name.strip_prefix("include/")?).parent();
    let mut folders: Vec<&Path> = SHIM.iter().filter_map(inside).collect();
    folders.sort();
    folders.dedup();
    folders
}

/// Tells this shim from another.
pub(crate) fn hash() -> Hash {
    hash_of(&SHIM)
}

fn hash_of(files: &[(&str, &str)]) -> Hash {
    let all: String = files.iter().flat_map(|(name, text)| [*name, "\0", *text, "\0"]).collect();
    Hash::of(all.as_bytes())
}

/// Puts the files below `folder`, where a compiler finds them; those that are there as they should be are left alone.
pub(crate) fn unpack(folder: &Path) -> io::Result<PathBuf> {
    unpack_files(&SHIM, folder.join(format!("shim-{}", hash())))
}

/// The text of one of our own governors.
pub(crate) fn governor(id: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(name, _)| name.strip_suffix(".c") == Some(id)).map(|(_, text)| *text)
}

/// The same of the sources of our own governors.
pub(crate) fn unpack_governors(folder: &Path) -> io::Result<PathBuf> {
    unpack_files(&SOURCES, folder.join(format!("governors-{}", hash_of(&SOURCES))))
}

/// Puts `files`, by their paths, below `to`, whole or not at all; those that are there as they should be are left alone.
pub(crate) fn unpack_files(
    files: &[(impl AsRef<str>, impl AsRef<[u8]>)],
    to: PathBuf,
) -> io::Result<PathBuf> {
    for (name, text) in files {
        let (path, text) = (to.join(name.as_ref()), text.as_ref());
        if fs::read(&path).is_ok_and(|is| is == text) {
            continue;
        }
        let parent = path.parent().unwrap_or(&to);
        fs::create_dir_all(parent)?;
        let mut file = tempfile::NamedTempFile::new_in(parent)?;
        file.write_all(text)?;
        file.persist(&path).map_err(|e| e.error)?;
    }
    Ok(to)
}
