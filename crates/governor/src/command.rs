// SPDX-License-Identifier: GPL-2.0-only
//! How a governor becomes a shared object: the arguments of the calls of the compiler. `build.rs` makes ours with
//! them, `workshop.rs` the user's.

use std::ffi::{OsStr, OsString};
use std::path::Path;

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
    compile_until("-c", flags, shim, source, extra, to)
}

/// Arguments as of [`compile`], but for a call that ends with the step of the option `end`, such as `-E` or `-S`.
pub(crate) fn compile_until(
    end: &str,
    flags: &str,
    shim: &Path,
    source: &Path,
    extra: &[impl AsRef<OsStr>],
    to: &Path,
) -> Vec<OsString> {
    let mut args: Vec<OsString> = lines(flags).filter(|flag| !for_linker(flag)).map(OsString::from).collect();
    args.push("-nostdinc".into());
    args.extend(extra.iter().map(|flag| flag.as_ref().to_owned()));
    args.extend(["-I".into(), shim.join("include").into()]);
    args.extend([end.into(), source.into(), "-o".into(), to.into()]);
    args
}

/// What every call of the linker begins with.
pub(crate) fn linker(flags: &str, shim: &Path, to: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> = lines(flags).map(OsString::from).collect();
    let mut exports = OsString::from("-Wl,--version-script=");
    exports.push(shim.join("exports.map"));
    args.extend([exports, "-o".into(), to.into()]);
    args
}

/// One flag a line, and comments.
pub(crate) fn lines(flags: &str) -> impl Iterator<Item = &str> {
    flags.lines().filter(|line| !line.starts_with('#'))
}

/// Whether a compiler that does not link has no use for it.
pub(crate) fn for_linker(flag: &str) -> bool {
    flag.starts_with("-Wl,") || matches!(flag, "-shared" | "-nostartfiles")
}
