// SPDX-License-Identifier: GPL-2.0-only
//! The kernel sources that guests' kernels are built from: Debian's, or a tree of the user's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xxhash_rust::xxh3::Xxh3;

use crate::apt::Apt;
use crate::process::{Job, need};
use crate::{BootError, LabFolder, Watch, overlay};

/// The version of Debian's kernel that is built where none is named.
pub const DEFAULT_VERSION: &str = "6.12";
/// Where Debian has kernels that are newer than those of this system's release.
const NEWER_SUITE: &str = "trixie-backports";

/// What a build in the tree itself leaves, for which a kernel refuses one elsewhere.
const BUILT_IN_PLACE: [&str; 3] = [".config", "include/config", "arch/arm64/include/generated"];

/// Folders of a kernel tree of which a guest's kernel needs the build files alone: drivers that no guest has, other architectures,
/// documentation, tests. They hold three of five files. The loopback device, which guests have, lies in `drivers/net` itself.
const UNUSED: [&str; 30] = [
    "Documentation",
    "arch/alpha",
    "arch/arc",
    "arch/arm",
    "arch/loongarch",
    "arch/m68k",
    "arch/mips",
    "arch/parisc",
    "arch/powerpc",
    "arch/riscv",
    "arch/s390",
    "arch/sh",
    "arch/sparc",
    "arch/x86",
    "arch/arm64/boot/dts",
    "drivers/accel",
    "drivers/gpu",
    "drivers/hwmon",
    "drivers/iio",
    "drivers/infiniband",
    "drivers/media",
    "drivers/net/*",
    "drivers/scsi",
    "drivers/staging",
    "drivers/usb",
    "drivers/video",
    "fs/xfs",
    "sound",
    "tools/perf",
    "tools/testing",
];
/// How the names of files end that are sources, and no part of the build itself.
const SOURCES: [&str; 12] =
    [".c", ".h", ".S", ".dts", ".dtsi", ".dtso", ".yaml", ".rst", ".txt", ".json", ".svg", ".sh"];

/// A kernel's sources with the overlay in them.
#[derive(Clone, Debug)]
pub struct KernelTree {
    folder: PathBuf,
    /// The Debian package that it is our own copy of, which nobody else changes; `None` for a tree of the user's.
    package: Option<String>,
}

impl KernelTree {
    /// The user's tree at `folder`, which must have the overlay already: it is theirs, so it is not changed unasked.
    ///
    /// # Errors
    /// [`BootError`] when it is no kernel tree, the overlay is missing or old, or it was built in place.
    pub fn of_user(folder: &Path) -> Result<Self, BootError> {
        let folder = folder.canonicalize().map_err(BootError::io(folder))?;
        if !overlay::is_current(&folder)? {
            let why = format!(
                "the governors are not in this tree, or not as this idlewise has them; \
                 add them with: idlewise boot overlay {}",
                folder.display()
            );
            return Err(BootError::tree(&folder, why));
        }
        // The kernel's own check and advice come late, and its advice would delete a configuration.
        let built: Option<&str> = BUILT_IN_PLACE.into_iter().find(|name| folder.join(name).exists());
        if let Some(name) = built {
            let why = format!(
                "this tree was built in place (it has {name}), and cannot be built in another folder as well; \
                 take another checkout of it (git worktree add FOLDER), or let make mrproper clean it"
            );
            return Err(BootError::tree(&folder, why));
        }
        Ok(Self { folder, package: None })
    }

    /// Debian's source of the kernel `version` (`6.12`), unpacked in `lab` and brought up to date with the overlay. It comes from
    /// `/usr/src` or from Debian's archive.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be had or unpacked, or `version` is none.
    pub fn of_debian(lab: &LabFolder, version: &str, watch: &dyn Watch) -> Result<Self, BootError> {
        let package = source_package(version)?;
        let folder = lab.whole(&format!("source/{package}"), |to| {
            let archive = match installed(&package) {
                Some(archive) => archive,
                None => download(&package, lab, to, watch)?,
            };
            watch.doing(&format!("unpacking {package}"));
            unpack(&archive, &package, to, lab, watch)?;
            if archive.starts_with(to) {
                fs::remove_dir_all(to.join(FETCHED)).map_err(BootError::io(to))?;
            }
            Ok(())
        })?;
        overlay::install(&folder)?;
        Ok(Self { folder, package: Some(package) })
    }

    /// The top folder of the tree.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is our own copy, which nobody else changes.
    pub(crate) fn is_own(&self) -> bool {
        self.package.is_some()
    }

    /// What tells one tree's builds from another's.
    pub(crate) fn name(&self) -> String {
        if let Some(package) = &self.package {
            return package.clone();
        }
        let mut hash = Xxh3::new();
        hash.update(self.folder.as_os_str().as_encoded_bytes());
        format!("tree-{:016x}", hash.digest())
    }
}

/// Checks that [`KernelTree::of_debian`] can be asked for `version`.
///
/// # Errors
/// [`BootError`] when it is no version of a kernel, or an older one than the overlay compiles in.
pub fn check_version(version: &str) -> Result<(), BootError> {
    source_package(version).map(drop)
}

/// The Debian package with the source of the kernel `version`, which is two numbers.
fn source_package(version: &str) -> Result<String, BootError> {
    let wrong = |why: &str| BootError::Version {
        version: version.to_owned(),
        why: format!("{why}; write MAJOR.MINOR, such as {DEFAULT_VERSION}"),
    };
    let digits = |text: &str| {
        let sound = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u32>().ok().filter(|_| sound)
    };
    let numbers = version.split_once('.').and_then(|(major, minor)| Some((digits(major)?, digits(minor)?)));
    match numbers {
        None => Err(wrong("not two numbers with a dot between them")),
        Some(numbers) if numbers < overlay::OLDEST => {
            Err(wrong(&format!("the overlay needs {}.{} or newer", overlay::OLDEST.0, overlay::OLDEST.1)))
        }
        Some((major, minor)) => Ok(format!("linux-source-{major}.{minor}")),
    }
}

/// Where kernels' sources of Debian's packages may be: the folder that `IDLEWISE_KERNEL_SOURCES` names, and that of the packages.
pub fn source_folders() -> impl Iterator<Item = PathBuf> {
    [env::var_os("IDLEWISE_KERNEL_SOURCES"), Some("/usr/src".into())].into_iter().flatten().map(PathBuf::from)
}

/// The archive, where it is already.
fn installed(package: &str) -> Option<PathBuf> {
    source_folders().map(|f| f.join(format!("{package}.tar.xz"))).find(|f| f.is_file())
}

/// In a folder that a tree is unpacked into: what was downloaded for it.
const FETCHED: &str = ".fetched";

/// Where Debian's package has its archive.
const INSTALLED: &str = "usr/src";

/// The archive inside Debian's package, below `to`: from a suite of this system's, else from the one with newer kernels.
fn download(package: &str, lab: &LabFolder, to: &Path, watch: &dyn Watch) -> Result<PathBuf, BootError> {
    need(&[("apt-get", "apt"), ("dpkg-deb", "dpkg"), ("xz", "xz-utils")])?;
    let fetched = to.join(FETCHED);
    fs::create_dir_all(&fetched).map_err(BootError::io(&fetched))?;
    let own = match by_the_system(package, &fetched, watch) {
        Ok(()) => return only(&fetched.join(INSTALLED), ".tar.xz"),
        Err(BootError::Interrupted) => return Err(BootError::Interrupted),
        Err(why) => why,
    };
    let newer = lab.part(&format!("apt-{NEWER_SUITE}-arm64")).and_then(|folder| {
        Apt::open(&folder, Some(NEWER_SUITE), "arm64", watch)?.unpack(&[package], false, &fetched)
    });
    match newer {
        Ok(()) => only(&fetched.join(INSTALLED), ".tar.xz"),
        Err(BootError::Interrupted) => Err(BootError::Interrupted),
        Err(newer) => Err(BootError::Missing {
            program: format!("the source of a kernel ({package})"),
            advice: format!(
                "sudo apt-get install {package} where a suite has it, or name a tree with --kernel-tree; \
                 this system: {own}; {NEWER_SUITE}: {newer}"
            ),
        }),
    }
}

/// Unpacks the archive of a kernel's sources, which all lie in the folder `top`, into `to`, but for those that are not used.
fn unpack(archive: &Path, top: &str, to: &Path, lab: &LabFolder, watch: &dyn Watch) -> Result<(), BootError> {
    let log = lab.path().join("source.log");
    // Each pattern is tried on each of 80,000 names: those that begin with the folder's own name fail soonest.
    let unused = UNUSED.iter().flat_map(|f| SOURCES.map(|end| format!("--exclude={top}/{f}/*{end}")));
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(archive).args(["--strip-components=1", "--anchored", "-C"]).arg(to).args(unused);
    Job { what: "unpacking the kernel's sources", command: tar, log: &log, watch, patience: None }.run(|_| ())
}

/// Unpacks `package` into `to`, as this system's own apt finds it.
fn by_the_system(package: &str, to: &Path, watch: &dyn Watch) -> Result<(), BootError> {
    watch.doing(&format!("downloading {package}"));
    let log = to.join("download.log");
    let job = |what: &'static str, command: Command| {
        Job { what, command, log: &log, watch, patience: None }.run(|_| ())
    };
    let fetch = || {
        let mut apt = Command::new("apt-get");
        apt.args(["download", "-o", "APT::Sandbox::User=root", package]).current_dir(to);
        job("downloading the kernel's sources", apt)
    };
    if let Err(first) = fetch() {
        // A fresh machine knows of no packages before its lists are fetched; that takes root.
        let mut update = Command::new("apt-get");
        update.arg("update");
        if job("apt-get update", update).is_err() {
            return Err(first);
        }
        fetch()?;
    }
    let mut unpack = Command::new("dpkg-deb");
    unpack.arg("-x").arg(only(to, ".deb")?).arg(to);
    job("unpacking a package", unpack)
}

/// The file in `folder` whose name ends so.
pub(crate) fn only(folder: &Path, ending: &str) -> Result<PathBuf, BootError> {
    for entry in fs::read_dir(folder).map_err(BootError::io(folder))? {
        let path = entry.map_err(BootError::io(folder))?.path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().ends_with(ending)) {
            return Ok(path);
        }
    }
    Err(BootError::file(folder, format!("no file *{ending} came")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_two_numbers_from_the_oldest_on() {
        assert_eq!(source_package("7.3").unwrap(), "linux-source-7.3");
        assert_eq!(source_package(DEFAULT_VERSION).unwrap(), "linux-source-6.12");
        for (text, word) in [
            ("7", "two numbers"),
            ("6.12.117", "two numbers"),
            ("../6.1", "two numbers"),
            ("+6.12", "two numbers"),
            ("5.15", "6.1 or newer"),
        ] {
            let said = source_package(text).unwrap_err().to_string();
            assert!(said.contains(word) && said.contains(text), "{said}");
        }
    }
}
