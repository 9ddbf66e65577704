// SPDX-License-Identifier: GPL-2.0-only
use std::convert::Infallible;

use idlewise_model::{PiecesError, did_you_mean};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::diagnostics::Problem;
use crate::position::Place;

/// Problems of a file that are reported; the rest are mostly their consequences.
const TOLD: usize = 8;

/// Why there is no governor to ask.
#[derive(Clone, Debug, Error, PartialEq, Eq, Serialize, Deserialize)]
pub enum GovernorError {
    /// The text is no [`crate::Spec`].
    #[error("governor `{text}`: {why}; write `id` or `id:param=value,param=value`")]
    BadSpec {
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// No governor has this id.
    #[error("no governor `{id}`{}", did_you_mean(.nearest.as_slice(), &format!("`idlewise governors` lists them; a C file of your own is named by its path, as ./{id}.c")))]
    Unknown {
        /// The id asked for.
        id: String,
        /// The id most like it, if any is.
        nearest: Option<String>,
    },
    /// A path that no option of this invocation gave.
    #[error(
        "governor `{path}` is a C file that data names; it is compiled and run only if an option of this command names it"
    )]
    NotNamedByUser {
        /// The path, as it is written there.
        path: String,
    },
    /// The governor has no such parameter.
    #[error("governor `{id}` has no parameter `{name}`{}", that_exist(.nearest.as_deref(), .known))]
    UnknownParam {
        id: String,
        /// The parameter asked for.
        name: String,
        /// The parameter most like it, if any is.
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The value does not fit the parameter's type.
    #[error("governor `{id}`: `{name}={value}`: not a `{type_name}`, which is {range}")]
    BadValue {
        id: String,
        name: String,
        /// The value asked for.
        value: String,
        /// The type as given to `module_param`.
        type_name: String,
        /// What values the type has.
        range: String,
    },
    /// The parameter's type is none that the host knows.
    #[error("governor `{id}`: parameter `{name}` has type `{type_name}`, which the host does not know")]
    UnknownType {
        id: String,
        name: String,
        /// The type as given to `module_param`.
        type_name: String,
    },
    /// The period of the tick makes no sense.
    #[error("tick period of {0} ns: it must be between 1 ns and an hour")]
    TickPeriod(u64),
    /// The shared object could not be loaded.
    #[error("governor `{id}`: cannot {what}: {why}")]
    Load {
        id: String,
        what: String,
        /// What the system said.
        why: String,
    },
    /// The shared object was built for another version of this program.
    #[error("governor `{id}`: {why}; build it again with this version")]
    Abi {
        id: String,
        /// What does not match.
        why: String,
    },
    /// An initcall failed, or none registered a governor.
    #[error("governor `{id}`: {why}")]
    Init { id: String, why: String },
    /// The governor refused a CPU.
    #[error("governor `{id}`: enable failed for CPU {cpu} with error {code}")]
    Enable { id: String, cpu: u32, code: i32 },
    /// The CPU was left in a state that its table does not have.
    #[error("governor `{id}`: CPU {cpu} was last in state {state}; it has states 0 to {last}")]
    NoSuchState {
        id: String,
        cpu: u32,
        state: i32,
        /// The deepest state that there is.
        last: usize,
    },
    /// A CPU was added twice.
    #[error("governor `{id}`: CPU {cpu} was added before")]
    SameCpu { id: String, cpu: u32 },
    /// A governor's file cannot be used.
    #[error("governor `{path}`: {why}")]
    Source {
        /// The file as given.
        path: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// There is no compiler, or it cannot be run.
    #[error(
        "governor `{path}` is C and must be compiled, but {why}; install gcc or clang, or name one in CC"
    )]
    NoCompiler {
        /// The file as given.
        path: String,
        /// What was looked for.
        why: String,
    },
    /// A governor does not compile.
    #[error("governor `{path}` does not compile against the headers of idlewise{kernel}:{}", told(.problems))]
    Compile {
        /// The file as given.
        path: String,
        /// " (as of Linux 6.12.117)", or nothing where no kernel tree is around the file.
        kernel: String,
        problems: Vec<Problem>,
    },
    /// A kernel tree, or what is asked of it, is not there.
    #[error("{why}")]
    KernelTree {
        /// What is wrong, and what there is.
        why: String,
    },
    /// A foreign governor crashed.
    #[error("governor `{id}` crashed {at} ({signal})")]
    Crashed {
        id: String,
        /// The signal, and what it means.
        signal: String,
        at: Place,
    },
    /// A foreign governor does not return.
    #[error("governor `{id}` {why}: {at}")]
    Stuck { id: String, why: String, at: Place },
    /// A governor that the calling program has did not do what it must.
    #[error("governor `{id}` {at}: it {why}")]
    Misbehaved {
        id: String,
        at: String,
        /// What it did, and what was expected.
        why: String,
    },
    /// A governor that the calling program has is asked for what only one in C has, or by a name that is taken.
    #[error("governor `{id}` is the calling program's: {why}")]
    OfCaller {
        id: String,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A foreign governor's process could not be made or gave no answer.
    #[error("governor `{id}`: {why}")]
    Lost { id: String, why: String },
    /// The idle periods that it is asked for cannot be read.
    #[error(transparent)]
    IdlePeriods(#[from] PiecesError),
    /// There is no room for another CPU.
    #[error("governor `{id}`: more than {limit} CPUs", limit = crate::MAX_CPUS)]
    TooManyCpus { id: String },
}

impl From<Infallible> for GovernorError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl GovernorError {
    /// Whether a governor did something wrong when it ran, unlike a mistake in what was asked for.
    #[must_use]
    pub fn is_misbehaviour(&self) -> bool {
        matches!(
            self,
            Self::Abi { .. }
                | Self::Init { .. }
                | Self::Enable { .. }
                | Self::Misbehaved { .. }
                | Self::Crashed { .. }
                | Self::Stuck { .. }
                | Self::Lost { .. }
        )
    }
}

fn told(problems: &[Problem]) -> String {
    let mut text: String = problems.iter().take(TOLD).map(|p| format!("\n  {p}")).collect();
    if problems.len() > TOLD {
        text.push_str(&format!("\n  and {} more", problems.len() - TOLD));
    }
    if problems.iter().any(|p| p.lacking) {
        text.push_str(
            "\nPut missing declarations into files next to the governor (linux/foo.h there is found as \
             <linux/foo.h>), or add them to governors/shim/include",
        );
    }
    text
}

/// The parameter that was probably meant, and all that there are, which are few.
fn that_exist(nearest: Option<&str>, known: &[String]) -> String {
    let meant = nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
    if known.is_empty() {
        "; it has none".to_owned()
    } else {
        format!("{meant}; it has: {}", known.join(", "))
    }
}
