// SPDX-License-Identifier: GPL-2.0-only
//! What is taken from a governor, as a part of its name: `menu:disable=1`, `teo:latency_limit_us=20`. The same words as an arm
//! of `idlewise ab`.

use idlewise_governor::Spec;
use idlewise_idle::Limits;
use idlewise_platform::Cluster;

use crate::error::CommandError;

/// The words, and what each takes away.
const WORDS: [&str; 2] = ["disable", "latency_limit_us"];

/// `text` without the limits in it, and they.
pub fn split(text: &str) -> Result<(String, Limits), CommandError> {
    let (id, list) = Spec::split(text);
    let is_limit = |item: &&str| item.split_once('=').is_some_and(|(word, _)| WORDS.contains(&word.trim()));
    let (own, others): (Vec<&str>, Vec<&str>) =
        list.into_iter().flat_map(|l| l.split(',')).partition(is_limit);
    let mut limits = Limits::NONE;
    for item in &own {
        let (word, value) = item.split_once('=').unwrap_or((item, ""));
        let (word, value) = (word.trim(), value.trim());
        let wrong =
            |what: &str| CommandError::argument("--governor", text, format!("`{item}`: expected {what}"));
        if word == "disable" {
            let state = value.parse().ok().and_then(|state: u32| 1_u16.checked_shl(state));
            limits.disabled |= state.ok_or_else(|| wrong("the number of an idle state, 0 to 15"))?;
        } else {
            let us: u32 = value.parse().map_err(|_| wrong("us, a whole number up to 4294967295"))?;
            limits.latency_ns = limits.latency_ns.min(i64::from(us) * 1000);
        }
    }
    let rest = match (list, others.is_empty()) {
        (None, _) => id.to_owned(),
        (Some(_), true) if !own.is_empty() => id.to_owned(),
        _ => format!("{id}:{}", others.join(",")),
    };
    Ok((rest, limits))
}

/// `name` of a governor with its limits; what [`split`] takes apart.
pub fn join(name: &str, limits: Limits) -> String {
    let states = (0..16).filter(|i| limits.disabled >> i & 1 == 1).map(|i| format!("disable={i}"));
    let latency = (limits != Limits { disabled: limits.disabled, ..Limits::NONE })
        .then(|| format!("latency_limit_us={}", limits.latency_ns / 1000));
    let (_, own) = Spec::split(name);
    let mut out = name.to_owned();
    for (i, item) in states.chain(latency).enumerate() {
        out.push(if i == 0 && own.is_none() { ':' } else { ',' });
        out.push_str(&item);
    }
    out
}

/// Whether the machine has the states that are switched off, and others.
pub fn check<'c>(
    name: &str,
    limits: Limits,
    clusters: impl IntoIterator<Item = &'c Cluster>,
) -> Result<(), CommandError> {
    let mut most = 0;
    for cluster in clusters {
        let states = cluster.table.len();
        most = most.max(states);
        let off = limits.disabled | cluster.table.disabled_by_default();
        if limits.disabled != 0 && (0..states).all(|i| off >> i & 1 == 1) {
            let why = format!(
                "that leaves {} no idle state; leave at least one of its {states} switched on",
                cluster.name
            );
            return Err(CommandError::argument("--governor", name, why));
        }
    }
    match 16 - limits.disabled.leading_zeros() as usize {
        highest if highest > most => {
            let (highest, most) = (highest - 1, most.saturating_sub(1));
            let why = format!("no CPU that is run has an idle state {highest}; they have states 0 to {most}");
            Err(CommandError::argument("--governor", name, why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_told_from_a_governors_parameters() {
        let (rest, limits) =
            split("teo-util:disable=1,util_threshold_shift=5,disable=3,latency_limit_us=20").unwrap();
        assert_eq!(rest, "teo-util:util_threshold_shift=5");
        assert_eq!(limits, Limits { disabled: 0b1010, latency_ns: 20_000 });
        assert_eq!(
            join(&rest, limits),
            "teo-util:util_threshold_shift=5,disable=1,disable=3,latency_limit_us=20"
        );
        assert_eq!(join("menu", Limits { disabled: 1, ..Limits::NONE }), "menu:disable=0");
        assert_eq!(split("menu:disable=0").unwrap().0, "menu");
        assert_eq!(split("linux:6.12/teo").unwrap(), ("linux:6.12/teo".to_owned(), Limits::NONE));
        assert_eq!(split("teo:").unwrap().0, "teo:", "what is wrong with it, its own reader says");
    }

    #[test]
    fn a_limit_that_is_no_number_is_refused() {
        for (text, word) in [
            ("menu:disable=C1", "state"),
            ("menu:disable=16", "0 to 15"),
            ("menu:latency_limit_us=2ms", "us"),
        ] {
            let said = split(text).unwrap_err().to_string();
            assert!(said.contains(word), "{said}");
        }
    }
}
