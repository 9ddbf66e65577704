// SPDX-License-Identifier: GPL-2.0-only
//! The ways in which a governor's file can be compiled.

use std::ffi::OsString;
use std::path::Path;

/// The distance of the sanitizer's shadow memory: below every program, and above what a null pointer leads to.
const SHADOW: &str = "0x7fff8000";

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
            flags.push(format!("-fasan-shadow-offset={SHADOW}").into());
        }
        flags
    }

    /// What is linked besides.
    pub(crate) fn link_flags(self, shim: &Path) -> Vec<OsString> {
        match self {
            Self::Sanitized => {
                vec![format!("-DIDLEWISE_SHADOW={SHADOW}UL").into(), shim.join("sanitizer.c").into()]
            }
            Self::Counted => vec![shim.join("counter.c").into()],
            Self::Plain | Self::Explaining | Self::Zeroed | Self::Patterned => Vec::new(),
        }
    }
}
