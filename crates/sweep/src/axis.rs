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
    pub fn parse(parameter: &str, values: &str) -> Result<Self, String> {
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
    ///
    /// # Panics
    /// Where they cannot be counted; those of an axis that was read can.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.len()
            .unwrap_or_else(|| unreachable!("the values of {} are counted when it is read", self.parameter))
    }

    /// Value number `n`, from 0.
    ///
    /// # Panics
    /// Where there are not so many.
    #[must_use]
    pub fn value(&self, n: u64) -> String {
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
    ///
    /// # Panics
    /// As [`Axis::counted`].
    #[must_use]
    pub fn some(&self, most: u64) -> Vec<String> {
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
