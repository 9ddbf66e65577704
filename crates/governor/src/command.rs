// SPDX-License-Identifier: GPL-2.0-only
//! How a governor becomes a shared object: the arguments of the two calls of the compiler. `build.rs` makes ours with
//! them, `workshop.rs` the user's.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Compiles `source` against the headers of `shim` and no others; what the shim lacks is then told by its name.
///
/// `flags` is the text of the shim's file of that name; folders in `extra` are searched before the shim's.
pub(crate) fn compile(
    flags: &str,
    shim: &Path,
    source: &Path,
    extra: &[impl AsRef<OsStr>],
    to: &Path,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = for_compiler(flags).collect();
    args.push("-nostdinc".into());
    args.extend(extra.iter().map(|flag| flag.as_ref().to_owned()));
    args.extend(["-I".into(), shim.join("include").into()]);
    args.extend(["-c".into(), source.into(), "-o".into(), to.into()]);
    args
}

/// Links what [`compile`] made with the shim's host side to a shared object.
pub(crate) fn link(flags: &str, shim: &Path, compiled: &[PathBuf], to: &Path) -> Vec<OsString> {
    let mut exports = OsString::from("-Wl,--version-script=");
    exports.push(shim.join("exports.map"));
    link_as(lines(flags).map(OsString::from).chain([exports]), shim, compiled, &[""; 0], to)
}

/// The same, with the flags `kind` and with `more` files and flags.
pub(crate) fn link_as(
    kind: impl Iterator<Item = OsString>,
    shim: &Path,
    compiled: &[PathBuf],
    more: &[impl AsRef<OsStr>],
    to: &Path,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = kind.collect();
    args.extend(["-I".into(), shim.join("include").into()]);
    args.extend([shim.join("host.c").into(), shim.join("format.c").into()]);
    args.extend(compiled.iter().map(OsString::from));
    args.extend(more.iter().map(|flag| flag.as_ref().to_owned()));
    args.extend(["-o".into(), to.into()]);
    args
}

/// One flag a line, and comments.
fn lines(flags: &str) -> impl Iterator<Item = &str> {
    flags.lines().filter(|line| !line.starts_with('#'))
}

/// The flags that are not for a linker of shared objects.
pub(crate) fn for_compiler(flags: &str) -> impl Iterator<Item = OsString> {
    lines(flags).filter(|flag| !for_linker(flag)).map(OsString::from)
}

fn for_linker(flag: &str) -> bool {
    flag.starts_with("-Wl,") || matches!(flag, "-shared" | "-nostartfiles")
}
