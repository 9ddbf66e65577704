// SPDX-License-Identifier: GPL-2.0-only
//! Texts of which somebody has left out lines, or in which a program printed less than it had.

use std::path::Path;

use idlewise_model::*;
use idlewise_tape::make;
use idlewise_trace::TraceFile;

const MS: u64 = 1_000_000;
const TICK: u64 = 1_000_000 * MS;

/// Lines of two CPUs that tick at HZ 250 for 2 s, and are idle for 2 ms in each period, with a line for each thing that happens.
fn lines() -> Vec<(u64, String)> {
    with_flags(["P", "P|I"])
}

/// In each period a wheel timer is armed that is due at the next tick, with one of these flags.
fn with_flags(flags: [&str; 2]) -> Vec<(u64, String)> {
    let mut out = Vec::new();
    let mut add = |cpu: u64, ts: u64, task: &str, what: String| {
        let (s, us) = (ts / 1_000_000_000, ts / 1000 % MS);
        out.push((ts, format!("{task:>16} [{cpu:03}] {s:5}.{us:06}: {what}\n")));
    };
    let to =
        "prev_comm=job prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=swapper next_pid=0 next_prio=120";
    let back =
        "prev_comm=swapper prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=job next_pid=9 next_prio=120";
    for n in 0..500 {
        for cpu in 0..2 {
            let (at, id) = (TICK + n * 4 * MS + cpu * 1000, 0xa1 + cpu);
            let function = "function=tick_nohz_handler";
            add(
                cpu,
                at + 5000,
                "<idle>-0",
                format!("hrtimer_expire_entry: hrtimer=0x{id:x} {function} now={}", at + 2000),
            );
            add(cpu, at + 3000, "<idle>-0", format!("hrtimer_cancel: hrtimer=0x{id:x}"));
            let due = at + 4 * MS;
            add(
                cpu,
                at + 7000,
                "<idle>-0",
                format!(
                    "hrtimer_start: hrtimer=0x{id:x} {function} expires={due} softexpires={due} mode=ABS"
                ),
            );
            let timer = |n: u64| format!("timer=0xb{cpu}{:02x}", n % 64);
            if n > 0 {
                let expires = format!(
                    "timer_expire_entry: {} function=f now={} baseclk={}",
                    timer(n - 1),
                    1000 + n,
                    1000 + n
                );
                add(cpu, at + 9000, "<idle>-0", format!("timer_cancel: {}", timer(n - 1)));
                add(cpu, at + 10_000, "<idle>-0", expires);
            }
            let jiffy = 1001 + n;
            let flags = flags[usize::from(n % 2 == 1)];
            add(
                cpu,
                at + MS / 2,
                "job-9",
                format!(
                    "timer_start: {} function=f expires={jiffy} [timeout=1] bucket_expiry={jiffy} cpu={cpu} idx=1 flags={flags}",
                    timer(n)
                ),
            );
            add(cpu, at + MS, "job-9", format!("sched_switch: {to}"));
            add(cpu, at + MS + 5000, "<idle>-0", format!("cpu_idle: state=1 cpu_id={cpu}"));
            add(cpu, at + 3 * MS - 5000, "<idle>-0", format!("cpu_idle: state=4294967295 cpu_id={cpu}"));
            add(cpu, at + 3 * MS, "<idle>-0", format!("sched_switch: {back}"));
        }
    }
    out.sort();
    out
}

fn tape(lines: &[(u64, String)]) -> Tape {
    let text: String = lines.iter().map(|(_, line)| line.as_str()).collect();
    let trace = TraceFile::from_bytes(Path::new("some.txt"), format!("cpus=2\n{text}").into_bytes()).unwrap();
    make(&trace, "some.txt", &idlewise_platform::find("skylake-sp").unwrap(), "").unwrap()
}

fn note(tape: &Tape, id: NoteId) -> Option<&str> {
    tape.notes.iter().find(|n| n.id == id).map(|n| n.words.as_str())
}

fn longest_ms(tape: &Tape) -> u64 {
    let pieces = tape.cpus.iter().flat_map(|c| c.pieces.to_vec().unwrap());
    pieces.map(|p| p.stay_ns()).max().unwrap() / MS
}

#[test]
fn a_part_that_was_cut_out_is_no_idle_time() {
    let whole = lines();
    let made = tape(&whole);
    assert_eq!((made.stood_still_ns, longest_ms(&made), note(&made, NoteId::MissingLines)), (0, 1, None));
    // Cut within idle periods, and while tasks run.
    for (from, to) in
        [(200 * 4 * MS + 2 * MS, 1202 * MS + MS / 2), (200 * 4 * MS + 3 * MS + MS / 2, 1205 * MS - MS / 2)]
    {
        let gone = TICK + from..TICK + to;
        let cut: Vec<_> = whole.iter().filter(|(ts, _)| !gone.contains(ts)).cloned().collect();
        let made = tape(&cut);
        assert_eq!((made.stood_still_ns / (10 * MS), longest_ms(&made)), (40, 1));
        let words = note(&made, NoteId::MissingLines).unwrap();
        assert!(words.contains("s are missing (1 place)"), "{words}");
        assert_eq!(note(&made, NoteId::StoodStill), None);
    }
}

#[test]
fn lines_of_the_idle_task_alone_do_not_show_what_tasks_armed() {
    let known = |lines: &[(u64, String)]| tape(lines).cpus[0].pieces.to_vec().unwrap()[50].timer_confidence();
    let whole = lines();
    assert!(known(&whole) < Confidence::Bounded);
    let idle: Vec<_> = whole.into_iter().filter(|(_, line)| line.contains("<idle>")).collect();
    assert_eq!(known(&idle), Confidence::Bounded);
}

#[test]
fn a_wheel_timer_that_may_be_deferrable_bounds_nothing() {
    let with = |flags: [&str; 2]| {
        let pieces = tape(&with_flags(flags)).cpus[0].pieces.to_vec().unwrap();
        (pieces[300].timer_confidence(), pieces[300].flags.has(PieceFlags::TIMER_AT_MOST))
    };
    // Where all have the same flags, the program prints no others.
    let (known, at_most) = with(["D|P|I", "D|P|I"]);
    assert_eq!((known, at_most), (Confidence::Bounded, false));
    assert!(with(["P", "P|I"]).0 < Confidence::Bounded);
}

#[test]
fn a_tick_that_is_stopped_twice_was_started_in_between() {
    let stops = |restarts: bool| {
        let mut lines: Vec<_> = lines().into_iter().filter(|(_, line)| line.contains("[000]")).collect();
        // From some time on each idle period stops the tick; that it starts again is recorded or not.
        for n in 100..500 {
            let at = TICK + n * 4 * MS + MS;
            let mut add = |ts: u64, what: String| {
                let (s, us) = (ts / 1_000_000_000, ts / 1000 % MS);
                lines.push((ts, format!("          <idle>-0 [000] {s:5}.{us:06}: {what}\n")));
            };
            add(at + 1000, "tick_stop: success=1 dependency=NONE".to_owned());
            let arm = |due: u64| {
                format!(
                    "hrtimer_start: hrtimer=0xa1 function=tick_nohz_handler expires={due} softexpires={due} mode=ABS"
                )
            };
            add(at + 2000, arm(at + 40 * MS));
            if restarts {
                add(at + 2 * MS - 4000, arm(at + 3 * MS));
            }
        }
        lines.retain(|(ts, line)| restarts || *ts < TICK + 104 * 4 * MS || !line.contains("hrtimer_start"));
        lines.sort();
        let pieces = tape(&lines).cpus[0].pieces.to_vec().unwrap();
        pieces.last().unwrap().flags.has(PieceFlags::STOPPED_BEFORE)
    };
    assert_eq!((stops(true), stops(false)), (false, false));
}
