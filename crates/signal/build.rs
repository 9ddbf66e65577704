// SPDX-License-Identifier: GPL-2.0-only
//! Compiles `signals/*.c` into this crate, with the flags and against the headers that governors are compiled with.

// The rules by which governors are compiled; a crate for them would be built before everything else.
#[allow(dead_code, reason = "nothing is linked here")]
#[path = "../governor/src/command.rs"]
mod command;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    match build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn build() -> Result<(), String> {
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo did not set CARGO_MANIFEST_DIR")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    let signals = here.join("../../signals");
    let shim = here.join("../../governors/shim");
    for watched in [&signals, &shim, &here.join("src/layout.c"), &here.join("../governor/src/command.rs")] {
        println!("cargo:rerun-if-changed={}", watched.display());
    }

    let mut sources = vec![here.join("src/layout.c")];
    for entry in fs::read_dir(&signals).map_err(|e| format!("{}: {e}", signals.display()))? {
        let path = entry.map_err(|e| format!("{}: {e}", signals.display()))?.path();
        if path.extension().is_some_and(|e| e == "c") {
            sources.push(path);
        }
    }
    sources.sort();

    let flags_file = shim.join("flags");
    let flags = fs::read_to_string(&flags_file).map_err(|e| format!("{}: {e}", flags_file.display()))?;
    // The flags are the shim's; those that cc adds for a crate's profile would make other code.
    let mut archive = cc::Build::new();
    archive.warnings(false).no_default_flags(true);
    for source in &sources {
        let object = out.join(source.file_name().ok_or("a source without a name")?).with_extension("o");
        compile(&archive, &flags, &shim, &signals, source, &object)?;
        archive.object(object);
    }
    archive.try_compile("idlewise_signals").map_err(|e| format!("cannot pack the signals: {e}"))
}

fn compile(
    cc: &cc::Build,
    flags: &str,
    shim: &Path,
    signals: &Path,
    source: &Path,
    to: &Path,
) -> Result<(), String> {
    let compiler = cc.try_get_compiler().map_err(|e| {
        format!("no C compiler: signals are C and are compiled with the project. Install gcc or clang, or name one in CC. ({e})")
    })?;
    let include = format!("-I{}", signals.display());
    let done = compiler.to_command().args(command::compile(flags, shim, source, &[include], to)).output();
    let done = done.map_err(|e| {
        format!(
            "cannot run the C compiler {}: {e}. Install gcc or clang, or name one in CC",
            compiler.path().display()
        )
    })?;
    let said = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Err(format!("{} does not compile ({}):\n{said}", source.display(), done.status));
    }
    for line in said.lines() {
        println!("cargo:warning={line}");
    }
    Ok(())
}
