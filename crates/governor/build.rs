// SPDX-License-Identifier: GPL-2.0-only
//! Compiles every `governors/*.c` into a shared object and writes the catalogue that embeds them.
//!
//! Each is compiled twice: plain, and with `DEBUG` and debugging information, to explain what it does and remembers.
//!
//! A governor is added by adding its file: the id is the file's stem, the summary the first paragraph of its preface.

// What compiles governors when idlewise is built also compiles the user's own when it runs.
#[path = "src/command.rs"]
mod command;

use std::ffi::OsString;
use std::fmt::Write as _;
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
    let root = absolute("../../governors")?;
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo did not set OUT_DIR")?);
    println!("cargo:rerun-if-changed={}", root.display());
    println!("cargo:rerun-if-changed=src/command.rs");
    for name in ["CC", "CFLAGS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }

    let mut sources: Vec<PathBuf> = files(&root)?.into_iter().filter(|p| has_extension(p, "c")).collect();
    sources.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let shim = root.join("shim");
    let host = build_host(&shim, &out)?;
    let mut infos = String::new();
    let (mut plain, mut explaining) = (String::new(), String::new());
    for source in &sources {
        let id = source.file_stem().and_then(|s| s.to_str()).ok_or("a governor's file name is not UTF-8")?;
        for (list, ending, flags) in
            [(&mut plain, "so", &[][..]), (&mut explaining, "explaining.so", &["-DDEBUG", "-g"][..])]
        {
            let object = out.join(format!("{id}.{ending}"));
            build_one(&shim, &host, source, flags, &object)?;
            let _ = writeln!(list, "    include_bytes!({:?}),", object.display().to_string());
        }
        let preface = preface(source)?;
        let first = preface.lines().take_while(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(" ");
        let summary = first.trim_end_matches('.');
        let _ =
            writeln!(infos, "    GovernorInfo {{ id: {id:?}, summary: {summary:?}, preface: {preface:?} }},");
    }
    let catalog = format!(
        "// Written by build.rs from governors/*.c.\n\
         static INFOS: [GovernorInfo; {n}] = [\n{infos}];\n\
         static PLAIN: [&[u8]; {n}] = [\n{plain}];\n\
         static EXPLAINING: [&[u8]; {n}] = [\n{explaining}];\n",
        n = sources.len()
    );
    let path = out.join("catalog.rs");
    fs::write(&path, catalog).map_err(|e| format!("{}: {e}", path.display()))?;
    build_child(&shim, &out.join("apart.so"))?;
    let inside = files_below(&shim)?;
    let texts: Vec<PathBuf> = files(&root)?.into_iter().filter(|p| p.is_file()).collect();
    for (file, name, top, list) in
        [("shim.rs", "SHIM", &shim, inside), ("sources.rs", "SOURCES", &root, texts)]
    {
        let path = out.join(file);
        fs::write(&path, text_list(name, top, list)?).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// The shim's host side, as objects that all governors are linked with.
fn build_host(shim: &Path, out: &Path) -> Result<Vec<PathBuf>, String> {
    let flags = read(&shim.join("flags"))?;
    let one = |file: &str| {
        let (source, object) = (shim.join(file), out.join(file).with_extension("o"));
        // With headers of the system, unlike a governor.
        let mut arguments: Vec<OsString> =
            command::lines(&flags).filter(|flag| !command::for_linker(flag)).map(OsString::from).collect();
        arguments.extend(["-I".into(), shim.join("include").into()]);
        arguments.extend(["-c".into(), source.clone().into(), "-o".into(), object.clone().into()]);
        run(&source, &arguments)?;
        Ok(object)
    };
    ["host.c", "format.c"].into_iter().map(one).collect()
}

/// One governor and the shim's host side into one shared object.
fn build_one(
    shim: &Path,
    host: &[PathBuf],
    source: &Path,
    extra: &[&str],
    object: &Path,
) -> Result<(), String> {
    let flags = read(&shim.join("flags"))?;
    let compiled = object.with_extension("o");
    run(source, &command::compile(&flags, shim, source, extra, &compiled))?;
    let mut link = command::linker(&flags, shim, object);
    link.extend(host.iter().map(|file| file.into()));
    link.push(compiled.into());
    run(source, &link)
}

/// The loop of a foreign governor's process: an object of its own, so that nothing the user writes is linked with it.
fn build_child(shim: &Path, object: &Path) -> Result<(), String> {
    let source = shim.join("apart.c");
    let flags = read(&shim.join("flags"))?;
    let mut link = command::linker(&flags, shim, object);
    link.extend(["-nostdlib".into(), "-I".into(), shim.join("include").into(), source.clone().into()]);
    run(&source, &link)
}

fn run(source: &Path, arguments: &[OsString]) -> Result<(), String> {
    // The flags are the shim's, as for foreign governors; those that cc adds for a crate's profile would slow ours down.
    let mut build = cc::Build::new();
    build.cargo_metadata(false).warnings(false).no_default_flags(true);
    let compiler = build.try_get_compiler().map_err(|e| {
        format!("no C compiler: governors are C and are compiled with the project. Install gcc or clang, or name one in CC. ({e})")
    })?;
    let done = compiler.to_command().args(arguments).output().map_err(|e| {
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

/// The files in a folder and those below it.
fn files_below(top: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in files(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// A table of files with their paths below `top`, for what is compiled at run time.
fn text_list(name: &str, top: &Path, mut paths: Vec<PathBuf>) -> Result<String, String> {
    paths.sort();
    let mut list = String::new();
    for path in &paths {
        let inside = path.strip_prefix(top).map_err(|e| e.to_string())?;
        let (inside, path) = (inside.display().to_string(), path.display().to_string());
        let _ = writeln!(list, "    ({inside:?}, include_str!({path:?})),");
    }
    let head = "// Written by build.rs.\n";
    Ok(format!("{head}static {name}: [(&str, &str); {}] = [\n{list}];\n", paths.len()))
}

/// The block comment after the SPDX line, without its frame.
fn preface(source: &Path) -> Result<String, String> {
    let text = read(source)?;
    let wrong = || format!("{}: needs an SPDX line and then a preface, a comment in prose", source.display());
    let body = text.split_once('\n').and_then(|(_, rest)| rest.strip_prefix("/*\n")).ok_or_else(wrong)?;
    let (body, _) = body.split_once("\n */").ok_or_else(wrong)?;
    let lines: Vec<&str> =
        body.lines().map(|l| l.strip_prefix(" * ").or_else(|| l.strip_prefix(" *")).unwrap_or(l)).collect();
    Ok(lines.join("\n"))
}

fn absolute(relative: &str) -> Result<PathBuf, String> {
    let here = env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo did not set CARGO_MANIFEST_DIR")?;
    let path = Path::new(&here).join(relative);
    path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))
}

fn files(dir: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", dir.display());
    fs::read_dir(dir).map_err(wrong)?.map(|entry| entry.map(|e| e.path()).map_err(wrong)).collect()
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}
