// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::Health;

/// What a stream of events learns on its way: what was lost, how often each event came, names that only events tell.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) health: Health,
    counts: Vec<u64>,
    /// "system:name" of events that no description in the file gives an id; the file's ids come first.
    events: Interned,
    /// Functions that are recorded by name; their ids are too small to be addresses.
    functions: Interned,
    irqs: BTreeMap<i32, String>,
    comms: BTreeMap<i32, String>,
}

/// Names in the order in which they came, found by number and by name.
#[derive(Debug, Default)]
struct Interned {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
}

impl Interned {
    fn number(&mut self, name: &str) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// So many different names are no names but damage; what comes later shares the last one's number.
const MOST_NAMES: usize = 60_000;

impl Learned {
    /// One more event of this id.
    #[inline(always)]
    pub(crate) fn count(&mut self, id: u16) {
        let at = usize::from(id);
        if let Some(n) = self.counts.get_mut(at) {
            *n += 1;
        } else {
            self.counts.resize(at + 1, 0);
            if let Some(n) = self.counts.get_mut(at) {
                *n = 1;
            }
        }
    }

    pub(crate) fn counts(&self) -> BTreeMap<u16, u64> {
        (0..=u16::MAX).zip(&self.counts).filter(|(_, n)| **n > 0).map(|(id, n)| (id, *n)).collect()
    }

    /// The id of the event "system:name" in a format that has no ids.
    pub(crate) fn event_id(&mut self, name: &str) -> u16 {
        let full = self.events.names.len() >= MOST_NAMES && !self.events.numbers.contains_key(name);
        let number = if full { MOST_NAMES - 1 } else { self.events.number(name) };
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    pub(crate) fn event_name(&self, id: u16) -> Option<&str> {
        self.events.names.get(usize::from(id)).map(String::as_str)
    }

    /// The number that stands for a function recorded by name: at least 1.
    pub(crate) fn function_id(&mut self, name: &str) -> u64 {
        let full = self.functions.names.len() >= MOST_NAMES && !self.functions.numbers.contains_key(name);
        let number = if full { MOST_NAMES - 1 } else { self.functions.number(name) };
        number as u64 + 1
    }

    pub(crate) fn function_name(&self, id: u64) -> Option<&str> {
        let at = usize::try_from(id.checked_sub(1)?).ok()?;
        self.functions.names.get(at).map(String::as_str)
    }

    /// Interrupt `irq` has a handler of this name; the first one stays.
    pub(crate) fn irq(&mut self, irq: i32, name: &[u8]) {
        if self.irqs.len() < MOST_NAMES {
            self.irqs.entry(irq).or_insert_with(|| String::from_utf8_lossy(name).into_owned());
        }
    }

    pub(crate) fn irq_name(&self, irq: i32) -> Option<&str> {
        self.irqs.get(&irq).map(String::as_str)
    }

    /// Task `pid` is called `comm`; the newest name stays.
    pub(crate) fn comm(&mut self, pid: i32, comm: &str) {
        let full = self.comms.len() >= MOST_NAMES;
        match self.comms.get_mut(&pid) {
            Some(known) if known == comm => {}
            Some(known) => comm.clone_into(known),
            None if !full => {
                self.comms.insert(pid, comm.to_owned());
            }
            None => {}
        }
    }

    pub(crate) fn comm_of(&self, pid: i32) -> Option<&str> {
        self.comms.get(&pid).map(String::as_str)
    }
}
