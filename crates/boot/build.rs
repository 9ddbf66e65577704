// SPDX-License-Identifier: GPL-2.0-only
//! Packs the files that go into kernels and guests, so that the command carries them: a table of name and content for the
//! governors and for each folder of `kernel/`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() -> Result<(), String> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?).join("../..");
    let root = root.canonicalize().map_err(|e| format!("{}: {e}", root.display()))?;
    let mut out = String::new();
    for (name, folder, endings) in [
        ("GOVERNORS", "governors", &[".c", ".h"][..]),
        ("OVERLAY", "kernel/overlay/idlewise", &[""]),
        ("MODULES", "kernel/modules", &[".c", ".h", "Kbuild", "Kconfig"]),
        ("SIGNALS", "signals", &[".c", ".h"]),
        ("GUEST", "kernel/guest", &[""]),
        ("CONFIGS", "kernel/configs", &[""]),
    ] {
        let folder = root.join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        let mut found = Vec::new();
        collect(&folder, &folder, &mut found)?;
        found.retain(|(name, _)| endings.iter().any(|e| name.ends_with(e)) && !name.starts_with("shim/"));
        found.sort();
        let _ = writeln!(out, "pub(crate) static {name}: [(&str, &str); {}] = [", found.len());
        for (name, path) in &found {
            let _ = writeln!(out, "    ({name:?}, include_str!({:?})),", path.display().to_string());
        }
        out.push_str("];\n");
    }
    let to = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?).join("files.rs");
    fs::write(&to, out).map_err(|e| format!("{}: {e}", to.display()))
}

fn collect(top: &Path, folder: &Path, found: &mut Vec<(String, PathBuf)>) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            collect(top, &path, found)?;
        } else {
            let name = path.strip_prefix(top).map_err(|e| e.to_string())?.display().to_string();
            found.push((name, path));
        }
    }
    Ok(())
}
