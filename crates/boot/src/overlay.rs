// SPDX-License-Identifier: GPL-2.0-only
//! Putting the governors into a kernel tree, and taking them out again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{BootError, files};

/// Where in a tree everything of ours goes.
pub(crate) const FOLDER: &str = "drivers/cpuidle/governors/idlewise";
/// Where a build puts its modules.
pub(crate) const MODULES_FOLDER: &str = "drivers/cpuidle/governors/idlewise/modules";
/// In [`FOLDER`]: load tracking and frequency governors, which can be modules.
const MODULES: &str = "modules";
/// In a kernel's tree: where its governors can be switched on, and where they are compiled.
pub(crate) const KCONFIG: &str = "drivers/cpuidle/Kconfig";
pub(crate) const MAKEFILE: &str = "drivers/cpuidle/governors/Makefile";

/// The lines of existing files that know of it.
pub(crate) fn additions() -> Vec<Addition> {
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    vec![
        Addition {
            file: KCONFIG,
            after: Some("if CPU_IDLE"),
            lines: lines(&[r#"source "drivers/cpuidle/governors/idlewise/Kconfig""#]),
        },
        Addition {
            file: MAKEFILE,
            after: None,
            lines: lines(&[
                "obj-y += idlewise/",
                "ccflags-$(CONFIG_IDLEWISE_RECORD) += -include $(srctree)/drivers/cpuidle/governors/idlewise/in-governor.h",
            ]),
        },
    ]
}

/// The oldest kernel that it compiles in.
pub(crate) const OLDEST: (u32, u32) = (6, 1);

/// Lines for a file of a kernel's tree.
pub(crate) struct Addition {
    pub(crate) file: &'static str,
    /// The line after which they go; the end of the file without it.
    pub(crate) after: Option<&'static str>,
    pub(crate) lines: Vec<String>,
}

/// Name of a governor's file in the kernel, without its ending: its module parameters are found under
/// `/sys/module` by this name, with `_` for `-`.
#[must_use]
pub fn kernel_file(governor: &str) -> String {
    format!("iw-{}", governor.replace('.', "_"))
}

/// How many governors go into a kernel.
#[must_use]
pub fn governor_count() -> usize {
    files::GOVERNORS.iter().filter(|(name, _)| name.ends_with(".c")).count()
}

/// The files of the overlay with their contents, by their names in [`FOLDER`].
pub(crate) fn contents() -> BTreeMap<String, String> {
    let mut all: BTreeMap<String, String> =
        files::OVERLAY.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let mut list = "# SPDX-License-Identifier: GPL-2.0-only\n".to_owned();
    for (name, text) in files::GOVERNORS {
        match name.strip_suffix(".c") {
            Some(governor) => {
                let _ = writeln!(list, "iw-governors += {}", kernel_file(governor));
                all.insert(format!("{}.c", kernel_file(governor)), text.to_owned());
            }
            None => {
                all.insert(name.to_owned(), text.to_owned());
            }
        }
    }
    all.insert("governors.mk".to_owned(), list);
    for (name, text) in files::MODULES.iter().chain(&files::SIGNALS) {
        all.insert(format!("{MODULES}/{name}"), (*text).to_owned());
    }
    all
}

/// Whether `folder` looks like the top of a kernel's sources.
pub(crate) fn check_tree(folder: &Path) -> Result<(), BootError> {
    for addition in additions() {
        let path = folder.join(addition.file);
        if !path.is_file() {
            let why = format!(
                "no kernel tree; {} was expected in it (since Linux 3.10 it is there)",
                addition.file
            );
            return Err(BootError::tree(folder, why));
        }
    }
    let makefile = fs::read_to_string(folder.join("Makefile")).unwrap_or_default();
    match version(&makefile) {
        Some((major, minor)) if (major, minor) < OLDEST => {
            let (least, sub) = OLDEST;
            let why = format!("Linux {major}.{minor}; the overlay needs {least}.{sub} or newer");
            Err(BootError::tree(folder, why))
        }
        _ => Ok(()),
    }
}

/// Version and patch level, as the top Makefile of a kernel has them.
fn version(makefile: &str) -> Option<(u32, u32)> {
    let number = |name: &str| {
        let mut lines = makefile.lines().take(20).filter_map(|line| line.split_once('='));
        lines.find(|(n, _)| n.trim() == name)?.1.trim().parse().ok()
    };
    Some((number("VERSION")?, number("PATCHLEVEL")?))
}

/// Puts the governors into the tree at `folder`, or brings them up to date: files in a folder of their own, and the lines of
/// Kconfig and Makefile that know of it. What is right already is not touched, so that nothing is built anew for it.
///
/// # Errors
/// [`BootError`] when it is no kernel tree or cannot be written.
pub fn install(folder: &Path) -> Result<Vec<PathBuf>, BootError> {
    check_tree(folder)?;
    let ours = folder.join(FOLDER);
    let contents = contents();
    let mut changed = Vec::new();
    for part in [ours.clone(), ours.join(MODULES)] {
        fs::create_dir_all(&part).map_err(BootError::io(&part))?;
        remove_old(&ours, &part, &contents, &mut changed)?;
    }
    for (name, text) in &contents {
        write_if_different(&ours.join(name), text, &mut changed)?;
    }
    for addition in additions() {
        let path = folder.join(addition.file);
        let text = fs::read_to_string(&path).map_err(BootError::io(&path))?;
        write_if_different(&path, &addition.put_into(&text, &path)?, &mut changed)?;
    }
    Ok(changed)
}

/// What [`install`] did, and what comes next.
#[must_use]
pub fn written(changed: &[PathBuf]) -> String {
    let files: String = changed.iter().map(|path| format!("{}\n", path.display())).collect();
    format!(
        "{files}{} files written. Next, in the tree: make menuconfig (CPU Power Management, CPU Idle: \"The idle governors of \
         idlewise\"), or scripts/config -e IDLEWISE -e IDLEWISE_RECORD; then build it as usual\n",
        changed.len()
    )
}

/// Removes from `part` what an earlier version had put there.
fn remove_old(
    ours: &Path,
    part: &Path,
    contents: &BTreeMap<String, String>,
    changed: &mut Vec<PathBuf>,
) -> Result<(), BootError> {
    for entry in fs::read_dir(part).map_err(BootError::io(part))? {
        let path = entry.map_err(BootError::io(part))?.path();
        let name = path.strip_prefix(ours).unwrap_or(&path).display().to_string();
        // What a build in the tree left is the build's.
        if [".c", ".h", ".mk"].iter().any(|e| name.ends_with(e))
            && !name.ends_with(".mod.c")
            && !contents.contains_key(&name)
        {
            fs::remove_file(&path).map_err(BootError::io(&path))?;
            changed.push(path);
        }
    }
    Ok(())
}

/// Whether [`install`] would change nothing.
pub(crate) fn is_current(folder: &Path) -> Result<bool, BootError> {
    check_tree(folder)?;
    let is = |path: PathBuf, text: &str| fs::read(path).is_ok_and(|old| old == text.as_bytes());
    for addition in additions() {
        let path = folder.join(addition.file);
        let text = fs::read_to_string(&path).map_err(BootError::io(&path))?;
        if addition.put_into(&text, &path)? != text {
            return Ok(false);
        }
    }
    Ok(contents().iter().all(|(name, text)| is(folder.join(FOLDER).join(name), text)))
}

/// Takes out what [`install`] put in.
///
/// # Errors
/// [`BootError`] when it is no kernel tree or cannot be written.
pub fn remove(folder: &Path) -> Result<(), BootError> {
    check_tree(folder)?;
    for addition in additions() {
        let path = folder.join(addition.file);
        let text = fs::read_to_string(&path).map_err(BootError::io(&path))?;
        write_if_different(&path, &addition.taken_from(&text), &mut Vec::new())?;
    }
    let ours = folder.join(FOLDER);
    if ours.exists() {
        fs::remove_dir_all(&ours).map_err(BootError::io(&ours))?;
    }
    Ok(())
}

impl Addition {
    fn taken_from(&self, text: &str) -> String {
        text.split_inclusive('\n').filter(|line| !self.lines.iter().any(|l| l == line.trim_end())).collect()
    }

    fn put_into(&self, text: &str, path: &Path) -> Result<String, BootError> {
        self.added_to(self.taken_from(text), path)
    }

    /// `text`, of the file at `path`, with the lines.
    pub(crate) fn added_to(&self, mut text: String, path: &Path) -> Result<String, BootError> {
        let lines = self.lines.iter().fold(String::new(), |all, line| all + line + "\n");
        match self.after {
            None => {
                if !text.ends_with('\n') {
                    text.push('\n');
                }
                text.push_str(&lines);
            }
            Some(after) => {
                let place = text.split_inclusive('\n').scan(0, |end, line| {
                    *end += line.len();
                    Some((line, *end))
                });
                let place = place.into_iter().find(|(line, _)| line.trim_end() == after).map(|(_, end)| end);
                let place = place.ok_or_else(|| {
                    let why = format!("no line `{after}`, after which the overlay adds its line");
                    BootError::file(path, why)
                })?;
                text.insert_str(place, &lines);
            }
        }
        Ok(text)
    }
}

pub(crate) fn write_if_different(
    path: &Path,
    text: &str,
    changed: &mut Vec<PathBuf>,
) -> Result<(), BootError> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    fs::write(path, text).map_err(BootError::io(path))?;
    changed.push(path.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_tree_is_in_its_makefile() {
        assert_eq!(version("# SPDX\nVERSION = 5\nPATCHLEVEL = 15\nSUBLEVEL = 3\n"), Some((5, 15)));
        assert_eq!(version("all:\n"), None);
    }

    #[test]
    fn a_file_in_the_kernel_has_no_dot_in_its_name() {
        assert_eq!(kernel_file("teo-6.1"), "iw-teo-6_1");
        let names = contents();
        assert!(names.keys().all(|n| n.matches('.').count() <= 1), "{:?}", names.keys());
    }
}
