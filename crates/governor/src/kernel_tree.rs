// SPDX-License-Identifier: GPL-2.0-only
//! Kernel trees: which version one is, and which governors it has.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{GovernorError, GovernorSource, SourceFile, Spec};

/// Where a kernel keeps its idle governors.
const GOVERNORS: &str = "drivers/cpuidle/governors";

/// A kernel's version, as its top Makefile has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
    extra: String,
}

impl Version {
    /// From the text of a tree's top Makefile.
    fn parse(makefile: &str) -> Option<Self> {
        let value = |name: &str| {
            let mut lines = makefile.lines().take(20).filter_map(|line| line.split_once('='));
            lines.find(|(n, _)| n.trim() == name).map(|(_, v)| v.trim())
        };
        let number = |name: &str| value(name)?.parse().ok();
        Some(Self {
            major: number("VERSION")?,
            minor: number("PATCHLEVEL")?,
            patch: number("SUBLEVEL").unwrap_or(0),
            extra: value("EXTRAVERSION").unwrap_or("").to_owned(),
        })
    }

    /// The version of the kernel tree around a file.
    pub(crate) fn around(file: &Path) -> Option<(Self, &Path)> {
        file.ancestors().skip(1).find_map(|folder| Some((Self::of(folder)?, folder)))
    }

    fn of(folder: &Path) -> Option<Self> {
        let makefile = fs::read(folder.join("Makefile")).ok()?;
        Self::parse(&String::from_utf8_lossy(&makefile))
    }

    /// As `IDLEWISE_LINUX_VERSION` of the shim wants it.
    pub(crate) fn code(&self) -> u32 {
        self.major << 16 | self.minor.min(255) << 8 | self.patch.min(255)
    }

    /// Whether `text`, such as 6.12, is this version or the first parts of it.
    fn matches(&self, text: &str) -> bool {
        let own = self.to_string();
        own == text || own.strip_prefix(text).is_some_and(|rest| rest.starts_with(['.', '-']))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}{}", self.major, self.minor, self.patch, self.extra)
    }
}

/// What `spec`, of an option of this invocation, means: a governor of ours, a C file, or governors of `trees`, which the user
/// named, too: `linux:6.12` all of that version, `linux:6.12/teo` one, `linux/teo` that of the only tree.
///
/// # Errors
/// No such tree, version or governor; the message lists what there is.
pub fn expand(spec: &Spec, trees: &[PathBuf]) -> Result<Vec<GovernorSource>, GovernorError> {
    match of_trees(spec, trees)? {
        Some(files) => Ok(files.into_iter().map(GovernorSource::File).collect()),
        None => Ok(vec![GovernorSource::named_by_user(spec.clone())]),
    }
}

/// The governors of `trees` that `spec` means; nothing where it does not speak of trees.
pub(crate) fn of_trees(spec: &Spec, trees: &[PathBuf]) -> Result<Option<Vec<SourceFile>>, GovernorError> {
    let Some((version, name)) = in_a_tree(&spec.id) else { return Ok(None) };
    let wrong = |why: String| GovernorError::KernelTree { why };
    let trees: Vec<Tree> = trees.iter().map(|t| Tree::open(t)).collect::<Result<_, _>>()?;
    let versions = || trees.iter().map(|t| t.version.to_string()).collect::<Vec<_>>().join(", ");
    if trees.is_empty() {
        return Err(wrong(format!(
            "governor `{spec}`: which kernel tree? Name the top folder of its sources with --kernel-tree FOLDER (on Debian, unpack \
             /usr/src/linux-source-*.tar.xz of the package linux-source-*)"
        )));
    }
    let found: Vec<&Tree> = trees.iter().filter(|t| version.is_none_or(|v| t.version.matches(v))).collect();
    let tree = match found.as_slice() {
        [tree] => tree,
        [] => {
            return Err(wrong(format!(
                "governor `{spec}`: no kernel tree of that version; there are: {}",
                versions()
            )));
        }
        [first, second, ..] if found.iter().all(|t| t.version == first.version) => {
            let folders: Vec<String> = found.iter().map(|t| t.folder.display().to_string()).collect();
            let file = second.folder.join(GOVERNORS).join(format!("{}.c", name.unwrap_or("GOVERNOR")));
            return Err(wrong(format!(
                "governor `{spec}`: {} kernel trees are of version {}: {}; name the governor's file by its path: {}",
                found.len(),
                first.version,
                folders.join(", "),
                file.display()
            )));
        }
        _ => {
            return Err(wrong(format!(
                "governor `{spec}`: which of the kernel trees? There are: {}; write linux:VERSION/GOVERNOR",
                versions()
            )));
        }
    };
    let files: Vec<&PathBuf> =
        tree.files.iter().filter(|f| name.is_none_or(|n| f.file_stem().is_some_and(|s| s == n))).collect();
    if files.is_empty() {
        let names: Vec<_> =
            tree.files.iter().filter_map(|f| f.file_stem()).map(|s| s.to_string_lossy()).collect();
        return Err(wrong(format!(
            "governor `{spec}`: Linux {} has none of that name; it has: {}",
            tree.version,
            names.join(", ")
        )));
    }
    let path = |file: &&PathBuf| {
        let id = file.to_str().ok_or_else(|| {
            wrong(format!("{}: the name of a folder is not UTF-8; rename it", file.display()))
        })?;
        Ok(SourceFile::named_by_user(Spec { id: id.to_owned(), params: spec.params.clone() }))
    };
    files.iter().map(path).collect::<Result<_, _>>().map(Some)
}

/// The files of governors that `id` means where it is the folder of a kernel tree, or that folder and the name of one of its
/// governors: `./linux`, `./linux/teo`. Nothing where it is neither, and for the names that [`expand`] knows.
///
/// # Errors
/// [`GovernorError::KernelTree`] where the tree has no governor of that name; the message lists what it has.
pub fn files_in_folder(id: &str) -> Result<Option<Vec<PathBuf>>, GovernorError> {
    if in_a_tree(id).is_some() || !id.contains('/') {
        return Ok(None);
    }
    let path = Path::new(id);
    if path.join(GOVERNORS).is_dir() {
        return Tree::open(path).map(|tree| Some(tree.files));
    }
    let Some((folder, name)) = path.parent().zip(path.file_name()) else { return Ok(None) };
    if path.exists() || path.extension().is_some_and(|e| e == "c") || !folder.join(GOVERNORS).is_dir() {
        return Ok(None);
    }
    let tree = Tree::open(folder)?;
    let stems = tree.files.iter().filter_map(|f| f.file_stem());
    let names: Vec<String> = stems.map(|s| s.to_string_lossy().into_owned()).collect();
    let found: Vec<PathBuf> = tree.files.into_iter().filter(|f| f.file_stem() == Some(name)).collect();
    if found.is_empty() {
        let why = format!(
            "governor `{id}`: the kernel tree {} (Linux {}) has none of that name; it has: {}",
            folder.display(),
            tree.version,
            names.join(", ")
        );
        return Err(GovernorError::KernelTree { why });
    }
    Ok(Some(found))
}

/// Whether `file`, a canonical path, is among the governors of the tree in `folder`.
pub(crate) fn has(folder: &Path, file: &Path) -> bool {
    let governors = folder.join(GOVERNORS).canonicalize();
    governors.is_ok_and(|governors| file.parent() == Some(&governors))
}

/// Version and governor of an id that means kernel trees.
fn in_a_tree(id: &str) -> Option<(Option<&str>, Option<&str>)> {
    let rest = id.strip_prefix("linux")?;
    let (version, name) = rest.split_once('/').map_or((rest, None), |(v, n)| (v, Some(n)));
    if name.is_some_and(|n| n.is_empty() || n.contains('/') || n.ends_with(".c")) {
        return None;
    }
    match version.strip_prefix(':') {
        Some("") => Some((None, name)),
        Some(version) => Some((Some(version), name)),
        None => version.is_empty().then_some((None, name)),
    }
}

/// A kernel tree whose governors can be compiled.
struct Tree {
    folder: PathBuf,
    version: Version,
    /// Its governors, by name.
    files: Vec<PathBuf>,
}

impl Tree {
    fn open(folder: &Path) -> Result<Self, GovernorError> {
        let shown = folder.display();
        let wrong = |why: String| GovernorError::KernelTree { why };
        if folder.is_file() {
            let name = folder.to_string_lossy();
            return Err(wrong(if name.contains(".tar") || name.ends_with(".tgz") {
                format!(
                    "{shown} is an archive; unpack the part that is needed, and name the folder: \
                     tar xf {shown} --wildcards --no-wildcards-match-slash '*/Makefile' '*/drivers/cpuidle'"
                )
            } else {
                format!(
                    "{shown} is a file; --kernel-tree expects the folder of a kernel tree (one governor is \
                     named by its path)"
                )
            }));
        }
        let version = Version::of(folder).ok_or_else(|| {
            wrong(format!(
                "{shown} is no kernel tree: no Makefile with VERSION and PATCHLEVEL; name the top folder of one"
            ))
        })?;
        let governors = folder.join(GOVERNORS);
        let entries = fs::read_dir(&governors).map_err(|e| wrong(format!("{}: {e}", governors.display())))?;
        let mut files: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "c"));
        files.sort();
        Ok(Self { folder: folder.to_owned(), version, files })
    }
}

/// What a governor's file is called in tables: by kernel and name inside a tree, else by its path as given.
pub(crate) fn label(given: &str, file: &Path, tree: Option<&(Version, &Path)>) -> String {
    let Some((version, folder)) = tree else { return given.to_owned() };
    let inside = file.strip_prefix(folder).unwrap_or(file).with_extension("");
    let name = inside.strip_prefix(GOVERNORS).unwrap_or(&inside);
    format!("linux-{version}/{}", name.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_makefiles_and_matched_by_their_first_parts() {
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION =\nNAME = x\n";
        let v = Version::parse(text).unwrap();
        assert_eq!((v.to_string().as_str(), v.code()), ("6.12.117", 0x06_0c_75));
        assert!(v.matches("6.12") && v.matches("6.12.117") && v.matches("6"));
        assert!(!v.matches("6.1") && !v.matches("6.12.11"));
        let rc = Version::parse("VERSION = 7\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION = -rc3\n").unwrap();
        assert_eq!(rc.to_string(), "7.1.0-rc3");
        assert_eq!(Version::parse("all:\n\tcc x.c\n"), None);
    }

    #[test]
    fn ids_that_mean_trees() {
        assert_eq!(in_a_tree("linux:6.12"), Some((Some("6.12"), None)));
        assert_eq!(in_a_tree("linux:6.12/teo"), Some((Some("6.12"), Some("teo"))));
        assert_eq!(in_a_tree("linux/teo"), Some((None, Some("teo"))));
        assert_eq!(in_a_tree("linux:/teo"), Some((None, Some("teo"))));
        assert_eq!(in_a_tree("linux"), Some((None, None)));
        for path in ["linux/teo.c", "linux/drivers/cpuidle/governors/teo.c", "linux-6.12/teo.c", "menu"] {
            assert_eq!(in_a_tree(path), None, "{path}");
        }
    }
}
