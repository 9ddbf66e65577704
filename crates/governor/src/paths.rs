// SPDX-License-Identifier: GPL-2.0-only
//! Paths and files that a source or a compiler names.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Larger files are no governors.
pub(crate) const LARGEST: u64 = 16 << 20;

/// Whether `path` is below `folder`, and does not lead out of it again.
pub(crate) fn is_inside(path: &Path, folder: &Path) -> bool {
    let normal = |part| matches!(part, Component::Normal(_));
    path.strip_prefix(folder).is_ok_and(|rest| rest.components().all(normal))
}

/// Where a path that goes up leads; another stays as it is.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let canonical = path.components().any(|part| part == Component::ParentDir).then(|| path.canonicalize());
    canonical.and_then(Result::ok).unwrap_or_else(|| path.to_owned())
}

/// The text of an ordinary file; `#line` and links may name any other.
pub(crate) fn text_of(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    let text = (about.is_file() && about.len() <= LARGEST).then(|| fs::read(file).ok()).flatten()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ordinary_files_are_read() {
        assert_eq!(text_of(Path::new("/dev/zero")), None);
        assert_eq!(text_of(Path::new("Cargo.toml")), fs::read_to_string("Cargo.toml").ok());
    }

    #[test]
    fn a_path_that_leads_out_of_a_folder_is_not_inside() {
        let inside = |path: &str| is_inside(Path::new(path), Path::new("/a/b"));
        assert!(inside("/a/b/c.h") && inside("/a/b/./c/d.h"));
        assert!(!inside("/a/c.h") && !inside("/a/b/../c.h") && !inside("/a/b/c/../../../d.h"));
    }
}
