// SPDX-License-Identifier: GPL-2.0-only
/// A step function of the clock as interactive's parameters have it: `85 1500000:90 1800000:99` is 85 below 1.5 GHz, 90
/// from there, 99 from 1.8 GHz (signal-behaviour.md C9). Between the numbers stand spaces or colons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    first: u64,
    /// From which clock, kHz, and the value; ascending.
    rest: Vec<(u32, u64)>,
}

impl Steps {
    /// The same value over the whole range.
    #[must_use]
    pub fn constant(value: u64) -> Self {
        Self { first: value, rest: Vec::new() }
    }

    /// From text; nothing if it is malformed, its clocks do not ascend or a value is not between the two.
    #[must_use]
    pub fn parse(text: &str, min: u64, max: u64) -> Option<Self> {
        let mut words = text.split([' ', ':']);
        let value = |text: &str| number(text).filter(|v| (min..=max).contains(v));
        let first = value(words.next()?)?;
        let mut rest: Vec<(u32, u64)> = Vec::new();
        while let Some(khz) = words.next() {
            let khz = u32::try_from(number(khz)?).ok()?;
            if rest.last().is_some_and(|last| khz <= last.0) {
                return None;
            }
            rest.push((khz, value(words.next()?)?));
        }
        Some(Self { first, rest })
    }

    /// The value at this clock.
    #[must_use]
    pub fn at(&self, khz: u32) -> u64 {
        let below = self.rest.partition_point(|(from, _)| *from <= khz);
        below.checked_sub(1).and_then(|i| self.rest.get(i)).map_or(self.first, |step| step.1)
    }
}

/// A whole number, digits only: no sign, no space.
pub(crate) fn number(text: &str) -> Option<u64> {
    if text.starts_with(|c: char| c.is_ascii_digit()) { text.parse().ok() } else { None }
}
