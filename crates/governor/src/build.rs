// SPDX-License-Identifier: GPL-2.0-only
//! The ways in which a governor's file can be compiled.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{command, shim};

/// The distance of the sanitizer's shadow memory: below every program, and above what a null pointer leads to.
const SHADOW: &str = "0x7fff8000";

/// How a program is linked: at fixed addresses, so that nothing has to be done before it begins.
const PROGRAM: [&str; 8] = [
    NO_GUARD,
    "-nostdlib",
    "-static",
    "-no-pie",
    "-Wl,-z,norelro",
    "-Wl,-z,noseparate-code",
    "-Wl,-z,noexecstack",
    "-Wl,--build-id=none",
];
/// The C library keeps the values that guard a stack, and there is none.
const NO_GUARD: &str = "-fno-stack-protector";

/// How the copy of a governor is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As in a kernel.
    Plain,
    /// The same, to be loaded into this process, where nothing keeps it apart: for benchmarks of code that is known.
    Library,
    /// With the words and names that explain a decision.
    Explaining,
    /// Local variables hold zeros until the governor gives them a value.
    Zeroed,
    /// Local variables hold a pattern of bytes until the governor gives them a value.
    Patterned,
    /// With the undefined-behaviour and the address sanitizer in the form that kernels have. Signed sums do not wrap.
    /// What they find is in [`crate::Instance::take_faults`].
    Sanitized,
    /// The basic blocks that it executes are counted, in the parameter [`Build::BLOCKS`].
    Counted,
}

impl Build {
    /// The parameter of a counted copy in which its number of executed basic blocks is.
    pub const BLOCKS: &str = "idlewise_blocks";

    /// Flags of the compiler besides those of every governor.
    pub(crate) fn compile_flags(self) -> Vec<OsString> {
        let flags: &[&str] = match self {
            Self::Plain | Self::Library => &[],
            Self::Counted => &["-fsanitize-coverage=trace-pc"],
            Self::Explaining => &["-DDEBUG"],
            // An optimiser may choose a value for a variable that has none before it is given one.
            Self::Zeroed => &["-O0", "-ftrivial-auto-var-init=zero"],
            Self::Patterned => &["-O0", "-ftrivial-auto-var-init=pattern"],
            Self::Sanitized => &[
                "-include",
                "idlewise/sanitizer.h",
                "-O1",
                "-fno-wrapv",
                "-fsanitize=undefined",
                "-fno-sanitize=return,returns-nonnull-attribute",
                "-fsanitize=kernel-address",
                "--param=asan-instrumentation-with-call-threshold=0",
                "--param=asan-globals=1",
                "--param=asan-stack=1",
            ],
        };
        let mut flags: Vec<OsString> = flags.iter().chain(&[NO_GUARD]).map(OsString::from).collect();
        if self == Self::Sanitized {
            flags.push(format!("-fasan-shadow-offset={SHADOW}").into());
        }
        flags
    }

    /// Links what was compiled to a program of its own, without a C library: a name that the shim does not have is an error.
    pub(crate) fn link(self, shim: &Path, compiled: &[PathBuf], to: &Path) -> Vec<OsString> {
        let mut more: Vec<OsString> = ["worker.c", "string.c"].map(|name| shim.join(name).into()).into();
        match self {
            Self::Library => return command::link(shim::flags(), shim, compiled, to),
            Self::Sanitized => {
                more.extend([
                    format!("-DIDLEWISE_SHADOW={SHADOW}UL").into(),
                    shim.join("sanitizer.c").into(),
                ]);
            }
            Self::Counted => more.push(shim.join("counter.c").into()),
            Self::Plain | Self::Explaining | Self::Zeroed | Self::Patterned => {}
        }
        // Divisions of 128 bits and the like, which compilers do not write out.
        more.push("-lgcc".into());
        let kind = command::for_compiler(shim::flags()).chain(PROGRAM.map(OsString::from));
        command::link_as(kind, shim, compiled, &more, to)
    }
}
