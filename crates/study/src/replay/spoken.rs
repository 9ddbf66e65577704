// SPDX-License-Identifier: GPL-2.0-only
//! What a governor is given at its first decisions, and what it says about them, as `idlewise explain` shows it.

use idlewise_governor::{Choice, Device, Governor, Inputs, Instance, Slot};
use idlewise_idle::{Chooser, Moment, TickAhead};
use idlewise_model::{Entry, Ledger, NO_LATENCY_LIMIT_NS};
use idlewise_platform::Cluster;
use idlewise_recording::CommandError;
use idlewise_recording::candidate::Book;
use idlewise_replay::{Setting, Workload, run};
use idlewise_report::duration;
use serde::{Deserialize, Serialize};

/// One decision: inputs, and reasons in the order of the algorithm. Governors that are not ours give no reasons.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Spoken {
    given: String,
    reasons: Vec<String>,
}

impl Spoken {
    /// A line for the inputs and one for each reason, each after a line's end.
    pub(super) fn lines(&self) -> String {
        let lines = std::iter::once(&self.given).chain(&self.reasons);
        lines.map(|line| format!("\n{line}")).collect()
    }
}

/// Runs `governor` as far as `setting` says: the entries that `book` keeps, and what was said at its first `most` decisions.
pub(super) fn spoken<B: Book<Pages = Vec<Entry>> + Ledger>(
    governor: &Governor,
    workload: &Workload,
    place: &Cluster,
    setting: Setting,
    book: B,
    most: usize,
) -> Result<(Vec<Entry>, Vec<Spoken>), CommandError> {
    Ok(governor.run(|loader| {
        let mut instance = loader.load_explaining(workload.grid.period_ns)?;
        let slot = instance.add_cpu(workload.cpu, &place.table, place.capacity)?;
        let mut listener = Listener { instance: &mut instance, slot, most, said: Vec::new() };
        let mut book = book;
        run(workload, &place.table, place.capacity, setting, &mut listener, &mut book)?;
        Ok((book.pages(), listener.said))
    })?)
}

/// Takes down what a governor says until it has decided often enough.
struct Listener<'i> {
    instance: &'i mut Instance,
    slot: Slot,
    most: usize,
    said: Vec<Spoken>,
}

impl Chooser for Listener<'_> {
    fn select(&mut self, inputs: &Inputs, _moment: &Moment, _tick: TickAhead) -> Choice {
        let choice = self.instance.select(self.slot, inputs);
        if self.said.len() < self.most {
            // What it says about the wakeup before belongs to the decision.
            self.said.push(Spoken { given: given(inputs), reasons: self.instance.take_messages() });
            if self.said.len() == self.most {
                self.instance.mute();
            }
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

/// The inputs in words, by the names of `idlewise explain`.
fn given(i: &Inputs) -> String {
    let ns = |ns: i64| if ns >= NO_LATENCY_LIMIT_NS { "none".to_owned() } else { duration(ns as f64) };
    format!(
        "Inputs: sleep length {}, next event with the tick {}, tick stopped {}, latency limit {}, utilisation {}, tasks \
         waiting for I/O {}.",
        ns(i.sleep_length_ns),
        ns(i.delta_tick_ns),
        if i.tick_stopped { "yes" } else { "no" },
        ns(i.latency_limit_ns),
        i.util,
        i.iowait
    )
}
