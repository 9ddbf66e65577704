// SPDX-License-Identifier: GPL-2.0-only
//! What all streams of a trace share while they are read.

use super::kinds::Kinds;
use crate::learned::Learned;

const NS: u64 = 1_000_000_000;

/// What all streams share.
pub(super) struct Shared<'a> {
    pub(super) kinds: &'a Kinds,
    pub(super) uuid: Option<[u8; 16]>,
    /// Ticks of the clock in a second.
    pub(super) freq: u64,
    pub(super) learned: Learned,
    pub(super) comms: Comms,
}

impl Shared<'_> {
    #[inline(always)]
    pub(super) fn ns(&self, ticks: u64) -> u64 {
        if self.freq == NS {
            return ticks;
        }
        (u128::from(ticks) * u128::from(NS) / u128::from(self.freq.max(1))) as u64
    }
}

/// What the last events said about names of tasks, so that saying it again costs nothing.
pub(super) struct Comms(Vec<(i32, [u8; 16])>);

impl Comms {
    pub(super) fn new() -> Self {
        Self(vec![(0, [0; 16]); 256])
    }

    #[inline(always)]
    pub(super) fn learn(&mut self, pid: i32, comm: &[u8], learned: &mut Learned) {
        let mut name = [0; 16];
        for (to, from) in name.iter_mut().zip(comm) {
            *to = *from;
        }
        let at = pid as usize % self.0.len().max(1);
        let Some(told) = self.0.get_mut(at).filter(|told| **told != (pid, name)) else { return };
        *told = (pid, name);
        learned.comm(pid, &String::from_utf8_lossy(comm));
    }
}
