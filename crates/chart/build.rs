// SPDX-License-Identifier: GPL-2.0-only
//! Compresses what `web/` has been built into, so that the binary holds a third of it.
#![allow(clippy::print_stdout, reason = "that is how a build script talks to cargo")]

use std::io::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

use flate2::{Compression, write::DeflateEncoder};

const FILES: [&str; 3] = ["idlewise.js", "page.html", "LICENSES.txt"];

fn main() -> io::Result<()> {
    let dist = PathBuf::from(var("CARGO_MANIFEST_DIR")?).join("../../web/dist");
    let out = PathBuf::from(var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    let mut code = String::from("&[\n");
    for name in FILES {
        let path = dist.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let packed = out.join(name);
        let mut encoder = DeflateEncoder::new(fs::File::create(&packed)?, Compression::best());
        encoder.write_all(&fs::read(&path)?)?;
        encoder.finish()?;
        code += &format!("    ({name:?}, include_bytes!({:?})),\n", packed.to_string_lossy());
    }
    code += "]\n";
    fs::write(out.join("embedded.rs"), code)
}

fn var(name: &str) -> io::Result<String> {
    env::var(name).map_err(|e| io::Error::other(format!("{name}: {e}; run this through cargo")))
}
