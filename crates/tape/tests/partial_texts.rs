// SPDX-License-Identifier: GPL-2.0-only
//! Texts with the few events that people happen to enable: what they show must be heard, what they do not show not claimed.

use std::fmt::Write;
use std::path::Path;

use idlewise_model::*;
use idlewise_tape::make;
use idlewise_trace::TraceFile;

const MS: u64 = 1_000_000;
const US: u64 = 1_000;
/// A tick of HZ 250 lies here and every 4 ms, ns.
const TICK: u64 = 1_000_000 * MS + 2_500;

/// Lines of ftrace text of CPU 0.
#[derive(Default)]
struct Lines(Vec<(u64, String)>);

impl Lines {
    fn say(&mut self, ts: u64, task: &str, what: &str) {
        self.say_on(0, ts, task, what);
    }

    fn say_on(&mut self, cpu: u32, ts: u64, task: &str, what: &str) {
        let (s, us) = (ts / 1_000_000_000, ts / US % MS);
        self.0.push((ts, format!("{task:>16}     [{cpu:03}] d..1 {s:5}.{us:06}: {what}\n")));
    }

    /// Idle from `ts` on for `ns`, in between two turns of a task.
    fn idle(&mut self, ts: u64, ns: u64) {
        self.switches(ts, ns);
        self.say(ts + 5 * US, "<idle>-0", "cpu_idle: state=1 cpu_id=0");
        self.say(ts + ns - 5 * US, "<idle>-0", "cpu_idle: state=4294967295 cpu_id=0");
    }

    fn switches(&mut self, ts: u64, ns: u64) {
        let to = "sched_switch: prev_comm=job prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120";
        let back = "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=job next_pid=9 next_prio=120";
        self.say(ts, "job-9", to);
        self.say(ts + ns, "<idle>-0", back);
    }

    fn expiry(&mut self, due: u64, late: u64, function: &str) {
        let now = due + late;
        let what = format!("hrtimer_expire_entry: hrtimer=00000000aaaa0001 function={function} now={now}");
        self.say(now + 3 * US, "<idle>-0", &what);
    }

    fn arming(&mut self, ts: u64, due: u64, task: &str) {
        let what = format!(
            "hrtimer_start: hrtimer=00000000aaaa0001 function=tick_nohz_handler expires={due} softexpires={due} mode=ABS"
        );
        self.say(ts, task, &what);
    }

    fn tape(mut self, machine: &str) -> Tape {
        self.0.sort_by_key(|(ts, _)| *ts);
        let mut text = "# tracer: nop\n#\n".to_owned();
        self.0.iter().for_each(|(_, line)| write!(text, "{line}").unwrap());
        let trace = TraceFile::from_bytes(Path::new("some.txt"), text.into_bytes()).unwrap();
        make(&trace, "some.txt", &idlewise_platform::find(machine).unwrap(), "").unwrap()
    }
}

fn input<'a>(tape: &'a Tape, name: &str) -> (&'a str, Confidence) {
    let input = tape.inputs.iter().find(|i| i.name == name).unwrap();
    (&input.how, input.weakest())
}

fn pieces(tape: &Tape) -> Vec<Piece> {
    tape.cpus[0].pieces.to_vec().unwrap()
}

/// The functions that handle a tick, and periods of usual HZ, ns.
const HANDLERS: [&str; 3] = ["tick_nohz_handler", "tick_sched_timer", "tick_nohz_highres_handler"];

#[test]
fn handlers_of_the_tick_show_its_grid_without_any_arming() {
    for (hz, period) in [(100, 10 * MS), (250, 4 * MS), (300, 3_333_333), (1000, MS)] {
        for function in HANDLERS {
            // Handlers run 2 to 90 us late, one of them by half a millisecond; an idle CPU skips ticks.
            let mut lines = Lines::default();
            for k in 0..40 {
                let late = if k == 20 { 500 * US } else { 2 * US + k * 7919 % 90_000 };
                lines.expiry(TICK + (k + k % 5 * 40) * period, late, function);
            }
            lines.idle(TICK + MS / 2, MS / 10);
            for machine in ["skylake", "rk3399"] {
                let tape = Lines(lines.0.clone()).tape(machine);
                let grid = tape.cpus[0].tick;
                assert_eq!(input(&tape, "tick grid").1, Confidence::Recorded, "HZ {hz} on {machine}");
                assert_eq!(grid.period_ns, period, "{}", input(&tape, "tick grid").0);
                let behind = (grid.phase_ns + period - TICK % period) % period;
                assert!((2 * US..10 * US).contains(&behind), "{behind} ns behind the tick");
            }
        }
    }
}

#[test]
fn handlers_of_the_tick_do_not_show_what_else_is_armed() {
    let mut lines = Lines::default();
    (0..40).for_each(|k| lines.expiry(TICK + k * 4 * MS, 3 * US, "tick_nohz_handler"));
    lines.idle(TICK + MS, 2 * MS);
    let tape = lines.tape("skylake");
    assert_eq!(input(&tape, "programmed event").1, Confidence::Bounded);
    assert_eq!(input(&tape, "sleep length").1, Confidence::Bounded);
    assert_eq!(input(&tape, "tick stopped").1, Confidence::Bounded);
}

#[test]
fn one_expiry_and_its_arming_give_a_grid() {
    let mut lines = Lines::default();
    lines.expiry(TICK, 30 * US, "tick_sched_timer");
    lines.arming(TICK + 50 * US, TICK + 4 * MS, "<idle>-0");
    lines.idle(TICK + MS, MS);
    let tape = lines.tape("rk3399");
    assert_eq!(tape.cpus[0].tick, TickGrid { period_ns: 4 * MS, phase_ns: TICK % (4 * MS) });
    assert_eq!(
        input(&tape, "tick grid"),
        ("HZ 250, from few expiries of the tick's timer", Confidence::Derived)
    );
}

#[test]
fn two_handlers_are_too_few_and_the_result_does_not_say_that_there_are_none() {
    let mut lines = Lines::default();
    (0..2).for_each(|k| lines.expiry(TICK + k * 4 * MS, 3 * US, "tick_sched_timer"));
    lines.idle(TICK + MS, MS);
    let tape = lines.tape("rk3399");
    let (how, known) = input(&tape, "tick grid");
    assert!(how.ends_with("the trace shows too few ticks"), "{how}");
    assert_eq!(known, Confidence::Assumed);
}

/// A tick that runs until it is stopped while a task runs, or not, and 40 idle periods after that.
fn full_dynticks(armings: bool, stops: bool, starts_again: bool) -> Tape {
    let mut lines = Lines::default();
    for k in 0..8 {
        let at = TICK + k * 4 * MS;
        lines.expiry(at, 3 * US, "tick_sched_timer");
        if armings {
            lines.arming(at + 9 * US, at + 4 * MS, "job-9");
        }
    }
    let off = TICK + 29 * MS;
    if stops {
        lines.say(off, "job-9", "tick_stop: success=1 dependency=NONE");
    }
    if armings {
        lines.arming(off + 10 * US, TICK + 100_000 * MS, "job-9");
    }
    if starts_again {
        for k in 8..100 {
            let at = TICK + k * 4 * MS;
            lines.arming(at - 3 * MS, at, "job-9");
            lines.expiry(at, 3 * US, "tick_sched_timer");
        }
    }
    (0..40).for_each(|k| lines.idle(TICK + 33 * MS + k * 5 * MS, 2 * MS));
    lines.tape("skylake-sp")
}

#[test]
fn a_tick_that_was_stopped_while_a_task_ran_stays_off_in_idle() {
    let flags = |tape: &Tape, bit: u16| pieces(tape).iter().filter(|p| p.flags.has(bit)).count();
    for (armings, stops) in [(true, true), (true, false), (false, true)] {
        let tape = full_dynticks(armings, stops, false);
        assert_eq!(pieces(&tape).len(), 40);
        assert_eq!(flags(&tape, PieceFlags::STOPPED_BEFORE), 40, "armings {armings}, tick_stop {stops}");
        assert_eq!(flags(&tape, PieceFlags::STOPPED_AFTER), 40, "armings {armings}, tick_stop {stops}");
        let tape = full_dynticks(armings, stops, true);
        assert_eq!(flags(&tape, PieceFlags::STOPPED_BEFORE), 0, "it goes on: armings {armings}, {stops}");
    }
}

#[test]
fn a_tick_that_goes_on_outside_of_handlers_ends_the_visit_without_a_switch() {
    let visit = |how: &str| {
        let mut lines = Lines::default();
        for k in 0..4 {
            lines.expiry(TICK + k * 4 * MS, 3 * US, "tick_sched_timer");
            lines.arming(TICK + k * 4 * MS + 9 * US, TICK + (k + 1) * 4 * MS, "job-9");
        }
        let at = TICK + 13 * MS;
        lines.switches(at, 40 * MS);
        lines.say(at + 8 * US, "<idle>-0", "tick_stop: success=1 dependency=NONE");
        lines.arming(at + 9 * US, at + 1_000 * MS, "<idle>-0");
        for (from, to) in [(10 * US, 20 * MS), (20 * MS + 30 * US, 39 * MS)] {
            lines.say(at + from, "<idle>-0", "cpu_idle: state=1 cpu_id=0");
            lines.say(at + to, "<idle>-0", "cpu_idle: state=4294967295 cpu_id=0");
        }
        match how {
            "" => (),
            // Its handler does not arm it again: it is stopped, and was armed for the wheel.
            "wheel" | "runs" => {
                lines.arming(at + 20 * MS + 9 * US, TICK + 36 * MS, "<idle>-0");
                lines.expiry(TICK + 36 * MS, 3 * US, "tick_sched_timer");
            }
            _ => lines.say(at + 20 * MS + 9 * US, "<idle>-0", "tick_stop: success=1 dependency=NONE"),
        }
        if how == "runs" {
            lines.arming(TICK + 36 * MS + 9 * US, TICK + 40 * MS, "<idle>-0");
        }
        let of = |p: &Piece| (p.flags.has(PieceFlags::VISIT_START), p.flags.has(PieceFlags::STOPPED_BEFORE));
        pieces(&lines.tape("skylake-sp")).iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(visit(""), [(true, false), (false, true)]);
    assert_eq!(visit("wheel"), [(true, false), (false, true)]);
    assert_eq!(visit("runs"), [(true, false), (true, false)]);
    assert_eq!(visit("is stopped again"), [(true, false), (true, false)]);
}

fn note(tape: &Tape, id: NoteId) -> Option<&str> {
    tape.notes.iter().find(|n| n.id == id).map(|n| &*n.words)
}

/// 40 short idle periods, and one of 600 s.
fn slept(what: impl Fn(&mut Lines, u64), by_switches: bool) -> Tape {
    let mut lines = Lines::default();
    let idle = |lines: &mut Lines, ts, ns| match by_switches {
        true => lines.switches(ts, ns),
        false => lines.idle(ts, ns),
    };
    let at = TICK + 200 * MS;
    (0..20).for_each(|k| idle(&mut lines, TICK + k * 6 * MS, 5 * MS));
    idle(&mut lines, at, 600_000 * MS);
    (1..21).for_each(|k| idle(&mut lines, at + 600_000 * MS + k * 6 * MS, 5 * MS));
    what(&mut lines, at);
    lines.tape("pixel6")
}

#[test]
fn time_in_suspend_is_no_idle_period() {
    let step = |lines: &mut Lines, ts, task: &str, what: &str| {
        lines.say(ts, task, &format!("suspend_resume: {what}"));
    };
    let to_idle = |lines: &mut Lines, at: u64| {
        step(lines, at - 9 * MS, "job-9", "suspend_enter[1] begin");
        step(lines, at + 100 * US, "<idle>-0", "timekeeping_freeze[0] begin");
        step(lines, at + 599_999 * MS, "<idle>-0", "timekeeping_freeze[0] end");
        step(lines, at + 600_001 * MS, "job-9", "suspend_enter[1] end");
    };
    let to_ram = |lines: &mut Lines, at: u64| {
        step(lines, at - MS, "job-9", "machine_suspend[3] begin");
        step(lines, at + 600_001 * MS, "job-9", "machine_suspend[3] end");
    };
    // The recording was begun after the first steps, or ends before the last.
    let cut =
        |lines: &mut Lines, at: u64| step(lines, at + 599_999 * MS, "<idle>-0", "timekeeping_freeze[0] end");
    for by_switches in [true, false] {
        for what in [&to_idle as &dyn Fn(&mut Lines, u64), &to_ram, &cut] {
            let tape = slept(what, by_switches);
            assert_eq!(pieces(&tape).len(), 40);
            let words = note(&tape, NoteId::StoodStill).unwrap();
            assert!(words.contains("no governor chooses there"), "{words}");
            assert!(words.starts_with("600.000 s in suspend") || words.starts_with("599.990 s"), "{words}");
            assert_eq!(note(&tape, NoteId::LongIdlePeriod), None);
        }
    }
}

#[test]
fn time_in_suspend_counts_once_whoever_was_idle_or_running() {
    let steps = |lines: &mut Lines, at: u64| {
        lines.say(at + 200 * US, "job-9", "suspend_resume: machine_suspend[3] begin");
        lines.say(at + 600_005 * MS, "job-9", "suspend_resume: machine_suspend[3] end");
    };
    // Idle on two CPUs.
    let two = |lines: &mut Lines, at: u64| {
        steps(lines, at);
        let first = lines.0.iter().filter(|(ts, _)| *ts >= at).cloned();
        let second =
            first.map(|(ts, line)| (ts, line.replace("[000]", "[001]").replace("cpu_id=0", "cpu_id=1")));
        lines.0.extend(second.collect::<Vec<_>>());
    };
    let tape = slept(two, false);
    let words = note(&tape, NoteId::StoodStill).unwrap();
    assert!(words.starts_with("600.000 s") && words.contains("; 2 idle periods are left out"), "{words}");
    assert!((200 * MS..400 * MS).contains(&tape.span_ns()), "{}", tape.span_ns());
    // The task that suspends the machine has its CPU all the time, and did not run for ten minutes.
    let mut lines = Lines::default();
    (0..20).for_each(|k| lines.idle(TICK + k * 6 * MS, 5 * MS));
    let before = lines.0.len();
    steps(&mut lines, TICK + 120 * MS);
    (1..21).for_each(|k| lines.idle(TICK + 600_120 * MS + k * 6 * MS, 5 * MS));
    let awake = |lines: &[(u64, String)]| Lines(lines.to_vec()).tape("pixel6");
    let (tape, short) = (awake(&lines.0), awake(&lines.0[..before]));
    let words = note(&tape, NoteId::StoodStill).unwrap();
    assert!(words.starts_with("600.005 s") && !words.contains("left out"), "{words}");
    assert!((200 * MS..500 * MS).contains(&tape.span_ns()), "{}", tape.span_ns());
    let (after, before) = (pieces(&tape)[20].util, pieces(&short)[19].util);
    assert!(after < before + 100, "{after} after {before}");
}

#[test]
fn a_suspend_whose_end_is_lost_is_over_all_the_same() {
    let kept_of = |task: &str, after: &dyn Fn(&mut Lines, u64)| {
        let mut lines = Lines::default();
        (0..20).for_each(|k| lines.idle(TICK + k * 6 * MS, 5 * MS));
        let at = TICK + 120 * MS;
        lines.say(at, "job-9", "suspend_resume: dpm_suspend[2] begin");
        after(&mut lines, at + MS);
        lines.0.iter_mut().for_each(|(_, line)| *line = line.replace("job", task));
        pieces(&lines.tape("pixel6")).len()
    };
    // One whose name does not show that it is a program may be needed for the suspend.
    let kept = |after: &dyn Fn(&mut Lines, u64)| kept_of("kworker/0:1", after);
    let idle =
        |lines: &mut Lines, at: u64, n: u64| (0..n).for_each(|k| lines.idle(at + k * 60 * MS, 50 * MS));
    assert_eq!(kept(&|lines, at| idle(lines, at, 20)), 20);
    let lost = kept(&|lines, at| {
        lines.0.push((at, "CPU:0 [LOST 5 EVENTS]\n".to_owned()));
        idle(lines, at + MS, 20);
    });
    assert_eq!(lost, 40);
    // Ten seconds of work after the last step, of which one stay saw the end.
    assert_eq!(kept(&|lines, at| idle(lines, at, 200)), 20 + 200 - 167);
    // A program sleeps once, and is frozen then.
    for task in ["job", "Web Content"] {
        assert_eq!(kept_of(task, &|lines, at| idle(lines, at, 20)), 39);
        assert_eq!(kept_of(task, &|lines, at| idle(lines, at, 1)), 20);
    }
    let frozen = |lines: &mut Lines, at: u64| {
        let before = lines.0.len();
        idle(lines, at, 20);
        lines.0[before..]
            .iter_mut()
            .for_each(|(_, line)| *line = line.replace("prev_state=S", "prev_state=D"));
    };
    assert_eq!(kept_of("job", &frozen), 20);
}

#[test]
fn an_idle_period_that_a_timer_ended_minutes_late_was_a_standstill() {
    let overdue = |by: u64| {
        slept(
            |lines, at| {
                lines.arming(at - MS, at + 600_000 * MS - by, "job-9");
                lines.expiry(at + 600_000 * MS - 20 * US, 0, "tick_nohz_handler");
            },
            false,
        )
    };
    let tape = overdue(599_000 * MS);
    assert_eq!((pieces(&tape).len(), note(&tape, NoteId::StoodStill).is_some()), (40, true));
    let tape = overdue(20 * MS);
    assert_eq!((pieces(&tape).len(), note(&tape, NoteId::StoodStill)), (41, None));
}

#[test]
fn an_idle_period_that_is_most_of_the_idle_time_is_named() {
    let tape = slept(|_, _| (), false);
    assert_eq!(pieces(&tape).len(), 41);
    let words = note(&tape, NoteId::LongIdlePeriod).unwrap();
    assert!(words.starts_with("one idle period of 600.000 s (CPU 0 at 1000.2000"), "{words}");
    assert!(words.contains("99 % of the CPU's idle time"), "{words}");
}

#[test]
fn a_wait_for_io_ends_where_its_reason_is_recorded_or_the_task_runs() {
    let waits = |reason: &str| {
        let mut lines = Lines::default();
        for k in 0..6 {
            let (at, state) = (TICK + k * 5 * MS, if k % 2 == 0 { "D" } else { "S" });
            let to = format!(
                "sched_switch: prev_comm=job prev_pid=9 prev_prio=120 prev_state={state} ==> next_comm=swapper/0 next_pid=0 next_prio=120"
            );
            lines.say(at, "job-9", &to);
            lines.say(at + 5 * US, "<idle>-0", "cpu_idle: state=1 cpu_id=0");
            lines.say(at + 2 * MS, "<idle>-0", "cpu_idle: state=4294967295 cpu_id=0");
            if k % 2 == 0 && !reason.is_empty() {
                lines.say(at + 2 * MS + US, "<idle>-0", reason);
                // The CPU is idle again before the task runs.
                lines.say(at + 2 * MS + 5 * US, "<idle>-0", "cpu_idle: state=1 cpu_id=0");
                lines.say(at + 3 * MS, "<idle>-0", "cpu_idle: state=4294967295 cpu_id=0");
            }
            lines.say(at + 4 * MS, "<idle>-0", "sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=job next_pid=9 next_prio=120");
        }
        pieces(&lines.tape("skylake-sp")).iter().map(|p| p.iowait).collect::<Vec<_>>()
    };
    assert_eq!(waits("sched_blocked_reason: pid=9 iowait=1 caller=x"), [1, 0, 0, 1, 0, 0, 1, 0, 0]);
    assert_eq!(waits(""), [1, 0, 1, 0, 1, 0]);
}

/// Ticks of HZ 250, then idle periods of `ns` each `every`, in which `what` happens after the switch to the idle task.
fn after_ticks(every: u64, ns: u64, what: impl Fn(&mut Lines, u64, u64)) -> Tape {
    let mut lines = Lines::default();
    for k in 0..8 {
        lines.expiry(TICK + k * 4 * MS, 3 * US, "tick_sched_timer");
        lines.arming(TICK + k * 4 * MS + 9 * US, TICK + (k + 1) * 4 * MS, "job-9");
    }
    for k in 0..40 {
        let at = TICK + 29 * MS + k * every;
        what(&mut lines, k, at);
        lines.idle(at, ns);
        // A tick that was stopped starts again.
        let out = at + ns - 3 * US;
        lines.arming(out, TICK + ((out - TICK) / (4 * MS) + 1) * 4 * MS, "<idle>-0");
    }
    lines.tape("skylake-sp")
}

fn start(lines: &mut Lines, id: u64, ts: u64, expires: u64) {
    let what = format!(
        "hrtimer_start: hrtimer=00000000bbbb{id:04x} function=hrtimer_wakeup expires={expires} softexpires={expires} mode=REL"
    );
    lines.say(ts, "job-9", &what);
}

fn fire(lines: &mut Lines, id: u64, now: u64) {
    lines.say(
        now,
        "<idle>-0",
        &format!("hrtimer_expire_entry: hrtimer=00000000bbbb{id:04x} function=hrtimer_wakeup now={now}"),
    );
}

#[test]
fn a_stopped_tick_whose_cancel_is_not_recorded_is_gone() {
    let tape = after_ticks(60 * MS, 20 * MS, |lines, _, at| {
        start(lines, 1, at - 10 * US, at + 20 * MS - 50 * US);
        lines.say(at + 2 * US, "<idle>-0", "tick_stop: success=1 dependency=NONE");
        fire(lines, 1, at + 20 * MS - 20 * US);
    });
    let first = pieces(&tape)[0];
    assert_eq!((first.wheel_ns, first.hrtimer_ns), (NEVER_NS, (20 * MS - 55 * US).cast_signed()));
}

#[test]
fn an_arming_that_its_timer_fires_long_after_is_no_known_sleep_length() {
    let late = |by: u64| {
        let tape = after_ticks(60 * MS, 20 * MS, |lines, _, at| {
            start(lines, 1, at - 10 * US, at + 20 * MS - 50 * US - by);
            lines.say(at + 2 * US, "<idle>-0", "tick_stop: success=1 dependency=NONE");
            lines.say(at + 3 * US, "<idle>-0", "hrtimer_cancel: hrtimer=00000000aaaa0001");
            fire(lines, 1, at + 20 * MS - 20 * US);
        });
        let all = pieces(&tape);
        let lag = all.iter().map(|p| p.exit_lag_ns).max().unwrap();
        (all[3].timer_confidence(), u64::from(lag) > MS)
    };
    assert_eq!(late(0), (Confidence::Recorded, false));
    assert_eq!(late(9 * MS), (Confidence::Bounded, false));
}

#[test]
fn timers_that_are_refuted_are_in_doubt() {
    let known = |lost: &str| {
        let tape = after_ticks(60 * MS, 20 * MS, |lines, k, at| {
            start(lines, 2 + k, at - 20 * US, at + 30 * MS);
            lines.say(at + 2 * US, "<idle>-0", "tick_stop: success=1 dependency=NONE");
            lines.say(at + 3 * US, "<idle>-0", "hrtimer_cancel: hrtimer=00000000aaaa0001");
            if lost != "armings" {
                start(lines, 1, at - 10 * US, at + 20 * MS - 50 * US);
                fire(lines, 1, at + 20 * MS - 20 * US);
            }
            lines.say(at + 20 * MS - 22 * US, "<idle>-0", "local_timer_entry: vector=236");
            lines.say(at + 20 * MS - 10 * US, "<idle>-0", "local_timer_exit: vector=236");
            if lost != "cancels" {
                lines.say(
                    at + 21 * MS,
                    "job-9",
                    &format!("hrtimer_cancel: hrtimer=00000000bbbb{:04x}", 2 + k),
                );
            }
        });
        pieces(&tape).last().unwrap().timer_confidence()
    };
    assert_eq!(
        ["", "cancels", "armings"].map(known),
        [Confidence::Recorded, Confidence::Bounded, Confidence::Bounded]
    );
}

#[test]
fn where_idle_periods_span_ticks_not_all_that_stops_them_is_recorded() {
    let known = |stops_from: u64| {
        let tape = after_ticks(60 * MS, 20 * MS, |lines, k, at| {
            if k >= stops_from {
                lines.say(at + 2 * US, "<idle>-0", "tick_stop: success=1 dependency=NONE");
            }
            lines.expiry(TICK + 56 * MS + k * 60 * MS, 3 * US, "tick_sched_timer");
            lines.arming(TICK + 56 * MS + k * 60 * MS + 9 * US, TICK + (k + 1) * 60 * MS, "job-9");
        });
        pieces(&tape).iter().filter(|p| p.flags.has(PieceFlags::TICK_KNOWN)).count()
    };
    // The first two may be late ticks.
    assert_eq!((known(0), known(20)), (40, 2));
}

/// CPU 1 does something every half a second while CPU 0 is idle for 600 s from `at` on.
fn at_work_meanwhile(lines: &mut Lines, at: u64) {
    (1..1_200)
        .for_each(|k| lines.say_on(1, at + k * 500 * MS, "other-7", "softirq_raise: vec=1 [action=TIMER]"));
}

#[test]
fn a_machine_whose_other_cpus_were_at_work_did_not_stand_still() {
    let tape = slept(at_work_meanwhile, false);
    assert_eq!((pieces(&tape).len(), note(&tape, NoteId::LongIdlePeriod)), (41, None));
    let words = note(&tape, NoteId::QuietCpus).unwrap();
    assert!(words.contains("of CPU 0 (the longest: 600.000 s, CPU 0"), "{words}");
    // Ten seconds of silence are not most of its idle time.
    let most = |from: u64, to: u64| {
        let quiet = |k: &u64| !(from..to).contains(k);
        let tape = slept(
            |lines, at| {
                let said = (1..1_200).filter(quiet).map(|k| at + k * 500 * MS);
                said.for_each(|ts| lines.say_on(1, ts, "other-7", "softirq_raise: vec=1 [action=TIMER]"));
            },
            false,
        );
        note(&tape, NoteId::LongIdlePeriod).is_some()
    };
    assert_eq!([most(100, 120), most(100, 800)], [false, true]);
    // Without idle events it may have been off.
    assert!(note(&slept(at_work_meanwhile, true), NoteId::LongIdlePeriod).is_some());
}

#[test]
fn the_idle_task_of_a_cpu_that_is_switched_off_is_not_idle() {
    for event in [
        "cpuhp_enter: cpu: 0000 target:   0 step:  88 (takedown_cpu)",
        "cpuhp_exit: cpu=0 state=88 idx=88 ret=0",
    ] {
        let off = |lines: &mut Lines, at: u64| {
            at_work_meanwhile(lines, at);
            lines.say_on(1, at + 3 * MS, "other-7", event);
        };
        let tape = slept(off, true);
        assert_eq!((pieces(&tape).len(), note(&tape, NoteId::LongIdlePeriod)), (40, None));
        let words = note(&tape, NoteId::SwitchedCpus).unwrap();
        assert!(words.starts_with("1 idle period, 600.000 s together"), "{words}");
        // Its own steps do not count, nor do those of a CPU whose idle states are seen.
        let own = slept(|lines, at| lines.say(at + 3 * MS, "cpuhp/0-12", event), true);
        assert_eq!(note(&own, NoteId::SwitchedCpus), None);
        assert_eq!(pieces(&slept(off, false)).len(), 41);
    }
}

#[test]
fn what_another_cpu_did_dates_the_wake() {
    let wake = |what: &[(u64, &str)]| {
        let mut lines = Lines::default();
        let at = TICK + MS;
        lines.idle(at, 3 * MS);
        let exit = at + 3 * MS - 5 * US;
        lines.say(exit - US, "<idle>-0", "reschedule_entry: vector=253");
        for (before, what) in what {
            lines.say(exit - before, "other-7", what);
            let last = lines.0.last_mut().unwrap();
            last.1 = last.1.replace("[000]", "[001]");
        }
        let tape = lines.tape("zen-server");
        let input = tape.inputs.iter().find(|i| i.name == "wake").unwrap();
        let known = Confidence::ALL.into_iter().find(|c| input.counts[*c as usize] > 0).unwrap();
        let p = pieces(&tape)[0];
        (p.start_ns + p.wake_ns, exit, known)
    };
    let waking = "sched_waking: comm=job pid=9 prio=120 target_cpu=000";
    let ipi = "ipi_send_cpu: cpu=0 callsite=native_smp_send_reschedule+0x0 callback=0x0";
    let (at, exit, known) = wake(&[(20 * US, waking)]);
    assert_eq!((exit / US - at / US, known), (20, Confidence::Derived));
    let (at, exit, known) = wake(&[(20 * US, waking), (17 * US, ipi)]);
    assert_eq!((exit / US - at / US, known), (17, Confidence::Recorded));
    // Nothing shows it: the declared exit latency must do.
    let nothing = wake(&[]);
    assert_eq!(nothing.2, Confidence::Derived);
    // A task that ran here last may be woken elsewhere.
    let begins = (2500 * US, "sched_waking: comm=late pid=5 prio=120 target_cpu=000");
    let goes = (2490 * US, "sched_migrate_task: comm=late pid=5 prio=120 orig_cpu=0 dest_cpu=1");
    let there = (2480 * US, "sched_wakeup: comm=late pid=5 prio=120 target_cpu=001");
    assert_eq!(exit / US - wake(&[begins]).0 / US, 2500, "the test's events are heard");
    for elsewhere in [&[begins, goes, there][..], &[begins, there], &[begins, goes]] {
        assert_eq!(wake(elsewhere), nothing, "{elsewhere:?}");
        let (at, exit, known) = wake(&[elsewhere, &[(20 * US, waking)]].concat());
        assert_eq!((exit / US - at / US, known), (20, Confidence::Derived));
    }
    // One that ran elsewhere is woken here.
    let here = [
        (30 * US, "sched_waking: comm=late pid=5 prio=120 target_cpu=001"),
        (25 * US, "sched_migrate_task: comm=late pid=5 prio=120 orig_cpu=1 dest_cpu=0"),
    ];
    assert_eq!(exit / US - wake(&here).0 / US, 25);
}
