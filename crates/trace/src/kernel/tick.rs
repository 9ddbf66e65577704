// SPDX-License-Identifier: GPL-2.0-only
//! Which timer is the tick, for recordings that do not hold the kernel's symbols.
//!
//! Before a CPU sleeps without its tick, the kernel says so (`timer:tick_stop`) and then starts the tick's own timer
//! anew, to fire when the next timer is due: so the function of the timer that is started right after is the tick's.

use std::collections::BTreeMap;

use idlewise_model::EventKind;

use crate::Stream;
use crate::meta::TraceMeta;
use crate::symbols::Symbols;

/// So many events are looked at.
const LOOKED_AT: usize = 500_000;
/// So often the ticks of CPUs must have been stopped.
const ENOUGH: u32 = 5;
/// The tick's function by its newest name (since 6.10; `tick_sched_timer` before).
const NAME: &str = "tick_nohz_handler";

/// The tick's function.
pub(crate) struct Tick {
    function: u64,
    /// How often it was started right after the tick was stopped, of so many times that any was.
    times: u32,
    of: u32,
}

/// Finds the function among the first events of a stream.
pub(crate) fn find(events: &mut dyn Stream) -> Option<Tick> {
    let mut stopped = BTreeMap::<u32, bool>::new();
    let mut started = BTreeMap::<u64, u32>::new();
    for _ in 0..LOOKED_AT {
        let Some(event) = events.next_event() else { break };
        match event.kind {
            EventKind::TickStop { success, .. } => {
                stopped.insert(event.cpu, success);
            }
            // Where functions are recorded by name there is nothing to find.
            EventKind::HrtimerStart { function, .. }
                if events.learned().function_name(function).is_some() =>
            {
                return None;
            }
            EventKind::HrtimerStart { function, .. } if stopped.remove(&event.cpu) == Some(true) => {
                *started.entry(function).or_default() += 1;
            }
            // Restarting the tick cancels it first; all else means that it was not restarted.
            EventKind::HrtimerCancel { .. } => {}
            _ => {
                stopped.remove(&event.cpu);
            }
        }
    }
    let of = started.values().sum();
    let (function, times) = started.into_iter().max_by_key(|(_, times)| *times)?;
    (function != 0 && times >= ENOUGH && times > of / 10 * 9).then_some(Tick { function, times, of })
}

impl Tick {
    /// Names the function in `meta`, with a note.
    pub(crate) fn tell(self, meta: &mut TraceMeta) {
        let Self { function, times, of } = self;
        meta.symbols = Symbols::new(format!("{function:x} t {NAME}\n").into_bytes());
        meta.notes.push(format!(
            "timers have no names here: the timer function at {function:#x} is taken for the tick's, because it was \
             started right after the tick was stopped {times} times of {of}"
        ));
    }
}
