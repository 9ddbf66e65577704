// SPDX-License-Identifier: GPL-2.0-only
//! Do the modules of `kernel/modules` compile against a kernel, with the signals as they are?
//!
//! `IDLEWISE_KERNEL_BUILD` names a build folder that is prepared for modules (`make modules_prepare` or a whole kernel);
//! ARCH and CROSS_COMPILE are the environment's.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "../../governor/tests/style/mod.rs"]
mod style;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn modules_are_written_as_governors_are() {
    let modules = root().join("kernel/modules");
    style::every_file_opens_with_its_licence_and_says_what_it_is(&modules);
    style::kernel_style(&modules);
}

#[test]
fn modules_compile_against_a_kernel_without_a_warning() {
    let Some(build) = std::env::var_os("IDLEWISE_KERNEL_BUILD") else {
        eprintln!("skipped: IDLEWISE_KERNEL_BUILD names no build folder of a kernel");
        return;
    };
    // A copy, because a kernel's build leaves its files beside the sources.
    let copy = tempfile::tempdir().unwrap();
    for folder in ["signals", "kernel/modules"] {
        let to = copy.path().join(folder);
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let source = ["c", "h"].iter().any(|e| path.extension().is_some_and(|x| x == *e));
            if source || path.file_name().unwrap() == "Kbuild" {
                fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let modules = copy.path().join("kernel/modules");
    let done = Command::new("make")
        .args(["-s", "W=1", "-C"])
        .arg(&build)
        .arg(format!("M={}", modules.display()))
        .arg("modules")
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let warnings: Vec<&str> = said.lines().filter(|l| l.contains("warning:")).collect();
    assert!(warnings.is_empty(), "{said}");
    for module in ["walt_tracker.ko", "cpufreq_walt.ko", "cpufreq_lab.ko"] {
        assert!(modules.join(module).is_file(), "no {module}");
    }
}
