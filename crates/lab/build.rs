// SPDX-License-Identifier: GPL-2.0-only
//! Embeds every `experiments/*.toml`: a new experiment is a new file and nothing else.

use std::path::PathBuf;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let dir = PathBuf::from(var("CARGO_MANIFEST_DIR")?).join("../../experiments");
    let dir = dir.canonicalize()?;
    println!("cargo::rerun-if-changed={}", dir.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "toml") {
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
    fs::write(PathBuf::from(var("OUT_DIR")?).join("shipped.rs"), code)
}

fn var(name: &str) -> io::Result<String> {
    env::var(name).map_err(|e| io::Error::other(format!("{name}: {e}; run this through cargo")))
}
