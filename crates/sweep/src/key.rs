// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

/// The content that a result is kept by: XXH3-128, as 32 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Key(u128);

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for Key {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl Key {
    /// Of everything in `content`, in its order.
    pub(crate) fn of(content: &impl Serialize) -> Self {
        let Ok(bytes) = serde_json::to_vec(content) else {
            unreachable!("keys are made of texts and numbers")
        };
        Self(xxh3_128(&bytes))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let key = u128::from_str_radix(text, 16).ok().filter(|_| digits);
        key.map(Self).ok_or_else(|| format!("`{text}`: expected 32 hex digits"))
    }
}
