// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::str::FromStr;

use idlewise_model::near;

use crate::FreqError;
use crate::governor::GovernorInfo;
use crate::governors::list;
use crate::params::Params;

/// A frequency governor with its parameters, checked: `schedutil`, `ondemand:up_threshold=80,sampling_rate=20000`.
///
/// Text is read as for idle governors: an id, and after a colon names and values. Printing gives the same text back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    info: &'static GovernorInfo,
    params: Params,
}

impl Config {
    /// The governor's catalogue entry.
    #[must_use]
    pub fn info(&self) -> &'static GovernorInfo {
        self.info
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }
}

impl FromStr for Config {
    type Err = FreqError;

    fn from_str(text: &str) -> Result<Self, FreqError> {
        let (id, items) = match text.split_once(':') {
            Some((id, items)) => (id.trim(), Some(items)),
            None => (text.trim(), None),
        };
        if id.is_empty() {
            return Err(FreqError::BadSpec { text: text.to_owned(), why: "the id is missing".to_owned() });
        }
        let info = list().iter().find(|g| g.id == id).ok_or_else(|| FreqError::Unknown {
            id: id.to_owned(),
            nearest: near(id, list().iter().map(|g| g.id)).first().map(|&k| k.to_owned()),
            known: list().iter().map(|g| g.id.to_owned()).collect(),
        })?;
        let params = Params::parse(id, info.params, items, text)?;
        if let Some(why) = info.contradiction.and_then(|check| check(&params)) {
            return Err(FreqError::Contradiction { id: id.to_owned(), why });
        }
        Ok(Self { info, params })
    }
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.info.id, self.params)
    }
}
