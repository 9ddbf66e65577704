// SPDX-License-Identifier: GPL-2.0-only
//! The part of a kernel tree that decides what its idle governors do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Seek as _};
use std::path::Path;
use std::sync::Arc;

use idlewise_recording::CommandError;

/// The folder of governors in a kernel tree.
pub(crate) const GOVERNORS: &str = "drivers/cpuidle/governors/";
/// The folder around it, whose headers governors may include.
const CPUIDLE: &str = "drivers/cpuidle/";
/// The file that says which version it is.
pub(crate) const MAKEFILE: &str = "Makefile";

/// Files of a kernel tree, by their paths in it: the governors, the headers next to them, and the top Makefile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    files: BTreeMap<String, Arc<[u8]>>,
    /// Bytes of all of them, and of their paths.
    size: usize,
}

/// A tree's judged files have at most so many bytes together; those of Linux 7.3 have some 200,000.
const LARGEST: usize = 16 << 20;
/// The trees of all versions have at most so many, on the disk.
pub(crate) const LARGEST_TOGETHER: usize = 1 << 30;

/// How a file begins that is packed by xz.
const XZ: [u8; 6] = *b"\xfd7zXZ\0";
/// Bytes of the longest file name that file systems take.
pub(crate) const LONGEST: usize = 255;

/// The path of a governor's file in a kernel tree.
pub(crate) fn file_of(governor: &str) -> String {
    format!("{GOVERNORS}{governor}.c")
}

/// Whether a file of a kernel tree belongs to its governors, or may be included by them.
pub(crate) fn is_judged(path: &str) -> bool {
    let in_folder = |folder: &str| path.strip_prefix(folder).filter(|rest| !rest.contains('/'));
    let ends = |name: &str, ending: &str| {
        (ending.len() + 1..=LONGEST).contains(&name.len()) && name.ends_with(ending)
    };
    in_folder(GOVERNORS).is_some_and(|name| ends(name, ".c") || ends(name, ".h"))
        || in_folder(CPUIDLE).is_some_and(|name| ends(name, ".h"))
}

impl Snapshot {
    /// Of the tree in `folder`.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self, CommandError> {
        let mut out = Self::default();
        let mut take = |inside: String| {
            let path = folder.join(&inside);
            let text = idlewise_files::read(&path).map_err(|e| CommandError::file(&path, e))?;
            out.set(&inside, text);
            Ok::<(), CommandError>(())
        };
        for inside in [CPUIDLE, GOVERNORS] {
            let here = folder.join(inside);
            let entries = fs::read_dir(&here).map_err(|_| {
                let why = format!(
                    "no kernel tree: there is no {inside}; name the top folder of one, a version of Debian's sources (6.12), \
                     or a C file"
                );
                CommandError::input(folder, why)
            })?;
            for entry in entries {
                let name = entry.map_err(|e| CommandError::file(&here, e))?.file_name();
                let Some(name) = name.to_str() else { continue };
                let path = format!("{inside}{name}");
                if is_judged(&path) && folder.join(&path).is_file() {
                    take(path)?;
                }
            }
        }
        take(MAKEFILE.to_owned())?;
        Ok(out)
    }

    /// Of a kernel's sources in an archive, `tar.xz`.
    pub(crate) fn of_archive(archive: &Path) -> Result<Self, CommandError> {
        let wrong = |e: io::Error| CommandError::file(archive, e);
        let mut file = idlewise_files::open(archive).map_err(wrong)?;
        let mut start = [0; XZ.len()];
        if file.read_exact(&mut start).is_err() || start != XZ {
            let why = "a file, and neither C nor a kernel's sources packed as .tar.xz; expected the top folder of a kernel tree, a \
                       version of Debian's kernel sources (6.12), or a C file";
            return Err(CommandError::option("--base", archive.display(), why));
        }
        file.rewind().map_err(wrong)?;
        let mut out = Self::default();
        let mut tar = tar::Archive::new(liblzma::read::XzDecoder::new(file));
        for entry in tar.entries().map_err(wrong)? {
            let mut entry = entry.map_err(wrong)?;
            let path = entry.path().map_err(wrong)?.to_string_lossy().into_owned();
            let Some((_, inside)) = path.split_once('/') else { continue };
            let is_file = entry.header().entry_type().is_file();
            if is_file && (is_judged(inside) || inside == MAKEFILE) {
                let mut text = Vec::new();
                let most = idlewise_files::LARGEST;
                entry.by_ref().take(most + 1).read_to_end(&mut text).map_err(wrong)?;
                if text.len() as u64 > most {
                    let why = format!("{inside} in it has more than {most} bytes, which no governor has");
                    return Err(CommandError::input(archive, why));
                }
                out.set(inside, text);
            } else if out.is_past(inside) {
                // What follows in a sorted archive, most of it, is not wanted.
                break;
            }
        }
        if !out.files.keys().any(|path| path.starts_with(GOVERNORS)) {
            return Err(CommandError::input(archive, format!("no kernel's sources: it has no {GOVERNORS}")));
        }
        Ok(out)
    }

    /// Whether everything is there that an archive in the order of its names has before `inside`.
    fn is_past(&self, inside: &str) -> bool {
        self.files.contains_key(MAKEFILE)
            && self.files.keys().any(|path| path.starts_with(GOVERNORS))
            && inside > "drivers/cpuidle0"
            && inside.starts_with("drivers/")
    }

    /// Of one governor's C file, with the headers next to it: that of no kernel.
    pub(crate) fn of_file(file: &Path) -> Result<Self, CommandError> {
        let mut out = Self::default();
        out.add_file(file)?;
        Ok(out)
    }

    /// Puts a governor's C file, and the headers next to it, in the place of that of the same name. Gives its path in the tree.
    pub(crate) fn add_file(&mut self, file: &Path) -> Result<String, CommandError> {
        let name = |file: &Path| file.file_name().map(|n| n.to_string_lossy().into_owned());
        let Some(own) = name(file) else { return Err(CommandError::input(file, "no C file")) };
        let folder = file.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = fs::read_dir(folder).map_err(|e| CommandError::file(folder, e))?;
        for entry in entries {
            let path = entry.map_err(|e| CommandError::file(folder, e))?.path();
            let is_header = path.extension().is_some_and(|e| e == "h") && path.is_file();
            if let Some(name) = name(&path).filter(|_| is_header) {
                let text = idlewise_files::read(&path).map_err(|e| CommandError::file(&path, e))?;
                self.set(&format!("{GOVERNORS}{name}"), text);
            }
        }
        let text = idlewise_files::read(file).map_err(|e| CommandError::file(file, e))?;
        let inside = format!("{GOVERNORS}{own}");
        self.set(&inside, text);
        Ok(inside)
    }

    /// Of files with their paths in the tree.
    pub(crate) fn of_files(files: BTreeMap<String, Vec<u8>>) -> Self {
        let mut out = Self::default();
        files.into_iter().for_each(|(path, text)| out.set(&path, text));
        out
    }

    pub(crate) fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(AsRef::as_ref)
    }

    pub(crate) fn set(&mut self, path: &str, text: Vec<u8>) {
        self.remove(path);
        self.size += path.len() + text.len();
        self.files.insert(path.to_owned(), text.into());
    }

    pub(crate) fn remove(&mut self, path: &str) {
        if let Some(text) = self.files.remove(path) {
            self.size -= path.len() + text.len();
        }
    }

    /// Holds what is the same in `other` once in memory.
    pub(crate) fn share_with(&mut self, other: &Self) {
        for (path, text) in &mut self.files {
            if let Some(same) = other.files.get(path).filter(|theirs| theirs == &text) {
                *text = Arc::clone(same);
            }
        }
    }

    /// The names of the governors, without their ending: `teo`.
    pub(crate) fn governors(&self) -> impl Iterator<Item = &str> {
        self.files.keys().filter_map(|path| path.strip_prefix(GOVERNORS)?.strip_suffix(".c"))
    }

    /// Paths of the files that differ from those of `other`.
    pub(crate) fn changed_from(&self, other: &Self) -> Vec<String> {
        let differs = |path: &&String| self.files.get(*path) != other.files.get(*path);
        let mut all: Vec<String> =
            self.files.keys().chain(other.files.keys()).filter(differs).cloned().collect();
        all.sort();
        all.dedup();
        all
    }

    /// The files, as a folder has them.
    pub(crate) fn files(&self) -> Vec<(&str, &[u8])> {
        self.files.iter().map(|(path, text)| (path.as_str(), text.as_ref())).collect()
    }

    /// Bytes of all of its files, and of their paths.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// What is wrong where they are more than any kernel has.
    pub(crate) fn too_large(&self) -> Option<String> {
        (self.size > LARGEST).then(|| {
            format!("the governors and their headers would have {} bytes, more than any kernel's: {LARGEST} at most", self.size)
        })
    }

    /// `linux-6.12.117`, by the top Makefile; nothing where there is none.
    pub(crate) fn version(&self) -> Option<String> {
        let text = String::from_utf8_lossy(self.get(MAKEFILE)?).into_owned();
        let value = |name: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(name)?.trim_start().strip_prefix('='))?;
            Some(line.trim().to_owned())
        };
        let (major, minor) = (value("VERSION")?, value("PATCHLEVEL")?);
        let rest = value("SUBLEVEL").filter(|s| !s.is_empty()).map_or_else(String::new, |s| format!(".{s}"));
        let extra = value("EXTRAVERSION").unwrap_or_else(String::new);
        Some(format!("linux-{major}.{minor}{rest}{extra}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governors_and_headers_that_they_may_include_are_judged() {
        for path in [
            "drivers/cpuidle/governors/teo.c",
            "drivers/cpuidle/governors/gov.h",
            "drivers/cpuidle/cpuidle.h",
        ] {
            assert!(is_judged(path), "{path}");
        }
        for path in [
            "drivers/cpuidle/governors/Makefile",
            "drivers/cpuidle/governors/old/teo.c",
            "drivers/cpuidle/cpuidle.c",
            "drivers/cpuidle/governors/.c",
            "drivers/cpuidle/governors/../../../x.c",
            "include/linux/cpuidle.h",
        ] {
            assert!(!is_judged(path), "{path}");
        }
    }

    #[test]
    fn what_versions_have_in_common_is_held_once() {
        let tree = |teo: &str| {
            let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
            Snapshot::of_files(BTreeMap::from([file("Makefile", "VERSION = 7"), file("teo.c", teo)]))
        };
        let (first, mut second) = (tree("one"), tree("two"));
        let shared = |tree: &Snapshot, path: &str| Arc::ptr_eq(&first.files[path], &tree.files[path]);
        assert!(!shared(&second, "Makefile"));
        second.share_with(&first);
        assert!(shared(&second, "Makefile") && !shared(&second, "teo.c"));
        assert_eq!((second.get("teo.c"), second.size()), (Some(&b"two"[..]), 8 + 11 + 5 + 3));
        second.remove("teo.c");
        assert_eq!((second.size(), second.too_large()), (8 + 11, None));
    }

    #[test]
    fn the_version_is_the_makefiles() {
        let text = b"VERSION = 7\nPATCHLEVEL = 1\nSUBLEVEL =\nEXTRAVERSION = -rc3\n".to_vec();
        let snapshot = Snapshot::of_files(BTreeMap::from([(MAKEFILE.to_owned(), text)]));
        assert_eq!(snapshot.version().as_deref(), Some("linux-7.1-rc3"));
        assert_eq!(Snapshot::default().version(), None);
    }
}
