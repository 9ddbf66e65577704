// SPDX-License-Identifier: GPL-2.0-only
//! What a publication does not tell, and where it may lie.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was not published and on which results depend.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unknown {
    /// `$name` stands for it in texts, facts, factors and offsets.
    pub name: String,
    /// Where its number may lie; all of it is equally likely before anything is known.
    #[serde(default, deserialize_with = "two")]
    pub range: Option<[f64; 2]>,
    /// By which measure all of the range is equally likely.
    #[serde(default)]
    pub scale: Scale,
    /// Instead of a range, what it may be.
    #[serde(default)]
    pub values: Vec<Setting>,
    /// Why it may be all of that.
    pub why: String,
    /// An end of the range that nothing can pass, so that samples may gather there: "0 is the least".
    pub end: Option<String>,
}

/// Two numbers, no more.
fn two<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<[f64; 2]>, D::Error> {
    let all = Vec::<f64>::deserialize(from)?;
    let n = all.len();
    all.try_into().map(Some).map_err(|_| serde::de::Error::invalid_length(n, &"FROM and TO"))
}

/// By which measure a range is even.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    #[default]
    Linear,
    /// By ratios: from 1 to 2 is as likely as from 2 to 4.
    Log,
}

/// What an unknown is set to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    Number(f64),
    Word(String),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Word(w) => f.write_str(w),
        }
    }
}

/// What all unknowns are set to in a run, and its seed.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Point {
    /// Settings by the unknowns' names.
    pub settings: BTreeMap<String, Setting>,
    pub seed: u64,
}

impl Unknown {
    /// Whether it makes sense.
    pub(crate) fn check(&self) -> Result<(), String> {
        match (self.range, self.values.len()) {
            (Some([from, to]), 0) => {
                let least = if self.scale == Scale::Log { 0.0 } else { f64::MIN };
                if !(from.is_finite() && to.is_finite() && from < to && from >= least)
                    || (self.scale == Scale::Log && from <= 0.0)
                {
                    return Err("range is FROM < TO, above 0 where the scale is log".to_owned());
                }
            }
            (None, 2..) => {
                if self.values.iter().any(|v| matches!(v, Setting::Number(n) if !n.is_finite())) {
                    return Err("a value is no number to compute with".to_owned());
                }
                if self.end.is_some() {
                    return Err("end is for a range: values have none".to_owned());
                }
            }
            _ => return Err("expected a range, or two values or more".to_owned()),
        }
        if self.why.trim().is_empty() {
            return Err("why it may be all of that is missing".to_owned());
        }
        Ok(())
    }

    /// Whether it may be set to that.
    pub(crate) fn has(&self, setting: &Setting) -> bool {
        match (self.range, setting) {
            (Some([from, to]), Setting::Number(n)) => (from..=to).contains(n),
            (Some(_), Setting::Word(_)) => false,
            (None, _) => self.values.contains(setting),
        }
    }

    /// Its setting at `share` of the way, from 0 to 1. Four digits are all that a model's number has.
    pub(crate) fn at(&self, share: f64) -> Setting {
        let Some([from, to]) = self.range else {
            let n = self.values.len();
            let i = ((share * n as f64) as usize).min(n.saturating_sub(1));
            return self.values.get(i).cloned().unwrap_or(Setting::Number(f64::NAN));
        };
        let value = match self.scale {
            Scale::Linear => from + share * (to - from),
            Scale::Log => from * (to / from).powf(share),
        };
        Setting::Number(four_digits(value).clamp(from, to))
    }

    /// How far along its range a setting lies, from 0 to 1.
    pub(crate) fn share(&self, setting: &Setting) -> f64 {
        match (self.range, setting) {
            (Some([from, to]), Setting::Number(n)) => match self.scale {
                Scale::Linear => (n - from) / (to - from),
                Scale::Log => (n / from).ln() / (to / from).ln(),
            },
            _ => {
                let at = self.values.iter().position(|v| v == setting);
                at.map_or(f64::NAN, |i| (i as f64 + 0.5) / self.values.len() as f64)
            }
        }
    }
}

/// `value` with the four digits that a model's number has.
pub(crate) fn four_digits(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    // A decimal text of so many digits is the nearest number to what is printed.
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unknown(text: &str) -> Unknown {
        toml::from_str(&format!("name = \"x\"\nwhy = \"w\"\n{text}")).unwrap()
    }

    #[test]
    fn shares_and_settings_are_each_other() {
        for (text, share, setting) in [
            ("range = [10, 20]", 0.5, Setting::Number(15.0)),
            ("range = [1, 100]\nscale = \"log\"", 0.5, Setting::Number(10.0)),
            ("values = [100, 250, 1000]", 0.5, Setting::Number(250.0)),
            ("values = [\"a\", \"b\"]", 0.25, Setting::Word("a".to_owned())),
        ] {
            let u = unknown(text);
            u.check().unwrap();
            assert_eq!(u.at(share), setting, "{text}");
            assert!((u.share(&setting) - share).abs() < 1e-9, "{text}");
            assert_eq!((u.at(0.0), u.at(1.0)), (u.at(-0.0), u.at(0.999_999_9)), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_drawn_from_is_refused() {
        for text in [
            "range = [2, 1]",
            "range = [0, 1]\nscale = \"log\"",
            "range = [nan, 1]",
            "range = [1, 2, 3]",
            "values = [1]",
            "values = [1, nan]",
            "range = [1, 2]\nvalues = [1, 2]",
            "",
        ] {
            let read = toml::from_str::<Unknown>(&format!("name = \"x\"\nwhy = \"w\"\n{text}"));
            assert!(read.map_err(|e| e.to_string()).and_then(|u| u.check()).is_err(), "{text}");
        }
        let silent: Unknown = toml::from_str("name = \"x\"\nwhy = \" \"\nrange = [1, 2]").unwrap();
        assert!(silent.check().is_err());
    }
}
