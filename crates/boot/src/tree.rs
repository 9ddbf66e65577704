// SPDX-License-Identifier: GPL-2.0-only
//! The kernel sources that guests' kernels are built from: Debian's, or a tree of the user's.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use xxhash_rust::xxh3::Xxh3;

use crate::process::{Job, need};
use crate::{BootError, LabFolder, Watch, overlay};

/// The Debian package whose kernel is built where no tree is named.
pub const SOURCE_PACKAGE: &str = "linux-source-6.12";

/// What a build in the tree itself leaves, for which a kernel refuses one elsewhere.
const BUILT_IN_PLACE: [&str; 3] = [".config", "include/config", "arch/arm64/include/generated"];

/// A kernel's sources with the overlay in them.
#[derive(Clone, Debug)]
pub struct KernelTree {
    folder: PathBuf,
    /// Whether it is our own copy, which nobody else changes.
    pub(crate) own: bool,
}

impl KernelTree {
    /// The user's tree at `folder`, which must have the overlay already: it is theirs, so it is not changed unasked.
    ///
    /// # Errors
    /// [`BootError`] when it is no kernel tree, the overlay is missing or old, or it was built in place.
    pub fn of_user(folder: &Path) -> Result<Self, BootError> {
        let folder = folder.canonicalize().map_err(BootError::io(folder))?;
        if !overlay::is_current(&folder)? {
            return Err(BootError::Request(format!(
                "{0}: the governors are not in this tree, or not as this idlewise has them; \
                 put them in with: idlewise lab overlay {0}",
                folder.display()
            )));
        }
        // The kernel's own check and advice come late, and its advice would delete a configuration.
        let built: Option<&str> = BUILT_IN_PLACE.into_iter().find(|name| folder.join(name).exists());
        if let Some(name) = built {
            return Err(BootError::Request(format!(
                "{0}: this tree was built in place (it has {name}), and cannot be built in another folder as well; \
                 take another checkout of it (git worktree add FOLDER), or let make mrproper clean it",
                folder.display()
            )));
        }
        Ok(Self { folder, own: false })
    }

    /// Debian's kernel source, unpacked in `lab` and brought up to date with the overlay. It comes from
    /// `/usr/src` or from Debian's archive.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be had or unpacked.
    pub fn of_debian(lab: &LabFolder, watch: &dyn Watch) -> Result<Self, BootError> {
        let folder = lab.whole(&format!("source/{SOURCE_PACKAGE}"), |to| {
            let archive = match installed() {
                Some(archive) => archive,
                None => download(to, watch)?,
            };
            watch.doing(&format!("unpacking {SOURCE_PACKAGE}"));
            let log = lab.path().join("source.log");
            let mut tar = Command::new("tar");
            tar.arg("-xJf").arg(&archive).arg("--strip-components=1").arg("-C").arg(to);
            Job { what: "unpacking the kernel's sources", command: tar, log: &log, watch, patience: None }
                .run(|_| ())?;
            if archive.starts_with(to) {
                fs::remove_file(&archive).map_err(BootError::io(&archive))?;
            }
            Ok(())
        })?;
        overlay::install(&folder)?;
        Ok(Self { folder, own: true })
    }

    /// Top of the tree.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What tells one tree's builds from another's.
    pub(crate) fn name(&self) -> String {
        if self.own {
            return SOURCE_PACKAGE.to_owned();
        }
        let mut hash = Xxh3::new();
        hash.update(self.folder.as_os_str().as_encoded_bytes());
        format!("tree-{:016x}", hash.digest())
    }
}

/// The archive, where it is already: as Debian's package installs it, or in the folder of kernel sources that
/// `IDLEWISE_KERNEL_SOURCES` names.
fn installed() -> Option<PathBuf> {
    let folders = [env::var_os("IDLEWISE_KERNEL_SOURCES"), Some("/usr/src".into())];
    let files = folders.into_iter().flatten().map(|f| Path::new(&f).join(format!("{SOURCE_PACKAGE}.tar.xz")));
    files.into_iter().find(|f| f.is_file())
}

/// The archive inside Debian's package, in `to`.
fn download(to: &Path, watch: &dyn Watch) -> Result<PathBuf, BootError> {
    need(&[("apt-get", "apt"), ("dpkg-deb", "dpkg"), ("xz", "xz-utils")])?;
    watch.doing(&format!("downloading {SOURCE_PACKAGE}"));
    let log = to.join("download.log");
    let fetch = || {
        let mut apt = Command::new("apt-get");
        apt.args(["download", "-o", "APT::Sandbox::User=root", SOURCE_PACKAGE]).current_dir(to);
        Job { what: "downloading the kernel's sources", command: apt, log: &log, watch, patience: None }
            .run(|_| ())
    };
    if let Err(first) = fetch() {
        // A fresh machine knows of no packages until it is told; that takes root.
        let mut update = Command::new("apt-get");
        update.arg("update");
        let job = Job { what: "apt-get update", command: update, log: &log, watch, patience: None };
        if job.run(|_| ()).is_err() {
            return Err(BootError::Missing {
                program: format!("the source of a kernel ({SOURCE_PACKAGE})"),
                advice: format!(
                    "sudo apt-get install {SOURCE_PACKAGE}, or name a tree with --kernel-tree; {first}"
                ),
            });
        }
        fetch()?;
    }
    let package = only(to, ".deb")?;
    // A package that holds one archive.
    let inner = to.join("linux-source.tar.xz");
    let out = fs::File::create(&inner).map_err(BootError::io(&inner))?;
    let mut unpack = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(&package)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(BootError::io(&package))?;
    let pipe = unpack.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let status = Command::new("tar")
        .args(["-xO", "--wildcards", "*/linux-source-*.tar.xz"])
        .stdin(pipe)
        .stdout(out)
        .status()
        .map_err(BootError::io(&package))?;
    let unpacked = unpack.wait().map_err(BootError::io(&package))?;
    if !status.success() || !unpacked.success() {
        return Err(BootError::Request(format!("{}: holds no linux-source-*.tar.xz", package.display())));
    }
    fs::remove_file(&package).map_err(BootError::io(&package))?;
    Ok(inner)
}

/// The file in `folder` whose name ends so.
pub(crate) fn only(folder: &Path, ending: &str) -> Result<PathBuf, BootError> {
    for entry in fs::read_dir(folder).map_err(BootError::io(folder))? {
        let path = entry.map_err(BootError::io(folder))?.path();
        if path.file_name().is_some_and(|n| n.to_string_lossy().ends_with(ending)) {
            return Ok(path);
        }
    }
    Err(BootError::Request(format!("{}: no file *{ending} came", folder.display())))
}
