// SPDX-License-Identifier: GPL-2.0-only
//! Is the tick's timer found in recordings that hold neither the names of functions nor `tick_stop`?

use idlewise_madetraces::ctf::{Lttng, open};
use idlewise_model::{Event, EventKind, HrtimerMode, TickGrid};

const TICK: u64 = 0xffff_ffff_8111_0000;
const WAKEUP: u64 = 0xffff_ffff_8111_1000;
const OTHER: u64 = 0xffff_ffff_8111_2000;

/// Events of a few CPUs, in order of time.
#[derive(Default)]
struct Told(Vec<Event>);

impl Told {
    fn at(&mut self, cpu: u32, ts_ns: u64, pid: i32, kind: EventKind) {
        self.0.push(Event { ts_ns, cpu, pid, kind });
    }

    fn switch(&mut self, cpu: u32, ts_ns: u64, prev_pid: i32, next_pid: i32) {
        let kind =
            EventKind::SchedSwitch { prev_pid, prev_prio: 120, prev_state: 1, next_pid, next_prio: 120 };
        self.at(cpu, ts_ns, prev_pid, kind);
    }

    fn arm(&mut self, cpu: u32, ts_ns: u64, pid: i32, timer: u64, function: u64, expires: u64) {
        let expires = expires as i64;
        let kind = EventKind::HrtimerStart {
            hrtimer: timer,
            function,
            expires,
            softexpires: expires,
            mode: HrtimerMode(0),
            was_armed: None,
        };
        self.at(cpu, ts_ns, pid, kind);
    }

    /// The timer fires, as an older kernel records it.
    fn fire(&mut self, cpu: u32, ts_ns: u64, timer: u64, function: u64) {
        self.at(cpu, ts_ns - 500, 7, EventKind::HrtimerCancel { hrtimer: timer });
        let kind = EventKind::HrtimerExpireEntry { hrtimer: timer, function, now: ts_ns as i64 };
        self.at(cpu, ts_ns, 7, kind);
        self.at(cpu, ts_ns + 200, 7, EventKind::HrtimerExpireExit { hrtimer: timer });
    }

    /// `times` periods of a timer that its own handler arms.
    fn periodic(&mut self, cpu: u32, from_ns: u64, timer: u64, function: u64, period_ns: u64, times: u64) {
        for k in 0..times {
            let due = from_ns + k * period_ns;
            self.fire(cpu, due + 1_000, timer, function);
            self.arm(cpu, due + 1_500, 7, timer, function, due + period_ns);
        }
    }

    /// The tick's function, as the reader of a CTF trace of this finds it, and why.
    fn tick(&self) -> Option<(u64, String)> {
        let mut events = self.0.clone();
        events.sort_by_key(|e| e.ts_ns);
        let file = open(Lttng::default().write(&events));
        let found = [TICK, WAKEUP, OTHER].into_iter().find(|f| file.meta().function(*f).is_some())?;
        Some((found, file.meta().notes.iter().map(|n| n.words.as_str()).collect::<Vec<_>>().join(" ")))
    }
}

#[test]
fn a_timer_for_each_cpu_with_a_ticks_period_is_the_ticks() {
    for hz in [100, 250, 300, 1000] {
        let period = TickGrid::period_of(hz);
        let mut t = Told::default();
        for cpu in 0..4 {
            t.periodic(cpu, 50_000_000 + u64::from(cpu) * 250_000, 0x100 + u64::from(cpu), TICK, period, 30);
        }
        let (function, why) = t.tick().unwrap();
        assert_eq!(function, TICK);
        let expected = format!("one timer on each of 4 CPUs, armed 116 times by its own handler, at HZ {hz}");
        assert!(why.contains(&expected), "{why}");
    }
}

#[test]
fn other_periodic_timers_are_not_the_ticks() {
    let ms = 1_000_000;
    // A watchdog every 4 s on each CPU: no HZ.
    let mut t = Told::default();
    (0..2).for_each(|cpu| t.periodic(cpu, ms, 0x200 + u64::from(cpu), OTHER, 4_000 * ms, 40));
    assert_eq!(t.tick(), None);
    // One timer that moves from CPU to CPU.
    let mut t = Told::default();
    (0..40).for_each(|k| t.periodic(k as u32 % 2, (1 + 4 * k) * ms, 0x200, OTHER, 4 * ms, 1));
    assert_eq!(t.tick(), None);
    // Two on one CPU.
    let mut t = Told::default();
    (0..2).for_each(|k| t.periodic(0, ms + k * 1_000, 0x200 + k, OTHER, 4 * ms, 40));
    assert_eq!(t.tick(), None);
    // A task that sleeps to the next millisecond: it is armed by the task, not by its handler.
    let mut t = Told::default();
    for k in 0..60 {
        t.fire(0, (10 + k) * ms + 1_000, 0x300, WAKEUP);
        t.switch(0, (10 + k) * ms + 2_000, 0, 42);
        t.arm(0, (10 + k) * ms + 3_000, 42, 0x300, WAKEUP, (11 + k) * ms);
        t.switch(0, (10 + k) * ms + 4_000, 42, 0);
    }
    assert_eq!(t.tick(), None);
    // Too few to tell.
    let mut t = Told::default();
    t.periodic(0, ms, 0x100, TICK, 4 * ms, 10);
    assert_eq!(t.tick(), None);
}

#[test]
fn of_two_such_timers_the_ticks_is_the_one_that_the_idle_task_arms() {
    let ms = 1_000_000;
    let mut t = Told::default();
    for cpu in 0..2 {
        // Counters that take turns, as often as the tick.
        t.periodic(cpu, 100_000, 0x200 + u64::from(cpu), OTHER, 4 * ms, 60);
        t.periodic(cpu, 4 * ms, 0x100 + u64::from(cpu), TICK, 4 * ms, 30);
        t.switch(cpu, 125 * ms, 7, 0);
        t.arm(cpu, 126 * ms, 0, 0x100 + u64::from(cpu), TICK, 200 * ms);
    }
    assert_eq!(t.tick().unwrap().0, TICK);
}

#[test]
fn no_function_behind_the_ticks_is_taken_for_it() {
    let ms = 1_000_000;
    let mut t = Told::default();
    t.periodic(0, 4 * ms, 0x100, TICK, 4 * ms, 40);
    for k in 0..9 {
        t.arm(0, (5 + 16 * k) * ms, 42, 0x200, OTHER, (7 + 16 * k) * ms);
        t.fire(0, (7 + 16 * k) * ms + 1_000, 0x200, OTHER);
    }
    t.0.sort_by_key(|e| e.ts_ns);
    let file = open(Lttng::default().write(&t.0));
    let events = file.events().unwrap();
    assert_eq!((events.symbol(TICK), events.symbol(OTHER)), (Some("tick_nohz_handler"), None));
}
