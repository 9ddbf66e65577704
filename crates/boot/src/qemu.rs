// SPDX-License-Identifier: GPL-2.0-only
//! A QEMU that is new enough, from the system or from Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt::Apt;
use crate::process::{answer, on_path};
use crate::{BootError, LabFolder, Watch};

const PROGRAM: &str = "qemu-system-aarch64";
/// Since this version each CPU has an instruction budget of its own; before, one CPU could starve the others
/// (boot-behaviour.md, 2).
const OLDEST: (u32, u32) = (8, 1);
/// The Debian release whose QEMU is new enough, and runs by its own loader and libraries on any other.
const SUITE: &str = "trixie";

/// A QEMU for arm64 that was found on this machine.
#[derive(Clone, Debug)]
pub struct Qemu {
    program: PathBuf,
    arguments: Vec<String>,
    /// Its version, in its own words.
    pub version: String,
}

impl Qemu {
    /// The system's QEMU, if it is 8.1 or newer; else Debian's, unpacked into `lab`.
    ///
    /// # Errors
    /// [`BootError`] when neither can be had.
    pub fn find(lab: &LabFolder, watch: &dyn Watch) -> Result<Self, BootError> {
        let system = on_path(PROGRAM).then(|| Self::with(PathBuf::from(PROGRAM), Vec::new())).flatten();
        if let Some(qemu) = system.filter(|q| version(&q.version).is_some_and(|v| v >= OLDEST)) {
            return Ok(qemu);
        }
        if !cfg!(target_arch = "x86_64") {
            return Err(missing("this command installs one on x86-64 only"));
        }
        let root = lab.whole(&format!("qemu-{SUITE}"), |to| {
            Apt::open(&lab.part(&format!("apt-{SUITE}-amd64"))?, Some(SUITE), "amd64", watch)?.unpack(
                &["qemu-system-arm"],
                true,
                to,
            )
        });
        let root =
            root.map_err(|e| if matches!(e, BootError::Interrupted) { e } else { missing(&e.to_string()) })?;
        let libraries = root.join("usr/lib/x86_64-linux-gnu");
        let text = |path: &Path| path.display().to_string();
        let arguments = vec![
            "--library-path".to_owned(),
            text(&libraries),
            text(&root.join("usr/bin").join(PROGRAM)),
            "-L".to_owned(),
            text(&root.join("usr/share/qemu")),
        ];
        let loader = libraries.join("ld-linux-x86-64.so.2");
        Self::with(loader, arguments)
            .ok_or_else(|| missing(&format!("the one in {} does not run", root.display())))
    }

    fn with(program: PathBuf, arguments: Vec<String>) -> Option<Self> {
        let mut qemu = Self { program, arguments, version: String::new() };
        let said = answer(qemu.command().arg("--version"))?;
        qemu.version = said.lines().next()?.trim_start_matches("QEMU emulator version ").to_owned();
        Some(qemu)
    }

    /// A command that starts it, to be completed.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}

fn missing(why: &str) -> BootError {
    BootError::Missing {
        program: format!("{PROGRAM} {}.{} or newer", OLDEST.0, OLDEST.1),
        advice: format!("install one (Debian 13 has it: sudo apt-get install qemu-system-arm); {why}"),
    }
}

/// Major and minor number.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split(['.', ' ', '(']).map(|n| n.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert_eq!(version("10.0.13 (Debian 1:10.0.13+ds-0+deb13u1)"), Some((10, 0)));
        assert_eq!(version("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)"), Some((7, 2)));
        assert!(version("10.0.13") >= Some(OLDEST) && version("8.0.2") < Some(OLDEST));
        assert_eq!(version("master"), None);
    }
}
