// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::str::FromStr;

use idlewise_model::near;

use crate::catalog::{Default, GovernorInfo, Kind, ParamInfo, list};
use crate::{FreqError, Steps};

/// A frequency governor with its parameters, checked: `schedutil`, `ondemand:up_threshold=80,sampling_rate=20000`.
///
/// Text is read as for idle governors: an id, and after a colon names and values. Printing gives the same text back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    info: &'static GovernorInfo,
    given: Vec<Given>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Given {
    name: &'static str,
    text: String,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Steps(Steps),
}

impl Config {
    /// The governor and what may be said of it.
    #[must_use]
    pub fn info(&self) -> &'static GovernorInfo {
        self.info
    }

    /// A number: as given, else its default if that is a number too.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        if let Some(Value::Number(n)) = self.value(name) {
            return Some(*n);
        }
        match self.param(name)?.default {
            Default::Number(n) => Some(n),
            _ => None,
        }
    }

    /// A number of microseconds, in ns.
    pub(crate) fn us(&self, name: &str) -> Option<u64> {
        self.number(name).map(|us| us.saturating_mul(1000))
    }

    /// A clock in kHz.
    pub(crate) fn khz(&self, name: &str) -> Option<u32> {
        self.number(name).and_then(|khz| u32::try_from(khz).ok())
    }

    /// A step function, if one was given.
    pub(crate) fn steps(&self, name: &str) -> Option<Steps> {
        match self.value(name) {
            Some(Value::Steps(steps)) => Some(steps.clone()),
            _ => None,
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.given.iter().find(|g| g.name == name).map(|g| &g.value)
    }

    fn param(&self, name: &str) -> Option<&'static ParamInfo> {
        self.info.params.iter().find(|p| p.name == name)
    }

    /// What each parameter's text can be seen to mean only together with the others.
    fn checked(self) -> Result<Self, FreqError> {
        let id = self.info.id;
        for p in self.info.params {
            if matches!(p.default, Default::Required) && self.value(p.name).is_none() {
                return Err(FreqError::MissingParam { id: id.to_owned(), name: p.name.to_owned() });
            }
        }
        if let (Some(up), Some(down)) = (self.number("up_threshold"), self.number("down_threshold"))
            && up <= down
        {
            let why = format!("up_threshold={up} must be above down_threshold={down}");
            return Err(FreqError::Contradiction { id: id.to_owned(), why });
        }
        Ok(self)
    }
}

impl FromStr for Config {
    type Err = FreqError;

    fn from_str(text: &str) -> Result<Self, FreqError> {
        let wrong = |why: &str| FreqError::BadSpec { text: text.to_owned(), why: why.to_owned() };
        let (id, params) = match text.split_once(':') {
            Some((id, params)) => (id.trim(), Some(params)),
            None => (text.trim(), None),
        };
        if id.is_empty() {
            return Err(wrong("the id is missing"));
        }
        let info = list().iter().find(|g| g.id == id).ok_or_else(|| FreqError::Unknown {
            id: id.to_owned(),
            nearest: near(id, list().iter().map(|g| g.id)).first().map(|&k| k.to_owned()),
            known: list().iter().map(|g| g.id.to_owned()).collect(),
        })?;
        let mut given: Vec<Given> = Vec::new();
        for item in params.into_iter().flat_map(|p| p.split(',')) {
            let (name, value) = item.split_once('=').ok_or_else(|| wrong("a parameter without `=`"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return Err(wrong("a parameter without name or value"));
            }
            let param = info.params.iter().find(|p| p.name == name).ok_or_else(|| {
                let names = || info.params.iter().map(|p| p.name);
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
            given.push(Given { name: param.name, text: value.to_owned(), value: read(info, param, value)? });
        }
        Self { info, given }.checked()
    }
}

fn read(info: &GovernorInfo, param: &ParamInfo, text: &str) -> Result<Value, FreqError> {
    let value = match param.kind {
        Kind::Number { min, max } => number(text).filter(|n| (min..=max).contains(n)).map(Value::Number),
        Kind::Steps { min, max } => Steps::parse(text, min, max).map(Value::Steps),
    };
    value.ok_or_else(|| FreqError::BadValue {
        id: info.id.to_owned(),
        name: param.name.to_owned(),
        value: text.to_owned(),
        range: param.range(),
    })
}

/// Digits only: no sign, no space.
pub(crate) fn number(text: &str) -> Option<u64> {
    if text.starts_with(|c: char| c.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.id)?;
        for (i, Given { name, text, .. }) in self.given.iter().enumerate() {
            write!(f, "{}{name}={text}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}
