// SPDX-License-Identifier: GPL-2.0-only
//! Who named the idle governor that the kernel ran.

use idlewise_governor::RecordedName;

/// How `--kernel-governor` names a governor that idlewise does not have.
pub(crate) const OTHER: &str = "other:";

/// The name behind [`OTHER`].
pub fn other(name: &str) -> Option<&str> {
    name.strip_prefix(OTHER)
}

/// The kernel's idle governor: by an option of this invocation, or by what was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelGovernor {
    /// `--kernel-governor`.
    Given(String),
    /// `--kernel-governor other:NAME`.
    Other(String),
    /// The recording, its description or the tape; empty where they do not say.
    Recorded(RecordedName),
}

impl KernelGovernor {
    pub(crate) fn of(given: Option<&String>, recorded: impl FnOnce() -> String) -> Self {
        match given {
            None => Self::Recorded(RecordedName::new(recorded())),
            Some(given) => match other(given) {
                Some(name) => Self::Other(name.to_owned()),
                None => Self::Given(given.clone()),
            },
        }
    }

    /// The name, to be shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Given(name) | Self::Other(name) => name,
            Self::Recorded(name) => name.as_str(),
        }
    }
}
