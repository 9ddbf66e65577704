// SPDX-License-Identifier: GPL-2.0-only
//! Lists of CPUs as the kernel and its tools write them: `0-3,8`.

use std::ops::RangeInclusive;

use crate::HIGHEST_CPU;

/// Why a text is no list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuListError {
    /// A part is neither a CPU nor a range of CPUs, or beyond [`HIGHEST_CPU`].
    #[error("`{0}` is not a list of CPUs such as \"0-3\" or \"0,2,4-7\"")]
    NoList(String),
    /// The part `8-4`.
    #[error("`{0}` runs backwards")]
    Backwards(String),
    /// More CPUs than there can be.
    #[error("`{0}` names a CPU twice")]
    TooMany(String),
}

/// The ranges of a list, in its order; a single CPU is a range of one. Spaces around numbers mean nothing.
pub fn cpu_ranges(list: &str) -> impl Iterator<Item = Result<RangeInclusive<u32>, CpuListError>> {
    list.split(',').map(move |part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|cpu| *cpu <= HIGHEST_CPU);
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first > last => Err(CpuListError::Backwards(part.trim().to_owned())),
            (Some(first), Some(last)) => Ok(first..=last),
            _ => Err(CpuListError::NoList(list.to_owned())),
        }
    })
}

/// The CPUs of a list, in its order. It may name one twice.
///
/// # Errors
/// When it is no list, or an empty one.
pub fn parse_cpu_list(list: &str) -> Result<Vec<u32>, CpuListError> {
    let mut cpus = Vec::new();
    for range in cpu_ranges(list) {
        cpus.extend(range?);
        if cpus.len() > HIGHEST_CPU as usize + 1 {
            return Err(CpuListError::TooMany(list.to_owned()));
        }
    }
    Ok(cpus)
}

/// `cpus` as a list, in their order; nothing for none.
#[must_use]
pub fn cpu_list(cpus: &[u32]) -> String {
    let mut text = String::new();
    let mut rest = cpus;
    while let [first, tail @ ..] = rest {
        let next = |before: &u32, cpu: &u32| before.checked_add(1) == Some(*cpu);
        let run = rest.windows(2).take_while(|pair| matches!(pair, [a, b] if next(a, b))).count();
        if !text.is_empty() {
            text.push(',');
        }
        text += &first.to_string();
        if let Some(last) = run.checked_sub(1).and_then(|i| tail.get(i)) {
            text += &format!("-{last}");
        }
        rest = tail.get(run..).unwrap_or_default();
    }
    text
}
