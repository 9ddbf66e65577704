// SPDX-License-Identifier: GPL-2.0-only
//! Parameters of frequency governors: what an entry declares, and the values that a user gave.

use std::fmt;

use idlewise_model::near;

use crate::FreqError;
use crate::steps::{Steps, number};

/// A parameter of a frequency governor, as its catalogue entry declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name, the kernel's where the kernel has one.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    pub default: Default,
    /// us, kHz, % and so on; empty for a bare number.
    pub unit: &'static str,
    pub help: &'static str,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number {
        /// No less than this.
        min: u64,
        /// No more than this.
        max: u64,
    },
    /// [`Steps`] with values between the two.
    Steps {
        /// No less than this.
        min: u64,
        /// No more than this.
        max: u64,
    },
}

/// What a parameter is without being set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    Number(u64),
    /// What the words say, which depends on the machine.
    Derived(&'static str),
    Required,
}

impl ParamInfo {
    /// What values there are, for an error message.
    #[must_use]
    pub fn range(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            Kind::Number { min, max } => format!("a whole number from {min} to {max}{unit}"),
            Kind::Steps { min, max } => {
                format!(
                    "`value` or `value kHz:value kHz:value ...`, clocks ascending, values from {min} to {max}{unit}"
                )
            }
        }
    }

    /// The default in words.
    #[must_use]
    pub fn default_text(&self) -> String {
        match self.default {
            Default::Number(n) => n.to_string(),
            Default::Derived(words) => words.to_owned(),
            Default::Required => "none, must be given".to_owned(),
        }
    }
}

/// An hour in us: no limit is longer.
pub(crate) const HOUR_US: u64 = 3_600_000_000;

pub(crate) const fn us(name: &'static str, default: Default, help: &'static str) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min: 0, max: HOUR_US }, default, unit: "us", help }
}

/// A period, which is never nothing.
pub(crate) const fn period(name: &'static str, default: Default, help: &'static str) -> ParamInfo {
    ParamInfo { kind: Kind::Number { min: 1, max: HOUR_US }, ..us(name, default, help) }
}

pub(crate) const fn count(
    name: &'static str,
    min: u64,
    max: u64,
    default: u64,
    help: &'static str,
) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min, max }, default: Default::Number(default), unit: "", help }
}

pub(crate) const fn percent(
    name: &'static str,
    min: u64,
    max: u64,
    default: u64,
    help: &'static str,
) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min, max }, default: Default::Number(default), unit: "%", help }
}

pub(crate) const fn switch(name: &'static str, default: u64, help: &'static str) -> ParamInfo {
    count(name, 0, 1, default, help)
}

pub(crate) const fn khz(name: &'static str, default: Default, help: &'static str) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min: 0, max: u32::MAX as u64 }, default, unit: "kHz", help }
}

/// The values of a governor's parameters: given ones, else the defaults that are numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Params {
    declared: &'static [ParamInfo],
    given: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Argument {
    name: &'static str,
    text: String,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Steps(Steps),
}

impl Params {
    /// From `name=value,name=value`; `id` is the governor's, `spec` the whole text, for messages.
    ///
    /// # Errors
    /// If the text is malformed, names a parameter that is not declared, gives a value out of its range or lacks one that is
    /// required.
    pub(crate) fn parse(
        id: &str,
        declared: &'static [ParamInfo],
        items: Option<&str>,
        spec: &str,
    ) -> Result<Self, FreqError> {
        let wrong = |why: &str| FreqError::BadSpec { text: spec.to_owned(), why: why.to_owned() };
        let mut given: Vec<Argument> = Vec::new();
        for item in items.into_iter().flat_map(|p| p.split(',')) {
            let (name, value) = item.split_once('=').ok_or_else(|| wrong("a parameter without `=`"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return Err(wrong("a parameter without name or value"));
            }
            let param = declared.iter().find(|p| p.name == name).ok_or_else(|| {
                let names = || declared.iter().map(|p| p.name);
                FreqError::UnknownParam {
                    id: id.to_owned(),
                    name: name.to_owned(),
                    nearest: near(name, names()).first().map(|&k| k.to_owned()),
                    known: names().map(str::to_owned).collect(),
                }
            })?;
            if given.iter().any(|g| g.name == name) {
                return Err(wrong("the same parameter twice"));
            }
            given.push(Argument { name: param.name, text: value.to_owned(), value: read(id, param, value)? });
        }
        let this = Self { declared, given };
        for p in declared {
            if matches!(p.default, Default::Required) && this.value(p.name).is_none() {
                return Err(FreqError::MissingParam { id: id.to_owned(), name: p.name.to_owned() });
            }
        }
        Ok(this)
    }

    /// A number that the entry declares with a default, or as required.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let Some(n) = self.if_known(name) else {
            unreachable!("{name} is declared as a number that is always known")
        };
        n
    }

    /// A number, if it was given or its default is one. `None` too if the entry declares no such parameter: several
    /// governors may share code and differ in what may be set.
    pub(crate) fn if_known(&self, name: &str) -> Option<u64> {
        if let Some(Value::Number(n)) = self.value(name) {
            return Some(*n);
        }
        match self.declared.iter().find(|p| p.name == name)?.default {
            Default::Number(n) => Some(n),
            Default::Derived(_) | Default::Required => None,
        }
    }

    /// As [`Params::number`], given in us: in ns.
    pub(crate) fn us(&self, name: &str) -> u64 {
        self.number(name).saturating_mul(1000)
    }

    /// As [`Params::if_known`], given in us: in ns.
    pub(crate) fn us_if_known(&self, name: &str) -> Option<u64> {
        self.if_known(name).map(|us| us.saturating_mul(1000))
    }

    /// A switch is on. Off if the entry declares none.
    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.if_known(name) == Some(1)
    }

    /// A frequency in kHz, as [`Params::if_known`].
    pub(crate) fn khz_if_known(&self, name: &str) -> Option<u32> {
        let khz = |n| match u32::try_from(n) {
            Ok(khz) => khz,
            Err(_) => unreachable!("{name} is declared with a range of kHz, and is {n}"),
        };
        self.if_known(name).map(khz)
    }

    /// A step function; its default is a number, the same at all clocks.
    pub(crate) fn steps(&self, name: &str) -> Steps {
        match self.value(name) {
            Some(Value::Steps(steps)) => steps.clone(),
            Some(Value::Number(_)) => unreachable!("{name} is declared as a step function"),
            None => Steps::constant(self.number(name)),
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|g| g.name == name).map(|g| &g.value)
    }
}

fn read(id: &str, param: &ParamInfo, text: &str) -> Result<Value, FreqError> {
    let value = match param.kind {
        Kind::Number { min, max } => number(text).filter(|n| (min..=max).contains(n)).map(Value::Number),
        Kind::Steps { min, max } => Steps::parse(text, min, max).map(Value::Steps),
    };
    value.ok_or_else(|| FreqError::BadValue {
        id: id.to_owned(),
        name: param.name.to_owned(),
        value: text.to_owned(),
        range: param.range(),
    })
}

/// As it was given: `:name=value,name=value`, or nothing.
impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, Argument { name, text, .. }) in self.given.iter().enumerate() {
            write!(f, "{}{name}={text}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
