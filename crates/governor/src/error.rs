// SPDX-License-Identifier: GPL-2.0-only
use thiserror::Error;

/// Why there is no governor to ask.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GovernorError {
    /// The text is no [`crate::Spec`].
    #[error("governor `{text}`: {why}; write `id` or `id:param=value,param=value`")]
    BadSpec {
        /// The text.
        text: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// No governor has this id.
    #[error("no governor `{id}`{}; there are: {}", did_you_mean(.nearest.as_deref()), .known.join(", "))]
    Unknown {
        /// The id asked for.
        id: String,
        /// The id most like it, if any is.
        nearest: Option<String>,
        /// All ids.
        known: Vec<String>,
    },
    /// The governor has no such parameter.
    #[error("governor `{id}` has no parameter `{name}`{}{}", did_you_mean(.nearest.as_deref()), that_exist(.known))]
    UnknownParam {
        /// The governor.
        id: String,
        /// The parameter asked for.
        name: String,
        /// The parameter most like it, if any is.
        nearest: Option<String>,
        /// All its parameters.
        known: Vec<String>,
    },
    /// The value does not fit the parameter's type.
    #[error("governor `{id}`: `{name}={value}`: not a `{type_name}`, which is {range}")]
    BadValue {
        /// The governor.
        id: String,
        /// The parameter.
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
        /// The governor.
        id: String,
        /// The parameter.
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
        /// The governor.
        id: String,
        /// What failed.
        what: &'static str,
        /// What the system said.
        why: String,
    },
    /// The shared object was built for another version of this program.
    #[error("governor `{id}`: {why}; build it again with this version")]
    Abi {
        /// The governor.
        id: String,
        /// What does not match.
        why: String,
    },
    /// An initcall failed, or none registered a governor.
    #[error("governor `{id}`: {why}")]
    Init {
        /// The governor.
        id: String,
        /// What happened.
        why: String,
    },
    /// The governor refused a CPU.
    #[error("governor `{id}`: enable failed for CPU {cpu} with error {code}")]
    Enable {
        /// The governor.
        id: String,
        /// The CPU's number.
        cpu: u32,
        /// What enable returned.
        code: i32,
    },
    /// A CPU was added twice.
    #[error("governor `{id}`: CPU {cpu} was added before")]
    SameCpu {
        /// The governor.
        id: String,
        /// The CPU's number.
        cpu: u32,
    },
    /// There is no room for another CPU.
    #[error("governor `{id}`: more than {limit} CPUs", limit = crate::MAX_CPUS)]
    TooManyCpus {
        /// The governor.
        id: String,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |n| format!(" (did you mean `{n}`?)"))
}

fn that_exist(known: &[String]) -> String {
    if known.is_empty() { "; it has none".to_owned() } else { format!("; it has: {}", known.join(", ")) }
}

/// The word of `known` that takes the fewest edits to become `word`, if that is no more than half of its letters.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let closest = known.map(|k| (strsim::levenshtein(word, k), k)).min()?;
    let limit = word.chars().count().div_ceil(2);
    (closest.0 <= limit).then(|| closest.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_must_be_near() {
        let known = ["menu", "teo-6.1", "teo-util"];
        assert_eq!(nearest("tea-util", known.into_iter()), Some("teo-util".to_owned()));
        assert_eq!(nearest("xyz", known.into_iter()), None);
    }
}
