// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::did_you_mean;
use thiserror::Error;

/// Why there is no policy to ask.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FreqError {
    /// The text is no [`crate::Config`].
    #[error("frequency governor `{text}`: {why}; write `id` or `id:param=value,param=value`")]
    BadSpec {
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// No frequency governor has this id.
    #[error("no frequency governor `{id}`{}", did_you_mean(.nearest.as_slice(), &format!("there are: {}", .known.join(", "))))]
    Unknown {
        /// The id asked for.
        id: String,
        /// The id most like it, if any is.
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The governor has no such parameter.
    #[error("frequency governor `{id}` has no parameter `{name}`{}", that_exist(.nearest.as_deref(), .known))]
    UnknownParam {
        id: String,
        /// The parameter asked for.
        name: String,
        /// The parameter most like it, if any is.
        nearest: Option<String>,
        known: Vec<String>,
    },
    /// The value is none that the parameter takes.
    #[error("frequency governor `{id}`: `{name}={value}`: must be {range}")]
    BadValue {
        id: String,
        name: String,
        /// The value asked for.
        value: String,
        /// What values there are.
        range: String,
    },
    /// Two parameters that are each fine contradict one another.
    #[error("frequency governor `{id}`: {why}")]
    Contradiction {
        id: String,
        /// What does not go together.
        why: String,
    },
    /// A parameter without default is missing.
    #[error("frequency governor `{id}` needs `{name}`: write `{id}:{name}=...`")]
    MissingParam { id: String, name: String },
    /// The table of operating points makes no sense.
    #[error("operating points: {0}")]
    Table(String),
    /// No CPU, or one twice.
    #[error("a frequency policy needs CPUs, each once, and has {0:?}")]
    Cpus(Vec<u32>),
    /// The first clock is no operating point.
    #[error("the clock at the start, {khz} kHz, is no operating point; there are: {}", known.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))]
    Start { khz: u32, known: Vec<u32> },
    /// The tick's period is 0.
    #[error("a tick of 0 ns; give the kernel's, 4000000 for HZ=250")]
    Tick,
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
