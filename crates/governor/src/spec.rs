// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::str::FromStr;

use crate::GovernorError;

/// Which governor, with which parameters: `teo-util:util_threshold_shift=5,util_steps=2`.
///
/// Parsing checks the form only; [`crate::Instance::load`] knows the names. Printing gives the same text back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spec {
    /// The governor.
    pub id: String,
    /// Names and values in the order given; each name once.
    pub params: Vec<(String, String)>,
}

impl Spec {
    /// `id` with its default parameters.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { id: id.to_owned(), params: Vec::new() }
    }
}

impl FromStr for Spec {
    type Err = GovernorError;

    fn from_str(text: &str) -> Result<Self, GovernorError> {
        let wrong = |why| GovernorError::BadSpec { text: text.to_owned(), why };
        let (id, list) = text.split_once(':').map_or((text, None), |(id, list)| (id, Some(list)));
        let id = id.trim();
        if id.is_empty() {
            return Err(wrong("the id is missing"));
        }
        let mut params: Vec<(String, String)> = Vec::new();
        for item in list.into_iter().flat_map(|l| l.split(',')) {
            let (name, value) = item.split_once('=').ok_or_else(|| wrong("a parameter without `=`"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return Err(wrong("a parameter without name or value"));
            }
            if params.iter().any(|(n, _)| n == name) {
                return Err(wrong("the same parameter twice"));
            }
            params.push((name.to_owned(), value.to_owned()));
        }
        Ok(Self { id: id.to_owned(), params })
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        for (i, (name, value)) in self.params.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { ':' } else { ',' })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_survives_a_round_trip() {
        for text in ["menu", "teo-util:util_threshold_shift=5", "a:b=1,c=-2,d=0x10"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_text_is_refused_with_the_reason() {
        for (text, word) in [
            ("", "id"),
            (":a=1", "id"),
            ("teo:", "without `=`"),
            ("teo:=1", "name"),
            ("teo:a=1,a=2", "twice"),
        ] {
            let said = text.parse::<Spec>().unwrap_err().to_string();
            assert!(said.contains(word), "{text}: {said}");
        }
    }
}
