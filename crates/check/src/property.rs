// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::str::FromStr;

use idlewise_model::near;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What every governor must keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Property {
    Crash,
    Index,
    Disabled,
    Latency,
    Polling,
    Shallow,
    Arithmetic,
    Memory,
    OtherCpu,
    Uninitialised,
    Repeatable,
    Independent,
    Cost,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 13] = [
        Self::Crash,
        Self::Index,
        Self::Disabled,
        Self::Latency,
        Self::Polling,
        Self::Shallow,
        Self::Arithmetic,
        Self::Memory,
        Self::OtherCpu,
        Self::Uninitialised,
        Self::Repeatable,
        Self::Independent,
        Self::Cost,
    ];

    /// The word of `--property`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Index => "index",
            Self::Disabled => "disabled",
            Self::Latency => "latency",
            Self::Polling => "polling",
            Self::Shallow => "shallow",
            Self::Arithmetic => "arithmetic",
            Self::Memory => "memory",
            Self::OtherCpu => "other-cpu",
            Self::Uninitialised => "uninitialised",
            Self::Repeatable => "repeatable",
            Self::Independent => "independent",
            Self::Cost => "cost",
        }
    }

    /// What a governor that has it does.
    #[must_use]
    pub fn requirement(self) -> &'static str {
        match self {
            Self::Crash => "it returns from every call",
            Self::Index => "the chosen state exists",
            Self::Disabled => "no disabled state is chosen while another is enabled",
            Self::Latency => "the latency limit is kept if an enabled state keeps it",
            Self::Polling => "the tick is not stopped for a polling state",
            Self::Shallow => "no shallow state while the tick is stopped and the next timer is far",
            Self::Arithmetic => "no arithmetic overflows or is undefined",
            Self::Memory => "no access out of bounds",
            Self::OtherCpu => "no access to memory of another CPU",
            Self::Uninitialised => "no choice depends on uninitialised memory",
            Self::Repeatable => "the same inputs lead to the same choices",
            Self::Independent => "the choices of a CPU do not depend on other CPUs",
            Self::Cost => "no decision executes above ten times teo's most basic blocks",
        }
    }

    /// Whether a single choice shows it, so that a test in a kernel can.
    pub(crate) fn is_of_choice(self) -> bool {
        matches!(self, Self::Index | Self::Disabled | Self::Latency | Self::Polling | Self::Shallow)
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Property {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name);
        Self::ALL.into_iter().find(|p| p.name() == text).ok_or_else(|| {
            let meant = match near(text, names).first() {
                Some(name) => format!("did you mean `{name}`? "),
                None => String::new(),
            };
            format!("no property `{text}`; {meant}there are: {}", names.join(", "))
        })
    }
}
