// SPDX-License-Identifier: GPL-2.0-only
//! The features of a perf.data: small facts about the recording, the same as sections of a file and as records of a
//! pipe. Numbers: tools/perf/Documentation/perf.data-file-format.txt.

use std::collections::BTreeMap;

use super::attr::{string, u32_at, u64_at};
use crate::kernel::order::{ByteOrder, Order};

pub(crate) const TRACING_DATA: u32 = 1;
const HOSTNAME: u32 = 3;
const OSRELEASE: u32 = 4;
const VERSION: u32 = 5;
const ARCH: u32 = 6;
const NRCPUS: u32 = 7;
const EVENT_DESC: u32 = 12;
const COMPRESSED: u32 = 27;
/// From here on features are Android's.
pub(crate) const SIMPLEPERF: u32 = 128;

/// The method of compression that perf knows.
pub(crate) const ZSTD: u32 = 1;

/// What the features say.
#[derive(Debug, Default)]
pub(crate) struct Features {
    pub(crate) release: String,
    pub(crate) version: String,
    pub(crate) machine: String,
    /// How many CPUs the machine has.
    pub(crate) cpus: u32,
    pub(crate) packing: Option<u32>,
    /// Names of events in the order of their descriptions.
    names: Vec<String>,
    /// Names of events by one of their ids.
    by_id: BTreeMap<u64, String>,
}

/// The numbers of the features that a file has, ascending. The bits are stored in words of the kernel's `long`.
pub(crate) fn bits(words: [u64; 4], order: ByteOrder) -> impl Iterator<Item = u32> {
    // Every perf stores the host's name; without it, a big-endian machine with 32 bits swapped halves.
    let halves = order.big() && words.first().is_some_and(|w| w >> HOSTNAME & 1 == 0);
    let words = words.map(|w| if halves { w.rotate_left(32) } else { w });
    (0..256u32).filter(move |bit| words.get((bit / 64) as usize).is_some_and(|w| w >> (bit % 64) & 1 == 1))
}

/// Whether the section of this feature is read.
pub(crate) fn wanted(feature: u32) -> bool {
    matches!(feature, OSRELEASE | VERSION | ARCH | NRCPUS | EVENT_DESC | COMPRESSED)
}

impl Features {
    /// Takes over what the bytes of a feature say; broken ones say nothing.
    pub(crate) fn learn(&mut self, feature: u32, order: ByteOrder, bytes: &[u8]) {
        let text = || string(order, bytes).map(|(text, _)| text).unwrap_or_default();
        match feature {
            OSRELEASE => self.release = text(),
            VERSION => self.version = text(),
            ARCH => self.machine = text(),
            // All that can be plugged in, and those that were there.
            NRCPUS => {
                let [all, there] = [0, 4].map(|at| u32_at(order, bytes, at).unwrap_or(0));
                self.cpus = all.max(there);
            }
            COMPRESSED => self.packing = u32_at(order, bytes, 4),
            EVENT_DESC => self.event_desc(order, bytes),
            _ => {}
        }
    }

    /// Reads the descriptions of events for their names.
    fn event_desc(&mut self, order: ByteOrder, bytes: &[u8]) {
        let (Some(n), Some(size)) = (u32_at(order, bytes, 0), u32_at(order, bytes, 4)) else { return };
        let mut rest = bytes.get(8..).unwrap_or_default();
        for _ in 0..n {
            let after = rest.get(size as usize..).unwrap_or_default();
            let Some(ids) = u32_at(order, after, 0) else { return };
            let Some((name, after)) = after.get(4..).and_then(|b| string(order, b)) else { return };
            let len = (ids as usize).saturating_mul(8);
            let Some((ids, after)) = after.split_at_checked(len) else { return };
            if let Some(id) = u64_at(order, ids, 0) {
                self.name(id, name.clone());
            }
            self.names.push(name);
            rest = after;
        }
    }

    /// The event with this id is called so.
    pub(crate) fn name(&mut self, id: u64, name: String) {
        self.by_id.insert(id, name);
    }

    /// The name of the event with this id, if it is the one by which the name was given.
    pub(crate) fn name_of(&self, id: u64) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str).filter(|n| !n.is_empty())
    }

    /// The name of the event described as number `i`.
    pub(crate) fn name_at(&self, i: usize) -> Option<&str> {
        self.names.get(i).map(String::as_str).filter(|n| !n.is_empty())
    }
}
