// SPDX-License-Identifier: GPL-2.0-only
//! Are events that no kernel can have recorded counted and left out, so that the tape holds what was recorded, and can be
//! written and read again?

use std::path::Path;

use idlewise_madeinput::story::stays;
use idlewise_model::{HealthKind, LATEST_NS, NEVER_NS, NO_LATENCY_LIMIT_NS, Tape};
use idlewise_tape::file::{read, write};
use idlewise_trace::TraceFile;

/// CPU 0's first idle period; there are twenty, 3 ms apart.
const FIRST_NS: u64 = 1_000_000_000;

fn line(cpu: u32, ns: u64, event: &str) -> String {
    format!(
        "          <idle>-0     [{cpu:03}] d..1. {}.{:09}: {event}\n",
        ns / 1_000_000_000,
        ns % 1_000_000_000
    )
}

fn periods(start_ns: u64, about: u32, state: i64) -> String {
    let pair = |n: u64| {
        let at_ns = start_ns + n * 3_000_000;
        let event = |state: i64| format!("cpu_idle: state={state} cpu_id={about}");
        line(0, at_ns, &event(state)) + &line(0, at_ns + 2_000_000, &event(4_294_967_295))
    };
    (0..20).map(pair).collect()
}

fn tape(lines: &str) -> Tape {
    let text = format!("# tracer: nop\n#\n{lines}");
    let trace = TraceFile::from_bytes(Path::new("x.txt"), text.into_bytes()).unwrap();
    let tape =
        idlewise_tape::make(&trace, "x.txt", &idlewise_platform::find("kvm-guest").unwrap(), "").unwrap();
    assert_eq!(read(&write(&tape).unwrap()).unwrap(), tape);
    tape
}

fn bad(tape: &Tape) -> u64 {
    tape.health.count(HealthKind::BadEvent)
}

#[test]
fn times_at_the_end_of_the_clock_are_none() {
    for start_ns in [LATEST_NS, (1 << 63) - 30_000_000, u64::MAX - 60_000_000] {
        for lines in [
            periods(FIRST_NS, 0, 1) + &periods(start_ns, 0, 1),
            periods(start_ns, 0, 1) + &periods(FIRST_NS, 0, 1),
        ] {
            let tape = tape(&lines);
            assert_eq!((bad(&tape), tape.cpus.len(), tape.cpus[0].pieces.len()), (40, 1, 20));
            assert_eq!((tape.source.first_ns, tape.source.last_ns), (FIRST_NS, FIRST_NS + 59_000_000));
            let (_, count) = tape.health.iter().find(|(kind, _)| *kind == HealthKind::BadEvent).unwrap();
            assert!(
                count.first.starts_with(&format!("CPU 0 at {}", start_ns / 1_000_000_000)),
                "{}",
                count.first
            );
        }
    }
}

#[test]
fn a_cpu_that_no_kernel_has_gets_no_tape() {
    for event in [
        "cpu_idle: state=1 cpu_id=4000000000",
        "cpu_idle: state=4294967295 cpu_id=65536",
        "cpu_idle_miss: cpu_id=4294967295 state=1 type=above",
        "cpu_frequency: state=1000000 cpu_id=4294967295",
        "sched_waking: comm=a pid=5 prio=120 target_cpu=4000000000",
        "sched_wakeup: comm=a pid=5 prio=120 target_cpu=4000000000",
        "sched_migrate_task: comm=a pid=5 prio=120 orig_cpu=0 dest_cpu=4000000000",
        "timer_base_idle: is_idle=1 cpu=4000000000",
    ] {
        let tape = tape(&(line(0, FIRST_NS - 5, event) + &periods(FIRST_NS, 0, 1)));
        assert_eq!(tape.cpus.iter().map(|c| c.cpu).collect::<Vec<_>>(), [0], "{event}");
        assert_eq!((bad(&tape), tape.cpus[0].pieces.len()), (1, 20), "{event}");
    }
}

#[test]
fn timers_and_limits_beyond_all_bounds_stay_within_what_a_tape_holds() {
    let mut lines = String::new();
    for (n, expires) in [u64::MAX, i64::MAX as u64, 1 << 62, 0, i64::MIN as u64].iter().enumerate() {
        let event = format!(
            "hrtimer_start: hrtimer=0xaa{n} function=it_real_fn expires={expires} softexpires={expires} mode=ABS"
        );
        lines += &line(0, FIRST_NS - 100 + n as u64, &event);
    }
    for (ns, us) in [(5, -7), (9, i64::from(i32::MAX)), (1, 3), (4, i64::from(i32::MIN))] {
        let event = format!("pm_qos_update_target: action=ADD_REQ prev_value=2000000000 curr_value={us}");
        lines += &line(0, FIRST_NS + ns, &event);
    }
    let tape = tape(&(lines + &periods(FIRST_NS + 10, 0, 1)));
    let cpu = &tape.cpus[0];
    assert_eq!((bad(&tape), cpu.pieces.len()), (3, 20), "0 and never are times of a timer");
    for piece in stays(&tape, cpu.cpu) {
        let rel = piece.hrtimer_ns;
        assert!(rel == NEVER_NS || rel.unsigned_abs() <= LATEST_NS, "{rel}");
    }
    let limits: Vec<(u64, i64)> = cpu.latency.iter().map(|c| (c.at_ns - FIRST_NS, c.value)).collect();
    let none = NO_LATENCY_LIMIT_NS;
    assert_eq!(limits, [(5, none), (9, none), (9, 3_000), (9, none)], "in order of time");
}

#[test]
fn timers_that_no_clock_can_have_are_counted_and_not_used() {
    let arm = |ns: u64, expires: u64| {
        let event = format!(
            "hrtimer_start: hrtimer=0xaa function=it_real_fn expires={expires} softexpires={expires} mode=ABS"
        );
        line(0, ns, &event)
    };
    let good = arm(FIRST_NS - 100, FIRST_NS + 1_000_000) + &periods(FIRST_NS, 0, 1);
    let expected = tape(&good);
    assert_eq!((bad(&expected), stays(&expected, 0)[0].hrtimer_ns), (0, 1_000_000));
    let other = |event: &str| line(0, FIRST_NS - 50, event);
    for (bad_line, field) in [
        (arm(FIRST_NS - 50, 1 << 63), "expires"),
        (arm(FIRST_NS - 50, u64::MAX), "expires"),
        (arm(FIRST_NS - 50, LATEST_NS), "expires"),
        (other("hrtimer_expire_entry: hrtimer=0xbb function=it_real_fn now=9223372036854775808"), "now"),
        (other("hrtimer_expire_entry: hrtimer=0xbb function=it_real_fn now=9223372036854775807"), "now"),
        (other("timer_expire_entry: timer=0xcc function=f now=18446744073709551615 baseclk=1"), "now"),
        (
            other(
                "tmigr_cpu_idle: cpu=0 parent=0xdd nextevt=9223372036854775808 wakeup=18446744073709551615",
            ),
            "nextevt",
        ),
    ] {
        let tape = tape(&(bad_line.clone() + &good));
        let (_, count) = tape
            .health
            .iter()
            .find(|(kind, _)| *kind == HealthKind::BadEvent)
            .unwrap_or_else(|| panic!("not counted: {bad_line}"));
        let told = format!("a timer's `{field}`; expected a time that a clock of the machine can have");
        assert!(count.count == 1 && count.first.contains(&told), "{}", count.first);
        assert_eq!(tape.cpus, expected.cpus, "{bad_line}");
    }
}

#[test]
fn states_that_no_kernel_has_are_counted_and_not_known() {
    for state in [-5, 255, i64::from(i32::MAX)] {
        let tape = tape(&periods(FIRST_NS, 0, state));
        assert_eq!(tape.health.count(HealthKind::StateOutOfTable), 20, "{state}");
        assert_eq!(stays(&tape, 0)[0].state, 255);
    }
}
