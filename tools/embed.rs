// SPDX-License-Identifier: GPL-2.0-only
//! Embeds every file of the folder that is a package's own, so that a new machine, workload or experiment is a new file and
//! nothing else. The build script of three packages.
#![allow(clippy::print_stdout, reason = "that is how a build script talks to cargo")]

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folders: &[(&str, &str, &str)] = match var("CARGO_PKG_NAME")?.as_str() {
        "idlewise-platform" => &[("platforms", "toml", "shipped.rs")],
        "idlewise-workload" => &[("workloads", "json", "shipped.rs")],
        "idlewise-reproduce" => {
            &[("experiments", "toml", "shipped.rs"), ("experiments/samples", "toml", "samples.rs")]
        }
        other => {
            return Err(io::Error::other(format!("{other}: which folder is its own is not written here")));
        }
    };
    folders.iter().try_for_each(|(folder, extension, to)| embed(folder, extension, to))
}

fn embed(folder: &str, extension: &str, to: &str) -> io::Result<()> {
    let dir = PathBuf::from(var("CARGO_MANIFEST_DIR")?).join("../..").join(folder).canonicalize()?;
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == extension) {
            println!("cargo::rerun-if-changed={}", path.display());
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.push((id, path));
        }
    }
    files.sort();
    let mut code = String::from("&[\n");
    for (id, path) in files {
        code += &format!("    ({id:?}, include_str!({:?})),\n", path.to_string_lossy());
    }
    code += "]\n";
    fs::write(PathBuf::from(var("OUT_DIR")?).join(to), code)
}

fn var(name: &str) -> io::Result<String> {
    env::var(name).map_err(|e| io::Error::other(format!("{name}: {e}; run this through cargo")))
}
