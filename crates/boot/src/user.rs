// SPDX-License-Identifier: GPL-2.0-only
//! Governors of the user's own files in a guest's kernel. They stand in the folder of the build, not in that of the sources:
//! a tree of the user's stays as it is, and the next build can do without them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::BootError;
use crate::overlay::{FOLDER, write_if_different};

/// In the overlay's folder of a build: these governors, and the file that lists them.
const USERS: &str = "users";
const LIST: &str = "users.mk";
/// The most bytes of a governor's name (`CPUIDLE_NAME_LEN` of `linux/cpuidle.h`, without the end).
const NAME_MAX: usize = 15;

/// A file of the user's with an idle governor, and the headers that go with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserGovernor {
    given: String,
    folder: PathBuf,
    /// `my`, `my2` and so on: no two governors of a kernel have the same.
    prefix: String,
    name: String,
    stem: String,
    /// By their paths in `folder`.
    files: BTreeMap<String, String>,
}

impl UserGovernor {
    /// The governor that the user calls `given`, the `number`th of a kernel, counted from 1. `sources` are its file and then
    /// its headers, with absolute paths; `registered` is the name that the file gives it.
    ///
    /// # Errors
    /// [`BootError`] when a file cannot be read, or a header is not in the governor's folder.
    pub fn new(given: &str, number: usize, registered: &str, sources: &[PathBuf]) -> Result<Self, BootError> {
        let refuse = |why: String| Err(BootError::Governor { given: given.to_owned(), why });
        let Some((folder, stem)) = sources.first().and_then(|f| f.parent().zip(f.file_stem())) else {
            return refuse("no file".to_owned());
        };
        let prefix = if number <= 1 { "my".to_owned() } else { format!("my{number}") };
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let stem = format!("{prefix}_{}", stem.to_string_lossy().chars().map(word).collect::<String>());
        let mut files = BTreeMap::new();
        for (index, path) in sources.iter().enumerate() {
            let Some(inside) = path.strip_prefix(folder).ok().and_then(Path::to_str) else {
                return refuse(format!(
                    "includes {}, which is not next to it; headers must be in its folder",
                    path.display()
                ));
            };
            let text = fs::read_to_string(path).map_err(BootError::io(path))?;
            files.insert(if index == 0 { format!("{stem}.c") } else { inside.to_owned() }, text);
        }
        let name: String = format!("{prefix}-{registered}").chars().take(NAME_MAX).collect();
        Ok(Self { given: given.to_owned(), folder: folder.to_owned(), prefix, name, stem, files })
    }

    /// As the user named it.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }

    /// What the kernel calls it: the name that its file gives it, behind `my-`, since that name may be taken.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name under which its parameters are found in `/sys/module`, and set on the kernel's command line.
    #[must_use]
    pub fn module(&self) -> &str {
        &self.stem
    }

    /// Its files by their names, the governor's own first.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = format!("{}.c", self.stem);
        let first = self.files.get_key_value(&own);
        let rest = self.files.iter().filter(move |(name, _)| **name != own);
        first.into_iter().chain(rest).map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// A line of a compiler's with the user's names of files in the place of the build's.
    fn in_users_words(&self, line: &str) -> String {
        let there = format!("{FOLDER}/{USERS}/{}/", self.prefix);
        let Some((before, after)) = line.split_once(&there) else { return line.to_owned() };
        let before = before.rsplit_once(' ').map_or("", |(words, _)| words);
        let gap = if before.is_empty() { "" } else { " " };
        match after.strip_prefix(&format!("{}.c", self.stem)) {
            Some(rest) => format!("{before}{gap}{}{rest}", self.given),
            None => format!("{before}{gap}{}/{after}", self.folder.display()),
        }
    }
}

/// Puts `governors`, and no others, into the folder of a build.
pub(crate) fn put(governors: &[UserGovernor], build: &Path) -> Result<(), BootError> {
    let users = build.join(FOLDER).join(USERS);
    let mut list = String::new();
    let mut wanted: BTreeMap<String, &str> = BTreeMap::new();
    for governor in governors {
        let object = format!("{USERS}/{}/{}", governor.prefix, governor.stem);
        list += &format!("iw-governors += {object}\niw-name-{object} := {}\n", governor.name);
        for (name, text) in &governor.files {
            wanted.insert(format!("{}/{name}", governor.prefix), text);
        }
    }
    if !users.exists() && governors.is_empty() {
        return Ok(());
    }
    // Whatever else is there, also objects of files that were there before, would be of no use.
    remove_others(&users, &users, &wanted)?;
    wanted.insert(LIST.to_owned(), &list);
    for (name, text) in &wanted {
        let path = users.join(name);
        let folder = path.parent().unwrap_or(&users);
        fs::create_dir_all(folder).map_err(BootError::io(folder))?;
        write_if_different(&path, text, &mut Vec::new())?;
    }
    Ok(())
}

/// Removes sources that are not `wanted` from `folder`, and folders of which nothing is.
fn remove_others(top: &Path, folder: &Path, wanted: &BTreeMap<String, &str>) -> Result<(), BootError> {
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(BootError::io(folder))? {
        let path = entry.map_err(BootError::io(folder))?.path();
        let name = path.strip_prefix(top).unwrap_or(&path).display().to_string();
        if path.is_dir() {
            if wanted.keys().any(|w| w.starts_with(&format!("{name}/"))) {
                remove_others(top, &path, wanted)?;
            } else {
                fs::remove_dir_all(&path).map_err(BootError::io(&path))?;
            }
        } else if [".c", ".h"].iter().any(|e| name.ends_with(e)) && !wanted.contains_key(&name) {
            fs::remove_file(&path).map_err(BootError::io(&path))?;
        }
    }
    Ok(())
}

/// A compiler's line in the words of whoever wrote the file.
pub(crate) fn in_users_words(governors: &[UserGovernor], line: &str) -> String {
    governors.iter().fold(line.to_owned(), |line, governor| governor.in_users_words(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn governor(folder: &Path, number: usize) -> UserGovernor {
        let (file, header) = (folder.join("my teo-x.c"), folder.join("sub/a.h"));
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(&file, "code").unwrap();
        fs::write(&header, "header").unwrap();
        UserGovernor::new("./my teo-x.c", number, "teo-of-the-user", &[file, header]).unwrap()
    }

    #[test]
    fn names_are_such_that_a_kernel_can_use_them() {
        let folder = tempfile::tempdir().unwrap();
        let second = governor(folder.path(), 2);
        assert_eq!(second.name(), "my2-teo-of-the-");
        assert_eq!(second.module(), "my2_my_teo_x");
        let names: Vec<&str> = second.files().map(|(name, _)| name).collect();
        assert_eq!(names, ["my2_my_teo_x.c", "sub/a.h"]);
    }

    #[test]
    fn a_build_has_those_that_are_wanted_and_no_others() {
        let (folder, build) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (one, two) = (governor(folder.path(), 1), governor(folder.path(), 2));
        put(&[one.clone(), two], build.path()).unwrap();
        let users = build.path().join(FOLDER).join(USERS);
        let list = fs::read_to_string(users.join(LIST)).unwrap();
        assert!(list.contains("iw-governors += users/my2/my2_my_teo_x\n"), "{list}");
        assert!(list.contains("iw-name-users/my/my_my_teo_x := my-teo-of-the-u\n"), "{list}");
        fs::write(users.join("my/gone.h"), "of an earlier file").unwrap();
        fs::write(users.join("my/my_my_teo_x.o"), "an object").unwrap();
        put(&[one], build.path()).unwrap();
        assert!(!users.join("my2").exists() && !users.join("my/gone.h").exists());
        assert!(users.join("my/my_my_teo_x.o").exists() && users.join("my/sub/a.h").exists());
        put(&[], build.path()).unwrap();
        assert_eq!(fs::read_to_string(users.join(LIST)).unwrap(), "");
    }

    #[test]
    fn a_header_of_elsewhere_is_refused() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sources = [folder.path().join("a.c"), other.path().join("b.h")];
        sources.iter().for_each(|s| fs::write(s, "").unwrap());
        let why = UserGovernor::new("a.c", 1, "a", &sources).unwrap_err().to_string();
        assert!(why.contains("b.h, which is not next to it"), "{why}");
    }

    #[test]
    fn the_compilers_words_name_the_users_file() {
        let folder = tempfile::tempdir().unwrap();
        let governor = governor(folder.path(), 1);
        let line = format!("{FOLDER}/users/my/my_my_teo_x.c:3:1: error: no");
        assert_eq!(governor.in_users_words(&line), "./my teo-x.c:3:1: error: no");
        let line = format!("In file included from {FOLDER}/users/my/my_my_teo_x.c:3:");
        assert_eq!(governor.in_users_words(&line), "In file included from ./my teo-x.c:3:");
        assert_eq!(governor.in_users_words("other.c:1: error: x"), "other.c:1: error: x");
    }
}
