// SPDX-License-Identifier: GPL-2.0-only
//! A governor that answers as scripted and remembers what it was asked, and small tables.

use std::collections::VecDeque;

use idlewise_governor::{Choice, Device, Inputs};
use idlewise_idle::{Chooser, Entered, IdleCpu, Left, Moment, NEVER_AT_NS, TickAhead, Timers};
use idlewise_model::{Entry, IdleState, IdleTable, NO_LATENCY_LIMIT_NS, TickGrid, WakeCause};

/// HZ 250.
pub const T: u64 = 4_000_000;
/// A tick of [`GRID`].
pub const TICK: u64 = 1_000_000_700;
/// Ticks every 4 ms, not on multiples of 4 ms.
pub const GRID: TickGrid = TickGrid { period_ns: T, phase_ns: TICK % T };

/// Answers from a list, the last answer over and over; keeps what it was asked and told.
#[derive(Default)]
pub struct Script {
    pub answers: VecDeque<Choice>,
    pub asked: Vec<Inputs>,
    pub ahead: Vec<TickAhead>,
    pub told: Vec<(usize, u64)>,
    pub residencies: Vec<i64>,
    pub masks: Vec<u16>,
    pub device: Device,
}

impl Script {
    pub fn new(answers: &[(i32, bool)]) -> Self {
        let choice =
            |&(index, stop_tick): &(i32, bool)| Choice { index, stop_tick, asked_sleep_length: true };
        Self { answers: answers.iter().map(choice).collect(), ..Self::default() }
    }
}

impl Chooser for Script {
    fn select(&mut self, inputs: &Inputs, _moment: &Moment, tick: TickAhead) -> Choice {
        self.asked.push(*inputs);
        self.ahead.push(tick);
        let answer = self.answers.pop_front().expect("the script has no answer left");
        if self.answers.is_empty() {
            self.answers.push_back(answer);
        }
        answer
    }

    fn reflect(&mut self, entered: usize, now_ns: u64) {
        self.told.push((entered, now_ns));
        self.residencies.push(self.device.last_residency_ns);
    }

    fn device(&mut self) -> &mut Device {
        &mut self.device
    }

    fn set_disabled(&mut self, mask: u16) {
        self.masks.push(mask);
    }
}

/// A state; times in us, the entry part of the exit latency last.
pub fn state(exit_us: i64, residency_us: i64, entry_us: i64) -> IdleState {
    IdleState {
        name: format!("S{residency_us}"),
        exit_latency_ns: exit_us * 1000,
        target_residency_ns: residency_us * 1000,
        entry_ns: entry_us * 1000,
        polling: false,
        disabled: false,
    }
}

/// POLL 0/0, C1 2/2, C1E 10/20, C6 133/600 (us); C6 takes 33 us on the way in.
pub fn table() -> IdleTable {
    let poll = IdleState { polling: true, ..state(0, 0, 0) };
    IdleTable::new(vec![poll, state(2, 2, 0), state(10, 20, 0), state(133, 600, 33)]).unwrap()
}

/// Asked at `start_ns` with these timers, nothing else special.
pub fn moment(start_ns: u64, hrtimer_at_ns: u64, wheel_at_ns: u64) -> Moment {
    Moment {
        start_ns,
        timers: Timers::Pending {
            hrtimer_at_ns,
            wheel_at_ns,
            stale_event_at_ns: NEVER_AT_NS,
            tick_needed: false,
        },
        latency_limit_ns: NO_LATENCY_LIMIT_NS,
        util: 0,
        iowait: 0,
        random: 0,
        wake_at_ns: NEVER_AT_NS,
        stop_pays: true,
    }
}

/// No timer is pending.
pub fn quiet(start_ns: u64) -> Moment {
    moment(start_ns, NEVER_AT_NS, NEVER_AT_NS)
}

/// An interrupt that woke the CPU out of `entered` at once and took no time.
pub fn left(entered: usize, at_ns: u64) -> Left {
    Left {
        entered,
        wake_at_ns: at_ns,
        exit_at_ns: at_ns,
        running_at_ns: at_ns,
        handled_at_ns: at_ns,
        cause: WakeCause::Irq,
        tick_ran: false,
    }
}

/// A CPU in its idle task since `now_ns`.
pub fn idle_since(table: &IdleTable, now_ns: u64) -> IdleCpu<'_> {
    let mut idle = IdleCpu::new(3, table, GRID);
    idle.begin_visit(now_ns);
    idle
}

/// One iteration: in at `at`, out of the selected state at `at + ns`.
pub fn iterate(idle: &mut IdleCpu<'_>, script: &mut Script, at: u64, ns: u64) -> (Entered, Entry) {
    let mut ledger: Vec<Entry> = Vec::new();
    let entered = idle.enter(script, &quiet(at));
    idle.leave(script, &left(entered.state, at + ns), &mut ledger);
    (entered, ledger.pop().unwrap())
}
