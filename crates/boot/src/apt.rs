// SPDX-License-Identifier: GPL-2.0-only
//! Debian's packages in a folder of our own: downloaded and unpacked, the system untouched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Job, answer, need, on_path};
use crate::{BootError, Watch};

/// A release and architecture of Debian, with its package lists in a folder.
pub(crate) struct Apt<'a> {
    folder: PathBuf,
    architecture: &'a str,
    log: PathBuf,
    watch: &'a dyn Watch,
}

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

impl<'a> Apt<'a> {
    /// Gets to know what `suite` (the system's own where `None`) has for `architecture`; its lists go into `folder`.
    ///
    /// # Errors
    /// [`BootError`] where this is no Debian, or its archive cannot be reached.
    pub(crate) fn open(
        folder: &Path,
        suite: Option<&str>,
        architecture: &'a str,
        watch: &'a dyn Watch,
    ) -> Result<Self, BootError> {
        need(&[("apt-get", "apt"), ("dpkg-deb", "dpkg"), ("tar", "tar"), ("xz", "xz-utils")])?;
        let (uri, own_suite) = archive().ok_or(BootError::NoArchive)?;
        let this = Self { folder: folder.to_owned(), architecture, log: folder.join("apt.log"), watch };
        for part in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part)).map_err(BootError::io(folder))?;
        }
        let suite = suite.unwrap_or(&own_suite);
        let lines: String = ["deb", "deb-src"]
            .iter()
            .map(|kind| format!("{kind} [signed-by={KEYRING} arch={architecture}] {uri} {suite} main\n"))
            .collect();
        let sources = folder.join("sources.list");
        let fresh = fs::read_to_string(&sources).is_ok_and(|old| old == lines);
        if !fresh {
            fs::write(&sources, &lines).map_err(BootError::io(&sources))?;
        }
        if !fresh || !folder.join("updated").exists() {
            this.watch.doing(&format!("asking Debian {suite} for its {architecture} packages"));
            this.update()?;
        }
        Ok(this)
    }

    fn update(&self) -> Result<(), BootError> {
        self.job("apt-get update", self.command("apt-get").arg("update"))?;
        let done = self.folder.join("updated");
        fs::write(&done, "").map_err(BootError::io(&done))
    }

    /// Runs a command that downloads; once more with new lists if it fails, since an archive drops what it replaced.
    fn download(&self, what: &str, command: impl Fn() -> AptCommand) -> Result<(), BootError> {
        match self.job(what, command()) {
            Err(BootError::Failed { .. }) => {
                self.update()?;
                self.job(what, command())
            }
            done => done,
        }
    }

    fn command(&self, program: &str) -> AptCommand {
        let folder = self.folder.display();
        let mut command = Command::new(program);
        for option in [
            format!("APT::Architecture={}", self.architecture),
            format!("APT::Architectures={}", self.architecture),
            format!("Dir::State={folder}/state"),
            "Dir::State::status=/dev/null".to_owned(),
            format!("Dir::Cache={folder}/cache"),
            format!("Dir::Etc::sourcelist={folder}/sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            "APT::Sandbox::User=root".to_owned(),
            "APT::Install-Recommends=false".to_owned(),
        ] {
            command.args(["-o", &option]);
        }
        AptCommand(command)
    }

    fn job(&self, what: &str, command: AptCommand) -> Result<(), BootError> {
        Job { what, command: command.0, log: &self.log, watch: self.watch, patience: None }.run(|_| ())
    }

    /// Unpacks `packages`, with everything that they depend on if `complete`, into `to`.
    ///
    /// # Errors
    /// [`BootError`] when one cannot be had.
    pub(crate) fn unpack(&self, packages: &[&str], complete: bool, to: &Path) -> Result<(), BootError> {
        let archives = self.folder.join("cache/archives");
        self.watch.doing(&format!("downloading {}", packages.join(", ")));
        self.download("downloading packages", || {
            let mut command = self.command("apt-get");
            command = if complete {
                command.arg("install").arg("--download-only").arg("-y")
            } else {
                command.0.current_dir(&archives);
                command.arg("download")
            };
            packages.iter().fold(command, |command, package| command.arg(package))
        })?;
        for entry in fs::read_dir(&archives).map_err(BootError::io(&archives))? {
            let path = entry.map_err(BootError::io(&archives))?.path();
            if path.extension().is_some_and(|e| e == "deb") {
                let mut command = Command::new("dpkg-deb");
                command.arg("-x").arg(&path).arg(to);
                self.job("unpacking a package", AptCommand(command))?;
                // So that the next ones find none but their own.
                fs::remove_file(&path).map_err(BootError::io(&path))?;
            }
        }
        Ok(())
    }

    /// Downloads the source of `package` into `to`: the original archive among what lies there then.
    ///
    /// # Errors
    /// [`BootError`] when it cannot be had.
    pub(crate) fn source(&self, package: &str, to: &Path) -> Result<(), BootError> {
        self.watch.doing(&format!("downloading the source of {package}"));
        self.download("downloading a source", || {
            let mut command = self.command("apt-get");
            command.0.current_dir(to);
            command.arg("source").arg("--download-only").arg(package)
        })
    }
}

struct AptCommand(Command);

impl AptCommand {
    fn arg(mut self, arg: &str) -> Self {
        self.0.arg(arg);
        self
    }
}

/// Address and release of the Debian archive that this system uses.
fn archive() -> Option<(String, String)> {
    if !on_path("apt-get") {
        return None;
    }
    let mut command = Command::new("apt-get");
    command.args([
        "indextargets",
        "--format",
        "$(CREATED_BY) $(ORIGIN) $(COMPONENT) $(REPO_URI) $(CODENAME)",
    ]);
    let targets = answer(&mut command)?;
    targets.lines().find_map(|line| {
        let [created, origin, component, uri, codename] = line.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let plain = !codename.contains('-') && !uri.contains("security");
        (created == "Packages" && origin == "Debian" && component == "main" && plain)
            .then(|| (uri.to_owned(), codename.to_owned()))
    })
}
