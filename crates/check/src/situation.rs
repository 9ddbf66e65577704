// SPDX-License-Identifier: GPL-2.0-only
//! Drawn idle periods for others than `idlewise check`.

use idlewise_model::IdleTable;

use crate::draw::Draw;
use crate::machine::Machine;
use crate::step::End;

/// An idle period as `idlewise check` draws them: times at the edges of what governors tell apart among them, timers and interrupts in
/// turn, for a while of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Time to the next timer, ns; may be negative, or far beyond every recording.
    pub timer_ns: i64,
    /// From entry to the wakeup, ns.
    pub woken_ns: u64,
    /// Utilisation of the CPU, 0 to 1024.
    pub util: u32,
    /// Tasks that wait for I/O.
    pub iowait: u32,
}

/// `count` idle periods of the sequence number `n` of `seed`, for a CPU with the states of `table` and `hz` ticks a second. Refused
/// entries are left out.
#[must_use]
pub fn situations(table: &IdleTable, hz: u32, seed: u64, n: u64, count: usize) -> Vec<Situation> {
    let machine = Machine { name: "drawn", table: table.clone(), hz, capacity: 1024 };
    let mut draw = Draw::new(&machine, seed, n);
    let situation = |()| {
        let step = draw.step(1);
        let End::Woken { after_ns, .. } = step.end else { return None };
        let (timer_ns, util, iowait) = (step.timer_ns, step.util, step.iowait);
        Some(Situation { timer_ns, woken_ns: after_ns, util, iowait })
    };
    std::iter::repeat(()).filter_map(situation).take(count).collect()
}
