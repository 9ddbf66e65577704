// SPDX-License-Identifier: GPL-2.0-only
//! Does a replay come out as one computes it by hand? Small workloads under a governor that answers as scripted.

use idlewise_idle::{Hindsight, Lesson, NEVER_AT_NS, Oracle};
use idlewise_madeinput::idle_loop::{GRID, Script, T, TICK, state, table};
use idlewise_model::{
    Change, Confidence, Entry, IdleState, IdleTable, LoopCosts, MAX_STATES, Miss, NO_LATENCY_LIMIT_NS,
    Outcome, Prices, StatePrice, TickChoice, WakeCause,
};
use idlewise_replay::{Refusal, RunCounts, Setting, Workload, WorkloadEvent, run};
use proptest::prelude::*;

const US: u64 = 1_000;
const POLL: i32 = 0;
const C1: i32 = 1;
const C1E: i32 = 2;
const C6: i32 = 3;
/// What the tick's handlers take in these workloads.
const TICK_WORK: u64 = 5 * US;
const ELSEWHERE: Setting = Setting::new(false, 1);
const SAME: Setting = Setting::new(true, 1);

/// An interrupt that wakes a task: asked at `TICK + start`, comes at `TICK + at`; a visit of its own.
fn event(start: u64, at: u64) -> WorkloadEvent {
    WorkloadEvent {
        start_ns: TICK + start,
        at_ns: TICK + at,
        hrtimer_at_ns: NEVER_AT_NS,
        wheel_at_ns: NEVER_AT_NS,
        stale_event_at_ns: NEVER_AT_NS,
        exit_lag_ns: 7_000,
        response_ns: 3_000,
        handler_ns: 0,
        entry_lag_ns: 0,
        util: 0,
        iowait: 0,
        state: C1E as u8,
        cause: WakeCause::Irq,
        visit_start: true,
        visit_end: true,
        tick_off: false,
        tick_needed_ns: 0,
        timers: Confidence::Recorded,
    }
}

/// The parts of one visit: all but the last wake nobody.
fn visit(mut events: Vec<WorkloadEvent>) -> Vec<WorkloadEvent> {
    let last = events.len() - 1;
    for (i, e) in events.iter_mut().enumerate() {
        (e.visit_start, e.visit_end) = (i == 0, i == last);
    }
    events
}

fn workload(events: Vec<WorkloadEvent>) -> Workload {
    Workload {
        cpu: 2,
        grid: GRID,
        tick_handler_ns: TICK_WORK,
        events: events.into(),
        latency: vec![],
        disabled: vec![],
        refusals: vec![],
    }
}

struct Played {
    script: Script,
    ledger: Vec<Entry>,
    counts: RunCounts,
}

fn play_on(table: &IdleTable, w: &Workload, setting: Setting, answers: &[(i32, bool)]) -> Played {
    let mut script = Script::new(answers);
    let mut ledger: Vec<Entry> = Vec::new();
    let counts = run(w, table, 1024, setting, &mut script, &mut ledger).unwrap();
    assert_eq!(counts.decisions as usize, script.asked.len());
    Played { script, ledger, counts }
}

fn play(events: Vec<WorkloadEvent>, answers: &[(i32, bool)]) -> Played {
    play_on(&table(), &workload(events), ELSEWHERE, answers)
}

/// Start, residency, wake, latency in ns from the last tick, and cause.
fn brief(ledger: &[Entry]) -> Vec<(u64, u64, u64, u64, WakeCause)> {
    let row = |e: &Entry| {
        (e.start_ns - TICK, e.residency_ns as u64, e.wake_ns as u64, e.latency_ns as u64, e.cause)
    };
    ledger.iter().map(row).collect()
}

// ---- What the idle loop takes, and the oracle's price for it.

/// Running costs 10 mW, the only state 1 mW; a tick kept costs its 5 us of work.
fn ticks_of(tick_stop_ns: u32, events: Vec<WorkloadEvent>) -> Vec<TickChoice> {
    let table = IdleTable::new(vec![state(0, 0, 0)]).unwrap();
    let costs = LoopCosts { tick_stop_ns, ..LoopCosts::NONE };
    let mut prices = Prices { states: [StatePrice::default(); MAX_STATES], active_uw: 10_000, costs };
    prices.states[0].power_uw = 1_000;
    let setting = Setting { prices: Some(prices), ..ELSEWHERE };
    let mut ledger: Vec<Entry> = Vec::new();
    run(&workload(events), &table, 1024, setting, &mut Oracle::new(&table, Some(prices)), &mut ledger)
        .unwrap();
    let paid = |e: &Entry| if e.tick == TickChoice::Stopped { tick_stop_ns } else { 0 };
    assert!(ledger.iter().all(|e| e.loop_ns == paid(e)), "{ledger:?}");
    ledger.iter().map(|e| e.tick).collect()
}

#[test]
fn the_oracle_stops_the_tick_where_that_costs_less_than_all_that_would_come() {
    use TickChoice::{Kept, Stopped, WasStopped};
    // Five us of work cost nine tenths of that beyond the sleep: 4.5 us of running.
    let one_tick = || vec![event(1_000, T + 2_000 * US)];
    assert_eq!(ticks_of(4_400, one_tick()), [Stopped]);
    assert_eq!(ticks_of(4_600, one_tick()), [Kept, Kept]);
    // A tick in each of two waits of one visit: stopping it once spares both.
    let both = || visit(vec![event(1_000, T + 500 * US), event(T + 600 * US, 2 * T + 900 * US)]);
    assert_eq!(ticks_of(8_900, both()), [Stopped, WasStopped]);
    assert_eq!(ticks_of(9_100, both()), [Kept, Kept, Kept, Kept]);
    // In visits of their own each would be paid for.
    let apart = || vec![event(1_000, T + 500 * US), event(T + 600 * US, 2 * T + 900 * US)];
    assert_eq!(ticks_of(8_900, apart()), [Kept, Kept, Kept, Kept]);
}

// ---- The tick comes back where the governor keeps it.

#[test]
fn a_tick_that_a_task_left_stopped_stays_so_in_that_visit() {
    let of = |tick_off: bool| {
        let first = WorkloadEvent { tick_off, ..event(1_000, T + 500 * US) };
        let played = play(vec![first, event(T + 600 * US, 2 * T + 500 * US)], &[(C1, false)]);
        let asked: Vec<bool> = played.script.asked.iter().map(|a| a.tick_stopped).collect();
        (asked, played.ledger.iter().map(|e| (e.tick, e.cause)).collect::<Vec<_>>())
    };
    let kept = [(TickChoice::Kept, WakeCause::Tick), (TickChoice::Kept, WakeCause::Irq)];
    assert_eq!(of(false), (vec![false; 4], [kept, kept].concat()));
    let off = [(TickChoice::WasStopped, WakeCause::Irq)];
    assert_eq!(of(true), (vec![true, false, false], [&off[..], &kept[..]].concat()));
}

#[test]
fn a_kept_tick_wakes_at_its_grid_and_the_governor_is_asked_again() {
    // C1E takes 10 us to leave; the tick's work 5 us more.
    let at = 2 * T + 2_000 * US;
    let p = play(vec![event(1_000, at)], &[(C1E, false)]);
    assert_eq!(
        brief(&p.ledger),
        [
            (1_000, T - 1_000 + 10 * US, T - 1_000, 10 * US, WakeCause::Tick),
            (T + 15 * US, T - 15 * US + 10 * US, T - 15 * US, 10 * US, WakeCause::Tick),
            (2 * T + 15 * US, 1_985 * US + 10 * US, 1_985 * US, 10 * US, WakeCause::Irq),
        ]
    );
    assert!(p.ledger.iter().all(|e| e.tick == TickChoice::Kept && e.selected == C1E as u8 && e.cpu == 2));
    assert_eq!(p.ledger.iter().map(|e| e.tick_ns).collect::<Vec<_>>(), [5_000, 5_000, 0]);
    assert_eq!(p.counts, RunCounts { decisions: 3, ..RunCounts::default() });
    assert!(p.script.device.got_tick);
    // "now" of each query is the end of the tick's work.
    let deltas: Vec<i64> = p.script.asked.iter().map(|i| i.delta_tick_ns).collect();
    assert_eq!(deltas, [T - 1_000, T - 15_000, T - 15_000].map(|n| n as i64));
}

#[test]
fn a_stopped_tick_lets_the_cpu_sleep_to_the_event() {
    let at = 2 * T + 2_000 * US;
    let p = play(vec![event(1_000, at)], &[(C6, true)]);
    assert_eq!(brief(&p.ledger), [(1_000, at - 1_000 + 100 * US, at - 1_000, 100 * US, WakeCause::Irq)]);
    assert_eq!((p.ledger[0].tick, p.script.device.got_tick), (TickChoice::Stopped, false));
}

#[test]
fn a_governor_may_stop_the_tick_after_it_woke_the_cpu() {
    let at = 3 * T;
    let p = play(vec![event(1_000, at)], &[(C1E, false), (C1E, true)]);
    let ticks: Vec<_> = p.ledger.iter().map(|e| (e.cause, e.tick)).collect();
    assert_eq!(ticks, [(WakeCause::Tick, TickChoice::Kept), (WakeCause::Irq, TickChoice::Stopped)]);
}

#[test]
fn an_event_at_the_very_tick_is_the_event() {
    let p = play(vec![event(1_000, T)], &[(C1E, false)]);
    assert_eq!(brief(&p.ledger), [(1_000, T - 1_000 + 10 * US, T - 1_000, 10 * US, WakeCause::Irq)]);
    assert!(p.script.device.got_tick, "the tick is handled with it");
}

#[test]
fn a_tick_that_falls_due_during_the_exit_is_handled_with_the_event() {
    // C6 takes 100 us to leave; the event comes 50 us before the tick.
    let p = play(vec![event(1_000, T - 50 * US)], &[(C6, false)]);
    assert_eq!((p.ledger.len(), p.ledger[0].cause, p.script.device.got_tick), (1, WakeCause::Irq, true));
    let early = play(vec![event(1_000, T - 150 * US)], &[(C6, false)]);
    assert!(!early.script.device.got_tick);
}

#[test]
fn a_wheel_timer_is_run_by_the_ticks_handler_even_where_the_tick_is_stopped() {
    for (cause, got_tick) in [(WakeCause::Wheel, true), (WakeCause::Hrtimer, false), (WakeCause::Ipi, false)]
    {
        let p = play(vec![WorkloadEvent { cause, ..event(1_000, 5 * T) }], &[(C6, true)]);
        assert_eq!((p.ledger[0].cause, p.script.device.got_tick), (cause, got_tick));
    }
}

#[test]
fn the_wheel_and_the_kernels_own_needs_keep_the_tick_against_the_governors_wish() {
    let wheel = WorkloadEvent { wheel_at_ns: TICK + T, ..event(1_000, T + 500 * US) };
    let needed = WorkloadEvent { tick_needed_ns: u32::MAX, ..event(1_000, T + 500 * US) };
    for e in [wheel, needed] {
        let p = play(vec![e], &[(C1, true)]);
        let ticks: Vec<_> = p.ledger.iter().map(|e| (e.cause, e.tick)).collect();
        assert_eq!(ticks[0], (WakeCause::Tick, TickChoice::Kept));
        assert_eq!(ticks[1].0, WakeCause::Irq);
    }
}

#[test]
fn the_kernel_lets_go_of_the_tick_when_it_needs_it_no_more() {
    let e = WorkloadEvent { tick_needed_ns: T as u32, ..event(1_000, 3 * T) };
    let p = play(vec![e], &[(C1, true)]);
    let ticks: Vec<_> = p.ledger.iter().map(|e| (e.cause, e.tick)).collect();
    assert_eq!(ticks, [(WakeCause::Tick, TickChoice::Kept), (WakeCause::Irq, TickChoice::Stopped)]);
}

#[test]
fn a_timer_whose_time_went_by_without_a_wake_keeps_the_tick_no_longer() {
    // A wheel timer at the first tick that another CPU ran.
    let e = WorkloadEvent { wheel_at_ns: TICK + T, ..event(1_000, 3 * T) };
    let p = play(vec![e], &[(C1, true)]);
    let ticks: Vec<_> = p.ledger.iter().map(|e| (e.cause, e.tick)).collect();
    assert_eq!(ticks, [(WakeCause::Tick, TickChoice::Kept), (WakeCause::Irq, TickChoice::Stopped)]);
    assert_eq!(p.script.asked[1].sleep_length_ns, NEVER_AT_NS.wrapping_sub(p.script.told[0].1) as i64);
}

#[test]
fn the_tick_runs_again_in_the_next_visit() {
    let p = play(vec![event(1_000, 2 * T), event(3 * T, 3 * T + 9 * US)], &[(C1, true), (C1, false)]);
    let stopped: Vec<bool> = p.script.asked.iter().map(|i| i.tick_stopped).collect();
    assert_eq!(stopped, [false, false]);
    assert_eq!(p.ledger.iter().map(|e| e.tick).collect::<Vec<_>>(), [TickChoice::Stopped, TickChoice::Kept]);
}

#[test]
fn within_a_visit_it_stays_stopped() {
    let events = visit(vec![event(1_000, 2 * T), event(2 * T + 20 * US, 4 * T)]);
    let p = play(events, &[(C1, true), (C1, false)]);
    assert_eq!(
        p.ledger.iter().map(|e| (e.tick, e.cause)).collect::<Vec<_>>(),
        [(TickChoice::Stopped, WakeCause::Irq), (TickChoice::WasStopped, WakeCause::Irq)]
    );
}

// ---- Exit latency.

#[test]
fn a_state_is_entered_completely_before_it_can_be_left() {
    // C6: 33 us in, 100 us out.
    for (wait, residency, latency) in
        [(0, 133, 133), (10, 133, 123), (33, 133, 100), (50, 150, 100), (900, 1000, 100)]
    {
        let p = play(vec![event(0, wait * US)], &[(C6, false)]);
        let e = p.ledger[0];
        assert_eq!(
            (e.residency_ns as u64, e.latency_ns as u64, e.wake_ns as u64),
            (residency * US, latency * US, wait * US),
            "an event after {wait} us"
        );
        let miss = if residency < 600 { Miss::Above } else { Miss::None };
        assert_eq!(e.outcome, Outcome::Stayed { entered: 3, miss });
    }
}

#[test]
fn handlers_of_the_wake_come_before_the_next_question_and_not_into_the_residency() {
    let first = WorkloadEvent { handler_ns: 40_000, ..event(0, 100 * US) };
    let p = play(visit(vec![first, event(105 * US, 900 * US)]), &[(C1E, false)]);
    assert_eq!(p.ledger[0].residency_ns, 110_000);
    assert_eq!(p.ledger[1].start_ns, TICK + 150 * US);
    assert_eq!(p.script.told[0].1, TICK + 150 * US, "reflect comes after the handlers");
}

#[test]
fn a_cpu_that_is_awake_early_waits_for_its_recorded_next_question() {
    let p = play(visit(vec![event(0, 100 * US), event(200 * US, 900 * US)]), &[(C1, false)]);
    assert_eq!(p.ledger[1].start_ns, TICK + 200 * US);
}

#[test]
fn the_recorded_exit_counts_on_the_same_machine_in_the_recorded_state_only() {
    let rows = [
        (SAME, C1E, 7, 3),
        (SAME, C1, 2, 2),
        (SAME, C6, 100, 100),
        (ELSEWHERE, C1E, 10, 10),
        (ELSEWHERE, C1, 2, 2),
    ];
    for (setting, answer, exit_us, latency_us) in rows {
        let p = play_on(&table(), &workload(vec![event(0, 700 * US)]), setting, &[(answer, false)]);
        let e = p.ledger[0];
        assert_eq!((e.residency_ns as u64, e.latency_ns as u64), ((700 + exit_us) * US, latency_us * US));
    }
    // The tick is not in the recording's workload: it wakes as declared.
    let p = play_on(&table(), &workload(vec![event(0, T + 700 * US)]), SAME, &[(C1E, false)]);
    assert_eq!((p.ledger[0].cause, p.ledger[0].latency_ns), (WakeCause::Tick, 10_000));
    assert_eq!(p.ledger[1].latency_ns, 3_000);
}

// ---- Events that come while the CPU is awake.

#[test]
fn an_event_that_comes_while_the_cpu_is_awake_from_a_tick_is_overtaken() {
    // Out of C6 at the tick plus 100 us, done 5 us later.
    let p = play(vec![event(0, T + 104 * US), event(2 * T, 2 * T + 9 * US)], &[(C6, false)]);
    assert_eq!(p.counts.overtaken, 1);
    assert_eq!(p.ledger.iter().map(|e| e.cause).collect::<Vec<_>>(), [WakeCause::Tick, WakeCause::Irq]);
    // At the very moment the CPU is ready, it is asked.
    let p = play(vec![event(0, T + 105 * US)], &[(C6, false)]);
    assert_eq!((p.counts.overtaken, p.ledger.len()), (0, 2));
}

#[test]
fn an_event_that_comes_during_a_slow_exit_is_overtaken() {
    // Out of C6 at 200 us; the second event came at 150 us, the third at 210 us.
    let events = visit(vec![event(0, 100 * US), event(110 * US, 150 * US), event(160 * US, 210 * US)]);
    let p = play(events, &[(C6, false)]);
    assert_eq!((p.counts.overtaken, p.counts.decisions), (1, 2));
    assert_eq!(brief(&p.ledger)[1].0, 200 * US);
}

#[test]
fn an_overtaken_event_waited_for_the_exit_but_not_for_the_handlers_behind_it() {
    struct Waits(Vec<u64>);
    impl idlewise_model::Ledger for Waits {
        fn entry(&mut self, _: &Entry) {}
        fn overtaken(&mut self, latency_ns: u64) {
            self.0.push(latency_ns);
        }
    }
    let waits = |second: u64| {
        let slow = WorkloadEvent { handler_ns: 20_000, ..event(0, 100 * US) };
        let w = workload(visit(vec![slow, event(110 * US, second)]));
        let mut waits = Waits(Vec::new());
        run(&w, &table(), 1024, ELSEWHERE, &mut Script::new(&[(C6, true)]), &mut waits).unwrap();
        waits.0
    };
    // Out of C6 at 200 us, handlers until 220 us.
    assert_eq!(waits(150 * US), [50 * US]);
    assert!(waits(210 * US).is_empty());
}

// ---- Polling.

/// POLL gives up after 20 us here.
const LIMIT: u64 = 20 * US;

#[test]
fn polling_swallows_interrupts_that_wake_nobody() {
    let events = visit(vec![event(0, 5 * US), event(6 * US, 9 * US), event(10 * US, 15 * US)]);
    let p = play(events, &[(POLL, false)]);
    assert_eq!(brief(&p.ledger), [(0, 15 * US, 15 * US, 0, WakeCause::Irq)]);
    assert_eq!((p.counts.decisions, p.counts.overtaken), (1, 0));
    assert!(!p.script.device.poll_time_limit);
}

#[test]
fn polling_ends_at_its_limit_and_the_governor_is_asked_again() {
    let p = play(vec![event(0, 50 * US)], &[(POLL, false), (POLL, false), (C1, false)]);
    assert_eq!(
        brief(&p.ledger),
        [
            (0, LIMIT, LIMIT, 0, WakeCause::PollLimit),
            (LIMIT, LIMIT, LIMIT, 0, WakeCause::PollLimit),
            (2 * LIMIT, 12 * US, 10 * US, 2 * US, WakeCause::Irq),
        ]
    );
    // "now" is stale: no interrupt came between the questions.
    let deltas: Vec<i64> = p.script.asked.iter().map(|i| i.delta_tick_ns).collect();
    assert_eq!(deltas, [T as i64; 3]);
    assert!(p.script.device.poll_time_limit, "C1 leaves the flag alone");
    assert_eq!(p.script.device.poll_limit_ns, LIMIT);
}

#[test]
fn the_limit_counts_from_the_entry_not_from_the_last_interrupt() {
    let events = visit(vec![event(0, 12 * US), event(13 * US, 60 * US)]);
    let p = play(events, &[(POLL, false), (C1, false)]);
    assert_eq!(
        brief(&p.ledger),
        [(0, LIMIT, LIMIT, 0, WakeCause::PollLimit), (LIMIT, 42 * US, 40 * US, 2 * US, WakeCause::Irq)]
    );
    // The swallowed interrupt moved "now" to 12 us.
    assert_eq!(p.script.asked[1].delta_tick_ns, (T - 12 * US) as i64);
}

#[test]
fn an_event_at_the_very_limit_is_left_to_the_next_iteration() {
    let p = play(vec![event(0, LIMIT)], &[(POLL, false), (C1, false)]);
    assert_eq!(p.ledger.iter().map(|e| e.cause).collect::<Vec<_>>(), [WakeCause::PollLimit, WakeCause::Irq]);
    let p = play(vec![event(0, LIMIT - 1)], &[(POLL, false)]);
    assert_eq!(p.ledger.iter().map(|e| e.cause).collect::<Vec<_>>(), [WakeCause::Irq]);
}

#[test]
fn a_tick_inside_the_polling_loop_is_handled_there() {
    // Polling from 10 us before the tick; woken 8 us after it.
    let p = play(vec![event(T - 10 * US, T + 8 * US)], &[(POLL, false)]);
    assert_eq!(brief(&p.ledger), [(T - 10 * US, 18 * US, 18 * US, 0, WakeCause::Irq)]);
    assert!(p.script.device.got_tick, "the governor can learn of it");
    // At the limit "now" is the end of the tick's work, 5 us behind the tick.
    let p = play(vec![event(T - 10 * US, T + 400 * US)], &[(POLL, false), (C1, false)]);
    assert_eq!(p.ledger[0].cause, WakeCause::PollLimit);
    assert_eq!(p.script.asked[1].delta_tick_ns, (T - 5 * US) as i64);
    assert!(p.ledger.iter().all(|e| e.cause != WakeCause::Tick));
    // A tick at the very time of the waking interrupt is handled too.
    let p = play(vec![event(T - 10 * US, T)], &[(POLL, false)]);
    assert_eq!((p.ledger[0].residency_ns, p.script.device.got_tick), (15_000, true), "10 us and its handler");
}

#[test]
fn handlers_run_inside_the_polling_loop_and_its_measurement() {
    // 1.4: interrupts are on while it polls.
    let waking = WorkloadEvent { handler_ns: 4_000, ..event(0, 10 * US) };
    let p = play(vec![waking], &[(POLL, false)]);
    assert_eq!((p.ledger[0].residency_ns, p.ledger[0].latency_ns), (14_000, 0));
    assert_eq!(p.script.told[0].1, TICK + 14 * US);
    // One that wakes nobody and runs past the limit: the loop looks at the clock when it is done.
    let idle = WorkloadEvent { handler_ns: 10_000, ..event(0, 18 * US) };
    let p = play(visit(vec![idle, event(30 * US, 40 * US)]), &[(POLL, false), (C1, false)]);
    assert_eq!((p.ledger[0].cause, p.ledger[0].residency_ns), (WakeCause::PollLimit, 28_000));
}

#[test]
fn after_the_poll_limit_the_governor_is_asked_at_once() {
    // The interrupt at 12 us is handled in the loop; nothing keeps the CPU busy until the recorded 25 us.
    let p = play(visit(vec![event(0, 12 * US), event(25 * US, 60 * US)]), &[(POLL, false), (C1, false)]);
    assert_eq!(p.ledger[1].start_ns, p.ledger[0].start_ns + p.ledger[0].residency_ns as u64);
}

#[test]
fn a_recorded_polling_stay_is_left_as_recorded() {
    let recorded =
        WorkloadEvent { state: POLL as u8, exit_lag_ns: 7_000, response_ns: 3_000, ..event(0, 10 * US) };
    let p = play_on(&table(), &workload(vec![recorded]), SAME, &[(POLL, false)]);
    assert_eq!((p.ledger[0].latency_ns, p.ledger[0].residency_ns), (3_000, 17_000));
}

#[test]
fn a_slow_exit_shortens_the_next_wait() {
    let p = play(vec![event(0, 100 * US), event(110 * US, 900 * US)], &[(C6, true)]);
    assert_eq!(p.ledger[1].start_ns, p.ledger[0].start_ns + p.ledger[0].residency_ns as u64);
}

#[test]
fn polling_that_saw_the_limit_before_the_end_of_the_recording_stops_there() {
    // The only event wakes nobody, and nothing is known of what came then.
    let mut events = visit(vec![event(0, 5 * US)]);
    events[0].visit_end = false;
    let p = play(events, &[(POLL, false)]);
    assert_eq!(brief(&p.ledger), [(0, LIMIT, LIMIT, 0, WakeCause::PollLimit)]);
}

#[test]
fn a_polling_wake_of_one_visit_does_not_swallow_the_next() {
    let p = play(vec![event(0, 5 * US), event(8 * US, 12 * US)], &[(POLL, false)]);
    assert_eq!(
        brief(&p.ledger),
        [(0, 5 * US, 5 * US, 0, WakeCause::Irq), (8 * US, 4 * US, 4 * US, 0, WakeCause::Irq)]
    );
}

// ---- Inputs.

#[test]
fn now_of_a_visit_is_the_recorded_one() {
    let e = WorkloadEvent { entry_lag_ns: 700, hrtimer_at_ns: TICK + 9_000, ..event(1_000, 8_000) };
    let p = play(vec![e], &[(C1, false)]);
    assert_eq!(p.script.asked[0].sleep_length_ns, 9_000 - 300);
    assert_eq!(p.script.asked[0].now_ns, TICK + 1_000);
}

#[test]
fn utilisation_scales_with_the_capacity_and_iowait_does_not() {
    let w = workload(vec![WorkloadEvent { util: 1000, iowait: 3, ..event(0, 9 * US) }]);
    for (capacity, util) in [(1024, 1000), (512, 500), (1, 0)] {
        let mut script = Script::new(&[(C1, false)]);
        run(&w, &table(), capacity, ELSEWHERE, &mut script, &mut Vec::<Entry>::new()).unwrap();
        assert_eq!((script.asked[0].util, script.asked[0].iowait), (util, 3));
    }
}

#[test]
fn limits_and_disabled_states_hold_from_their_time_on() {
    let mut w = workload((0..5).map(|k| event(k * 100 * US, k * 100 * US + 9 * US)).collect());
    w.latency = vec![
        Change { at_ns: TICK + 100 * US, value: 50_000 },
        Change { at_ns: TICK + 250 * US, value: 0 },
        Change { at_ns: TICK + 251 * US, value: 7 },
    ];
    w.disabled =
        vec![Change { at_ns: TICK + 200 * US, value: 0b0110 }, Change { at_ns: TICK + 301 * US, value: 0 }];
    let p = play_on(&table(), &w, ELSEWHERE, &[(C1, false)]);
    let limits: Vec<i64> = p.script.asked.iter().map(|i| i.latency_limit_ns).collect();
    assert_eq!(limits, [NO_LATENCY_LIMIT_NS, 50_000, 50_000, 7, 7]);
    assert_eq!(p.script.masks, [0b0110, 0]);
}

#[test]
fn states_that_a_driver_switches_off_are_off_from_the_start() {
    let off = IdleState { disabled: true, ..state(133, 600, 33) };
    let table = IdleTable::new(vec![state(2, 2, 0), off]).unwrap();
    let mut w = workload(vec![event(0, 700 * US), event(800 * US, 900 * US)]);
    w.disabled = vec![Change { at_ns: TICK + 750 * US, value: 0b01 }];
    let p = play_on(&table, &w, ELSEWHERE, &[(0, false)]);
    assert_eq!(p.script.masks, [0b10, 0b11]);
    assert_eq!(p.ledger[0].outcome, Outcome::Stayed { entered: 0, miss: Miss::None }, "nothing deeper is on");
}

// ---- Entries that are refused.

/// Start and length in ns from the last tick, state, and whether it was entered.
fn entries(ledger: &[Entry]) -> Vec<(u64, i64, u8, bool)> {
    let row = |e: &Entry| (e.start_ns - TICK, e.wake_ns, e.selected, e.outcome != Outcome::Rejected);
    ledger.iter().map(row).collect()
}

#[test]
fn a_state_that_is_always_refused_is_never_entered_and_the_governor_is_asked_again() {
    let table = table().refusing(1 << C1E);
    let mut w = workload(vec![event(0, 700 * US)]);
    let answers = [(C1E, true), (C1E, true), (C1, true)];
    let p = play_on(&table, &w, ELSEWHERE, &answers);
    let us = US as i64;
    let asked = |took: i64| {
        let left = 700 * us - 2 * took;
        vec![
            (0, took, C1E as u8, false),
            (took as u64, took, C1E as u8, false),
            (2 * took as u64, left, C1 as u8, true),
        ]
    };
    assert_eq!(entries(&p.ledger), asked(20 * us));
    assert_eq!(p.script.told.len(), 1, "nobody is notified of a refused entry");
    let took = |ns: u64| Refusal { at_ns: 0, took_ns: ns, state: C1E as u8 };
    w.refusals = vec![took(9 * US), took(34 * US), took(11 * US)];
    let p = play_on(&table, &w, ELSEWHERE, &answers);
    assert_eq!(entries(&p.ledger), asked(11 * us), "as long as in the recording, in the middle");
}

#[test]
fn what_comes_during_a_refused_entry_waits_for_its_end() {
    let table = table().refusing(1 << C1E);
    let w = workload(vec![event(0, 5 * US), event(900 * US, 950 * US)]);
    let p = play_on(&table, &w, ELSEWHERE, &[(C1E, true), (C1, true)]);
    assert_eq!(p.counts.overtaken, 1);
    assert_eq!(entries(&p.ledger)[1], (900 * US, 50_000, C1 as u8, true));
}

#[test]
fn an_entry_that_was_refused_in_the_recording_is_refused_on_that_machine() {
    let mut w = workload(vec![event(0, 700 * US), event(1_000 * US, 1_500 * US)]);
    w.refusals = vec![Refusal { at_ns: TICK + 1_000 * US, took_ns: 34_000, state: C1E as u8 }];
    let played = |setting, state| entries(&play_on(&table(), &w, setting, &[(state, true); 3]).ledger);
    let free = vec![(0, 700_000, C1E as u8, true), (1_000_000, 500_000, C1E as u8, true)];
    assert_eq!(played(ELSEWHERE, C1E), free, "another machine may not refuse");
    let refused = vec![free[0], (1_000_000, 34_000, C1E as u8, false), (1_034_000, 466_000, C1E as u8, true)];
    assert_eq!(played(SAME, C1E), refused);
    let other = vec![(0, 700_000, C1 as u8, true), (1_000_000, 500_000, C1 as u8, true)];
    assert_eq!(played(SAME, C1), other, "another state was not refused");
}

#[test]
fn answers_out_of_range_are_counted() {
    let p =
        play((0..4).map(|k| event(k * T, k * T + 9 * US)).collect(), &[(4, false), (-1, false), (3, false)]);
    assert_eq!((p.counts.decisions, p.counts.out_of_range), (4, 2));
}

#[test]
fn random_numbers_come_from_the_seed_and_the_cpu_alone() {
    let randoms = |seed: u64, cpu: u32| {
        let mut w = workload((0..50).map(|k| event(k * T, k * T + 9 * US)).collect());
        w.cpu = cpu;
        let p = play_on(&table(), &w, Setting { seed, ..ELSEWHERE }, &[(C1, false)]);
        p.script.asked.iter().map(|i| i.random).collect::<Vec<u32>>()
    };
    let first = randoms(1, 0);
    assert_eq!(first, randoms(1, 0));
    assert!(first != randoms(2, 0) && first != randoms(1, 1));
    let different: std::collections::BTreeSet<u32> = first.iter().copied().collect();
    assert!(different.len() > 45, "{different:?}");
    let (low, high) = (first.iter().min().unwrap(), first.iter().max().unwrap());
    assert!(*low < u32::MAX / 4 && *high > u32::MAX / 4 * 3, "all over the range");
}

#[test]
fn nothing_happens_in_an_empty_workload() {
    let p = play(vec![], &[(C1, false)]);
    assert_eq!((p.counts, p.ledger.len()), (RunCounts::default(), 0));
}

// ---- Any workload, any governor.

/// Visits of events; gaps and waits in us, handler in us, whether the wheel or the kernel wants the tick.
fn workloads() -> impl Strategy<Value = Workload> {
    let part = (
        0u64..9_000,
        0u64..30,
        prop::bool::weighted(0.1),
        prop_oneof![Just(None), (0u64..20_000).prop_map(Some)],
    );
    prop::collection::vec((0u64..3_000, prop::collection::vec(part, 1..5)), 1..12).prop_map(|visits| {
        let mut now = 0;
        let mut events = Vec::new();
        for (gap, parts) in visits {
            now += gap * US;
            let parts = parts.into_iter().map(|(wait, handler, tick_needed, hrtimer)| {
                let e = event(now, now + wait * US);
                now += (wait + 2 + handler) * US;
                let hrtimer_at_ns = hrtimer.map_or(NEVER_AT_NS, |us| e.start_ns + us * US);
                let tick_needed_ns = if tick_needed { u32::MAX } else { 0 };
                WorkloadEvent { handler_ns: (handler * US) as u32, tick_needed_ns, hrtimer_at_ns, ..e }
            });
            events.extend(visit(parts.collect()));
        }
        workload(events)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_governor_says_the_ledger_is_of_one_piece(
        w in workloads(), answers in prop::collection::vec((-1i32..5, any::<bool>()), 1..40), same_machine: bool,
    ) {
        let setting = Setting::new(same_machine, 7);
        let table = table();
        let p = play_on(&table, &w, setting, &answers);
        prop_assert_eq!(p.ledger.len() as u64, p.counts.decisions, "every decision is an entry");
        prop_assert_eq!(p.script.told.len(), p.ledger.len());
        let known: Vec<u64> = w.events.in_memory().unwrap().iter().map(|e| e.at_ns).collect();
        let mut real = 0;
        for e in &p.ledger {
            let wake_at = e.start_ns + e.wake_ns as u64;
            prop_assert!(e.wake_ns >= 0 && e.latency_ns >= 0 && e.residency_ns >= e.wake_ns);
            match e.cause {
                WakeCause::Tick => prop_assert_eq!((wake_at - TICK) % T, 0, "{:?}", e),
                // A handler that is still running at the limit is waited for.
                WakeCause::PollLimit => prop_assert!(e.residency_ns as u64 >= LIMIT),
                _ => {
                    real += 1;
                    prop_assert!(known.contains(&wake_at), "{:?}", e);
                }
            }
            let Outcome::Stayed { entered, miss } = e.outcome else { panic!("{e:?}") };
            prop_assert_eq!(entered, e.selected);
            prop_assert_eq!(miss, table.verdict(entered.into(), e.residency_ns, 0));
        }
        let end = |e: &Entry| e.start_ns + e.residency_ns as u64;
        prop_assert!(p.ledger.windows(2).all(|w| end(&w[0]) <= w[1].start_ns), "idle twice at a time");
        prop_assert!(real + p.counts.overtaken <= w.events.len() as u64);
        let polls = p.ledger.iter().any(|e| e.selected == POLL as u8);
        prop_assert!(polls || real + p.counts.overtaken == w.events.len() as u64, "only polling swallows events");
        let again = play_on(&table, &w, setting, &answers);
        prop_assert_eq!(again.ledger, p.ledger);
        prop_assert_eq!(again.counts, p.counts);
        prop_assert_eq!(again.script.asked, p.script.asked);
    }

    #[test]
    fn the_oracle_is_never_wrong_and_never_woken_by_a_tick_that_it_may_stop(
        mut w in workloads(), kernel_needs_ticks: bool,
    ) {
        if !kernel_needs_ticks {
            let events = w.events.in_memory().unwrap();
            w.events = events.iter().map(|e| WorkloadEvent { tick_needed_ns: 0, ..*e }).collect();
        }
        // States that sleep: an interrupt that wakes nobody does not end a polling loop, so polling may last longer
        // than the wait that the oracle knows.
        let table = IdleTable::new(table().states()[1..].to_vec()).unwrap();
        let mut oracle = Oracle::new(&table, None);
        let mut ledger: Vec<Entry> = Vec::new();
        let counts = run(&w, &table, 1024, ELSEWHERE, &mut oracle, &mut ledger).unwrap();
        prop_assert_eq!(counts.decisions, ledger.len() as u64);
        for e in &ledger {
            prop_assert!(e.cause != WakeCause::Tick || kernel_needs_ticks, "{:?}", e);
            prop_assert!(matches!(e.outcome, Outcome::Stayed { miss: Miss::None, .. }), "{:?}", e);
        }
    }

    #[test]
    fn no_governor_takes_less_energy_than_the_oracle(
        mut w in workloads(), answers in prop::collection::vec((0i32..3, any::<bool>()), 1..40), tick_stop_ns in 0u32..30_000,
    ) {
        let events = w.events.in_memory().unwrap();
        w.events = events.iter().map(|e| WorkloadEvent { tick_needed_ns: 0, ..*e }).collect();
        let (table, prices) = left_at_once(tick_stop_ns);
        let setting = Setting { prices: Some(prices), ..ELSEWHERE };
        let mut best: Vec<Entry> = Vec::new();
        run(&w, &table, 1024, setting, &mut Oracle::new(&table, Some(prices)), &mut best).unwrap();
        let other = play_on(&table, &w, setting, &answers);
        prop_assert!(energy(&prices, &best) <= energy(&prices, &other.ledger), "{:?}\n{:?}", best, other.ledger);
    }

    #[test]
    fn no_fixed_choice_takes_less_energy_than_hindsight(mut w in workloads(), tick_stop_ns in 0u32..30_000) {
        // Idle periods of their own: too few for more than one context, so that hindsight has one choice for all.
        let events = w.events.in_memory().unwrap();
        let apart = |e: &WorkloadEvent| WorkloadEvent { tick_needed_ns: 0, visit_start: true, visit_end: true, ..*e };
        w.events = events.iter().map(apart).take(31).collect();
        let (table, prices) = left_at_once(tick_stop_ns);
        let setting = Setting { prices: Some(prices), ..ELSEWHERE };
        let (best, overtaken) = in_hindsight(&w, &table, setting);
        for choice in [(0, false), (0, true), (1, false), (1, true), (2, false), (2, true)] {
            let other = play_on(&table, &w, setting, &[choice]);
            // Who meets fewer events has less to pay.
            if other.counts.overtaken <= overtaken {
                prop_assert!(energy(&prices, &best) <= energy(&prices, &other.ledger), "{:?}\n{:?}", best, other.ledger);
            }
        }
        let mut least: Vec<Entry> = Vec::new();
        let oracle = run(&w, &table, 1024, setting, &mut Oracle::new(&table, Some(prices)), &mut least).unwrap();
        prop_assert!(oracle.overtaken > overtaken || energy(&prices, &least) <= energy(&prices, &best));
    }
}

/// After its second tick two periods are left, 0.9 and 0.6 ms long, and one that an event ends while the tick is handled: there is no
/// stay to choose a state for.
#[test]
fn hindsight_learns_nothing_from_a_period_that_ended_in_the_ticks_handler() {
    let periods = [
        (2_352, 6_547),
        (10_959, 172),
        (11_149, 2_894),
        (14_052, 3_729),
        (17_806, 1_653),
        (21_847, 6_712),
        (30_340, 3_462),
        (33_814, 3_230),
        (37_052, 1_253),
        (38_334, 4_700),
        (43_508, 747),
        (44_260, 2_769),
        (47_044, 1_461),
        (51_314, 331),
        (51_654, 76),
        (51_747, 4_254),
    ];
    let apart = |(at, wait): (u64, u64)| WorkloadEvent {
        visit_start: true,
        visit_end: true,
        ..event(at * US, (at + wait) * US)
    };
    let w = workload(periods.map(apart).to_vec());
    let (table, prices) = left_at_once(18_674);
    let (best, overtaken) = in_hindsight(&w, &table, Setting { prices: Some(prices), ..ELSEWHERE });
    assert_eq!(overtaken, 1);
    assert!(best.iter().all(|e| e.selected == 2), "{best:?}");
}

/// Three states that are left at once, so that nothing is overtaken and all meet the same events.
fn left_at_once(tick_stop_ns: u32) -> (IdleTable, Prices) {
    let at_once = |us| IdleState { exit_latency_ns: 0, entry_ns: 0, ..state(0, us, 0) };
    let table = IdleTable::new(vec![at_once(0), at_once(20), at_once(600)]).unwrap();
    let costs = LoopCosts { tick_stop_ns, again_ns: 500, decision_ns: 50, sleep_length_ns: 0 };
    let mut prices = Prices { states: [StatePrice::default(); MAX_STATES], active_uw: 10_000, costs };
    for (price, (power_uw, transition_fj)) in
        prices.states.iter_mut().zip([(1000, 0), (300, 14_000_000), (20, 182_000_000)])
    {
        *price = StatePrice { transition_fj, power_uw, entry_ns: 0 };
    }
    (table, prices)
}

/// Energy of idle periods in states that are left at once, fJ.
fn energy(prices: &Prices, ledger: &[Entry]) -> u128 {
    let of = |e: &Entry| {
        let price = prices.states[usize::from(e.selected)];
        price.of(e.wake_ns as u64) + prices.active_fj(e.tick_ns as u64 + u64::from(e.loop_ns))
    };
    ledger.iter().map(of).sum()
}

/// What hindsight makes of `w`, and how many events were overtaken.
fn in_hindsight(w: &Workload, table: &IdleTable, setting: Setting) -> (Vec<Entry>, u64) {
    let mut lesson = Lesson::new(table, setting.prices.unwrap(), w.grid, w.tick_handler_ns);
    run(w, table, 1024, setting, &mut lesson, &mut ()).unwrap();
    let mut ledger: Vec<Entry> = Vec::new();
    let counts = run(w, table, 1024, setting, &mut Hindsight::of(lesson, table), &mut ledger).unwrap();
    (ledger, counts.overtaken)
}

#[test]
fn hindsight_tells_idle_periods_apart_by_timers_and_decides_by_the_mean_of_the_rest() {
    let (table, prices) = left_at_once(0);
    let setting = Setting { prices: Some(prices), ..ELSEWHERE };
    // By turns 30 us before a timer of 40 us, and before one of 50 ms: three times 100 us, then 30 ms.
    let mut events = Vec::new();
    for n in 0..160_u64 {
        let start = n * 100 * T;
        let (wait, timer) = match n % 8 {
            0 | 2 | 4 | 6 => (30 * US, 40 * US),
            7 => (30_000 * US, 50_000 * US),
            _ => (100 * US, 50_000 * US),
        };
        events.push(WorkloadEvent { hrtimer_at_ns: TICK + start + timer, ..event(start, start + wait) });
    }
    let (ledger, _) = in_hindsight(&workload(events), &table, setting);
    let first = |n: u64| ledger.iter().find(|e| e.start_ns == TICK + n * 100 * T).unwrap();
    for n in 80..88 {
        let e = first(n);
        match n % 8 {
            // 30 us pay for the second state.
            0 | 2 | 4 | 6 => assert_eq!(e.selected, 1, "{e:?}"),
            // On average 7.6 ms, until the next tick less: then what is left lasts.
            _ => assert!(e.selected == 2 || e.tick == TickChoice::Kept, "{e:?}"),
        }
    }
    let of_long = |n: u64| {
        ledger.iter().filter(move |e| (n * 100 * T..(n + 1) * 100 * T).contains(&(e.start_ns - TICK)))
    };
    assert!(
        of_long(87).any(|e| e.selected == 2 && e.tick == TickChoice::Stopped),
        "{:?}",
        of_long(87).collect::<Vec<_>>()
    );
}
