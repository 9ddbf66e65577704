// SPDX-License-Identifier: GPL-2.0-only
//! Hashes of sources and objects.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, shown as 64 hex digits: nobody can write two files that have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(pub(crate) [u8; 32]);

impl Hash {
    /// The hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The first half of it, for keys that have no room for more.
    #[must_use]
    pub fn short(self) -> u128 {
        self.0.iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
