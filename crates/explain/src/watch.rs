// SPDX-License-Identifier: GPL-2.0-only
//! One decision among many, watched from inside while the run goes by.

use idlewise_governor::{Choice, Device, Inputs, Instance, Slot, StateValue, Variable};
use idlewise_idle::{Chooser, Moment, TickAhead};
use idlewise_model::{Entry, Ledger};
use serde::{Deserialize, Serialize};

use idlewise_recording::candidate::Book;

/// What could be seen of one decision.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Observation {
    /// The CPU's clock, ns.
    pub(crate) now_ns: u64,
    pub(crate) inputs: Asked,
    pub(crate) memory: Vec<Variable>,
    pub(crate) reasons: Vec<String>,
    pub(crate) index: i32,
    pub(crate) stop_tick: bool,
    pub(crate) asked_sleep_length: bool,
}

/// What the governor could ask or look at. Units as in [`Inputs`] and [`Device`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Asked {
    pub(crate) sleep_length_ns: i64,
    pub(crate) delta_tick_ns: i64,
    pub(crate) latency_limit_ns: i64,
    pub(crate) util: u32,
    pub(crate) iowait: u32,
    pub(crate) random: u32,
    pub(crate) tick_stopped: bool,
    pub(crate) disabled: u16,
    pub(crate) last_state: i32,
    pub(crate) last_residency_ns: i64,
    pub(crate) poll_time_limit: bool,
}

impl Asked {
    fn new(inputs: &Inputs, device: &Device) -> Self {
        Self {
            sleep_length_ns: inputs.sleep_length_ns,
            delta_tick_ns: inputs.delta_tick_ns,
            latency_limit_ns: inputs.latency_limit_ns,
            util: inputs.util,
            iowait: inputs.iowait,
            random: inputs.random,
            tick_stopped: inputs.tick_stopped,
            disabled: device.disabled(),
            last_state: device.last_state_idx(),
            last_residency_ns: device.last_residency_ns,
            poll_time_limit: device.poll_time_limit,
        }
    }
}

/// Waits for a governor's decision number so and so, counted from 0.
pub(crate) struct Watch<'i> {
    instance: &'i mut Instance,
    slot: Slot,
    /// Decisions before the one that is watched; nothing once it is over.
    before: Option<u64>,
    pub(crate) seen: Option<Observation>,
}

impl<'i> Watch<'i> {
    /// `instance` must be a copy that explains itself; its CPU `slot` is watched.
    pub(crate) fn new(instance: &'i mut Instance, slot: Slot, decision: u64) -> Self {
        if decision > 0 {
            instance.mute();
        }
        Self { instance, slot, before: Some(decision), seen: None }
    }

    /// Gives the governor the state of a kernel's, where it has such variables.
    pub(crate) fn restore(&mut self, values: &[StateValue]) {
        let _ = self.instance.restore(self.slot, values);
    }
}

impl Chooser for Watch<'_> {
    fn select(&mut self, inputs: &Inputs, _moment: &Moment, _tick: TickAhead) -> Choice {
        let watched = self.before == Some(0);
        let before = watched
            .then(|| (Asked::new(inputs, self.instance.device(self.slot)), self.instance.memory(self.slot)));
        let choice = self.instance.select(self.slot, inputs);
        let now_ns = inputs.now_ns;
        if let Some((inputs, memory)) = before {
            let reasons = self.instance.take_messages();
            self.instance.mute();
            self.seen = Some(Observation {
                now_ns,
                inputs,
                memory,
                reasons,
                index: choice.index,
                stop_tick: choice.stop_tick,
                asked_sleep_length: choice.asked_sleep_length,
            });
        }
        self.before = self.before.and_then(|n| n.checked_sub(1));
        if self.before == Some(0) {
            // What it says about the wakeup before belongs to the decision.
            self.instance.take_messages();
        }
        choice
    }

    fn reflect(&mut self, entered: usize, now_ns: u64) {
        self.instance.reflect(self.slot, entered, now_ns);
    }

    fn device(&mut self) -> &mut Device {
        self.instance.device(self.slot)
    }

    fn set_disabled(&mut self, mask: u16) {
        self.instance.set_disabled(self.slot, mask);
    }
}

/// Keeps one entry of a run: a certain one, or the last that began in time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Keep {
    wanted: Wanted,
    /// Entries so far: as many as decisions.
    pub(crate) count: u64,
    /// The entry with its number.
    pub(crate) found: Option<(u64, Entry)>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Wanted {
    Number(u64),
    LastAt(u64),
}

impl Keep {
    /// The entry of decision `number`.
    pub(crate) fn number(number: u64) -> Self {
        Self { wanted: Wanted::Number(number), count: 0, found: None }
    }

    /// The last entry that began at `at_ns` or before.
    pub(crate) fn last_at(at_ns: u64) -> Self {
        Self { wanted: Wanted::LastAt(at_ns), count: 0, found: None }
    }
}

impl Book for Keep {
    type Pages = Self;
    fn pages(self) -> Self {
        self
    }
}

impl Ledger for Keep {
    fn entry(&mut self, entry: &Entry) {
        let keep = match self.wanted {
            Wanted::Number(n) => n == self.count,
            Wanted::LastAt(at_ns) => entry.start_ns <= at_ns,
        };
        if keep {
            self.found = Some((self.count, *entry));
        }
        self.count += 1;
    }
}
