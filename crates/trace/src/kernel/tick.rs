// SPDX-License-Identifier: GPL-2.0-only
//! Which timer is the tick, for recordings that do not hold the kernel's symbols.
//!
//! Before a CPU sleeps without its tick, the kernel says so (`timer:tick_stop`) and then starts the tick's own timer
//! anew, to fire when the next timer is due: so the function of the timer that is started right after is the tick's.
//!
//! Recordings without that event have it in the timers themselves ([`Periods`]): the tick's function has one timer for each
//! CPU, which its handler arms again one period of a usual HZ later.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::{EventKind, NoteId, TickGrid};

use crate::meta::TraceMeta;
use crate::reader::Stream;
use crate::symbols::Symbols;

/// So many events are looked at.
const LOOKED_AT: usize = 500_000;
/// So often the ticks of CPUs must have been stopped.
const ENOUGH: u32 = 5;
/// The tick's function by its newest name (since 6.10; `tick_sched_timer` before).
const NAME: &str = "tick_nohz_handler";
/// So often must a function's timers have been armed by their handlers, all but one in so many of these times a period on.
const ENOUGH_PERIODS: u32 = 20;
const BUT_ONE_IN: u32 = 4;
/// HZ that kernels are built with.
const HZ: std::ops::RangeInclusive<u64> = 24..=1200;

/// The tick's function, and how it gave itself away.
pub(crate) struct Tick {
    function: u64,
    why: String,
}

/// Finds the function among the first events of a stream.
pub(crate) fn find(events: &mut dyn Stream) -> Option<Tick> {
    let mut stopped = BTreeMap::<u32, bool>::new();
    let mut started = BTreeMap::<u64, u32>::new();
    let mut periods = Periods::default();
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
            EventKind::HrtimerStart { hrtimer, function, expires, .. } => {
                if stopped.remove(&event.cpu) == Some(true) {
                    *started.entry(function).or_default() += 1;
                }
                periods.started(event.cpu, event.pid, (hrtimer, function), expires);
            }
            // Restarting the tick cancels it first; all else means that it was not restarted.
            EventKind::HrtimerCancel { .. } => {}
            _ => {
                stopped.remove(&event.cpu);
            }
        }
        match event.kind {
            EventKind::HrtimerExpireEntry { hrtimer, .. } => {
                periods.fired.insert(event.cpu, hrtimer);
            }
            EventKind::SchedSwitch { .. } => {
                periods.fired.remove(&event.cpu);
            }
            _ => {}
        }
    }
    let of: u32 = started.values().sum();
    match started.into_iter().max_by_key(|(_, times)| *times) {
        Some((function, times)) if function != 0 && times >= ENOUGH && times > of / 10 * 9 => Some(Tick {
            function,
            why: format!("it was started right after the tick was stopped {times} times of {of}"),
        }),
        _ => periods.tick(),
    }
}

/// Timers that their own handlers arm again.
#[derive(Default)]
struct Periods {
    functions: BTreeMap<u64, Function>,
    /// The timer whose handler ran last on each CPU, since it last changed its task.
    fired: BTreeMap<u32, u64>,
}

#[derive(Default)]
struct Function {
    timers: BTreeMap<u64, Timer>,
    /// Distances of expiries that the handlers made, ns.
    steps: BTreeMap<i64, u32>,
    /// Times that the idle task armed one, outside of its handler: when a CPU begins or ends to sleep without its tick.
    by_idle_task: u32,
}

#[derive(Default)]
struct Timer {
    cpus: BTreeSet<u32>,
    expires: Option<i64>,
}

impl Periods {
    fn started(&mut self, cpu: u32, pid: i32, (timer, function): (u64, u64), expires: i64) {
        let by_handler = self.fired.remove(&cpu) == Some(timer);
        let of = self.functions.entry(function).or_default();
        of.by_idle_task += u32::from(!by_handler && pid == 0);
        let timer = of.timers.entry(timer).or_default();
        timer.cpus.insert(cpu);
        let before = timer.expires.replace(expires);
        if let Some(before) = before.filter(|_| by_handler) {
            *of.steps.entry(expires.saturating_sub(before)).or_default() += 1;
        }
    }

    fn tick(self) -> Option<Tick> {
        let ticks = self.functions.into_iter().filter_map(|(function, of)| Some((of.tick()?, function)));
        // Other functions may be periodic on each CPU; only the tick is stopped and started by the idle task.
        let ((_, cpus, times, hz), function) = ticks.filter(|(_, function)| *function != 0).max()?;
        let cpus = if cpus == 1 { "one CPU".to_owned() } else { format!("each of {cpus} CPUs") };
        let why = format!("it has one timer on {cpus}, armed {times} times by its own handler, at HZ {hz}");
        Some(Tick { function, why })
    }
}

impl Function {
    /// If it can be the tick's: whether the idle task arms it, on how many CPUs, how often it was armed a period on, HZ.
    fn tick(&self) -> Option<(bool, usize, u32, u64)> {
        let cpus: BTreeSet<u32> = self.timers.values().flat_map(|t| &t.cpus).copied().collect();
        let one_each = cpus.len() == self.timers.len() && self.timers.values().all(|t| t.cpus.len() == 1);
        let all: u32 = self.steps.values().sum();
        let (step, times) = self.steps.iter().max_by_key(|(_, times)| **times)?;
        let step = u64::try_from(*step).ok().filter(|step| *step > 0)?;
        let hz = (1_000_000_000 + step / 2) / step;
        let period = u32::try_from(hz).is_ok_and(|hz| TickGrid::period_of(hz) == step) && HZ.contains(&hz);
        let mostly = *times >= ENOUGH_PERIODS
            && times.saturating_mul(BUT_ONE_IN) >= all.saturating_mul(BUT_ONE_IN - 1);
        (one_each && period && mostly).then_some((self.by_idle_task > 0, cpus.len(), *times, hz))
    }
}

impl Tick {
    /// Names the function in `meta`, with a note.
    pub(crate) fn tell(self, meta: &mut TraceMeta) {
        let Self { function, why } = self;
        meta.symbols = Symbols::new(format!("{function:x} t {NAME}\n").into_bytes());
        meta.note(NoteId::Reader, format!(
            "timers have no names here: the timer function at {function:#x} is taken for the tick's, because {why}"
        ));
    }
}
