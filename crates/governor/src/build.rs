// SPDX-License-Identifier: GPL-2.0-only
//! The ways in which a governor's file can be compiled.

use std::ffi::OsString;

use crate::region::Part;

/// The distance of the sanitizer's shadow memory: below every program, and above what a null pointer leads to.
const SHADOW: usize = 0x7fff_8000;

/// The pages with the shadow of `part`: a byte for eight.
pub(crate) fn shadow(part: Part) -> Part {
    const PAGE: usize = 1 << 16;
    let (from, to) = (SHADOW + part.at / 8, SHADOW + (part.at + part.len).div_ceil(8));
    let at = from / PAGE * PAGE;
    Part { at, len: to.div_ceil(PAGE) * PAGE - at }
}

/// How the copy of a governor is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// As in a kernel.
    Plain,
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
            Self::Plain => &[],
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
        let mut flags: Vec<OsString> = flags.iter().map(OsString::from).collect();
        if self == Self::Sanitized {
            flags.push(format!("-fasan-shadow-offset={SHADOW:#x}").into());
        }
        flags
    }

    /// The shim's files that are linked with it, with flags of theirs: those of every governor in a process of its own, and its own.
    pub(crate) fn shim_files(self) -> (Vec<OsString>, Vec<&'static str>) {
        let (mut flags, mut files) = (Vec::new(), vec!["host.c", "format.c", "string.c"]);
        match self {
            Self::Sanitized => {
                flags.push(format!("-DIDLEWISE_SHADOW={SHADOW:#x}UL").into());
                files.push("sanitizer.c");
            }
            Self::Counted => files.push("counter.c"),
            Self::Plain | Self::Explaining | Self::Zeroed | Self::Patterned => {}
        }
        (flags, files)
    }
}
