// SPDX-License-Identifier: GPL-2.0-only
//! The values of a parameter, as `--governor` takes them: `3..9`, `5000..50000/5000`, `1|2|8`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A parameter with the values that it takes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Axis {
    pub parameter: String,
    /// In the order in which they were given.
    pub parts: Vec<AxisPart>,
}

/// A value, or a range of whole numbers with both of its ends.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AxisPart {
    Value(String),
    Range { from: i64, to: i64, step: u64 },
}

impl Axis {
    /// Of a parameter and its values, as in `NAME=VALUES`.
    ///
    /// # Errors
    /// A sentence with the word at fault.
    pub(crate) fn parse(parameter: &str, values: &str) -> Result<Self, String> {
        let parts = values.split('|').map(|word| AxisPart::parse(word.trim()));
        let parts =
            parts.collect::<Result<Vec<_>, _>>().map_err(|why| format!("{parameter}={values}: {why}"))?;
        let axis = Self { parameter: parameter.to_owned(), parts };
        match axis.len() {
            Some(_) => Ok(axis),
            None => Err(format!("{parameter}={values}: more values than can be counted")),
        }
    }

    /// How many values there are; nothing where they cannot be counted.
    pub(crate) fn len(&self) -> Option<u64> {
        self.parts.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.len()?))
    }

    /// How many values there are.
    pub(crate) fn counted(&self) -> u64 {
        self.len()
            .unwrap_or_else(|| unreachable!("the values of {} are counted when it is read", self.parameter))
    }

    /// Value number `n`, from 0.
    pub(crate) fn value(&self, n: u64) -> String {
        let mut rest = n;
        for part in &self.parts {
            let Some(len) = part.len() else { unreachable!("an axis is counted when it is read") };
            if rest < len {
                return part.value(rest);
            }
            rest -= len;
        }
        unreachable!("value {n} of {}", self.parameter)
    }

    /// All values, or the ends of ranges where they are more than `most`.
    pub(crate) fn some(&self, most: u64) -> Vec<String> {
        let all = |part: &AxisPart| match part.len() {
            Some(len) if len <= most => (0..len).map(|n| part.value(n)).collect::<Vec<_>>(),
            Some(len) => vec![part.value(0), part.value(len - 1)],
            None => unreachable!("an axis is counted when it is read"),
        };
        self.parts.iter().flat_map(all).collect()
    }
}

impl AxisPart {
    fn parse(word: &str) -> Result<Self, String> {
        if word.is_empty() {
            return Err("a value is empty; write it, or leave its | out".to_owned());
        }
        let Some((from, rest)) = word.split_once("..") else {
            return Ok(Self::Value(word.to_owned()));
        };
        let (to, step) = rest.split_once('/').map_or((rest, None), |(to, step)| (to, Some(step)));
        let (from, to) = (whole(from)?, whole(to)?);
        let step = step.map_or(Ok(1), whole)?;
        let step = u64::try_from(step).ok().filter(|step| *step > 0);
        let step = step.ok_or_else(|| format!("`{word}`: the step after / is a whole number from 1"))?;
        if from > to {
            return Err(format!("`{word}`: the range falls; write it as {to}..{from}"));
        }
        Ok(Self::Range { from, to, step })
    }

    fn len(&self) -> Option<u64> {
        match self {
            Self::Value(_) => Some(1),
            Self::Range { from, to, step } => (to.abs_diff(*from) / step).checked_add(1),
        }
    }

    fn value(&self, n: u64) -> String {
        match self {
            Self::Value(value) => value.clone(),
            Self::Range { from, step, .. } => {
                (i128::from(*from) + i128::from(n) * i128::from(*step)).to_string()
            }
        }
    }
}

/// A whole number, as the end of a range.
fn whole(word: &str) -> Result<i64, String> {
    word.trim().parse().map_err(|_| {
        format!("`{word}` is not a whole number; a range is written FROM..TO or FROM..TO/STEP, a list A|B|C")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        let axis = Axis::parse("x", text).unwrap();
        (0..axis.len().unwrap()).map(|n| axis.value(n)).collect()
    }

    #[test]
    fn ranges_have_both_ends_and_lists_their_order() {
        assert_eq!(values("3..6"), ["3", "4", "5", "6"]);
        assert_eq!(values("-1..1"), ["-1", "0", "1"]);
        assert_eq!(values("5000..20000/5000"), ["5000", "10000", "15000", "20000"]);
        assert_eq!(values("0..9/4"), ["0", "4", "8"]);
        assert_eq!(values("8|1..2|y"), ["8", "1", "2", "y"]);
        assert_eq!(values("7"), ["7"]);
    }

    #[test]
    fn a_long_range_is_known_by_its_ends() {
        let axis = Axis::parse("x", "0..9223372036854775807|3").unwrap();
        assert_eq!(axis.some(100), ["0", "9223372036854775807", "3"]);
        assert_eq!(axis.value((1 << 63) - 1), "9223372036854775807");
        assert!(
            Axis::parse("x", "-9223372036854775808..9223372036854775807").unwrap_err().contains("counted")
        );
    }

    #[test]
    fn what_is_no_range_is_refused_with_the_word_at_fault() {
        for (text, word) in [
            ("nan..5", "`nan` is not a whole number"),
            ("1..inf", "`inf`"),
            ("1.5..3", "`1.5`"),
            ("1..", "``"),
            ("9..3", "write it as 3..9"),
            ("1..9/0", "`1..9/0`: the step"),
            ("1..9/-2", "the step"),
            ("1||2", "empty"),
        ] {
            let why = Axis::parse("x", text).unwrap_err();
            assert!(why.starts_with(&format!("x={text}: ")) && why.contains(word), "{text}: {why}");
        }
    }
}
