// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use super::values;
use crate::learned::Learned;

/// What words stand for.
pub(super) struct Words {
    pub(super) learned: Learned,
    pub(super) addresses: BTreeMap<u64, u64>,
    pub(super) timer_flags_told: bool,
}

impl Words {
    /// The flags of a timer; 0 where the text does not really tell them.
    pub(super) fn timer_flags(&self, text: &[u8]) -> Option<u64> {
        if !self.timer_flags_told && text == values::ALL_FLAGS { Some(0) } else { values::timer_flags(text) }
    }

    /// The number of a function that is given by name or by address.
    pub(super) fn function(&mut self, text: &[u8]) -> u64 {
        match values::function(text) {
            Ok(address) => self.addresses.get(&address).copied().unwrap_or(address),
            Err(name) => self.learned.function_id(&String::from_utf8_lossy(name)),
        }
    }
}
