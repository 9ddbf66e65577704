// SPDX-License-Identifier: GPL-2.0-only
//! Since 7.0 the clock event stays programmed for a timer that was cancelled, until it is programmed again.

use std::path::Path;

use idlewise_model::*;
use idlewise_tape::make;
use idlewise_trace::TraceFile;

/// One idle period of a CPU whose `hrtick`, armed for 2 ms later, was cancelled before; with `rearm` in front of the entry.
fn period(release: &str, rearm: &str) -> (Piece, Confidence) {
    let cancel = "          job-9       [000] d..1   100.001000: hrtimer_cancel: hrtimer=00000000aaaa0009\n";
    period_with(release, rearm, cancel)
}

/// The same with these lines before the switch to the idle task, and `rearm` behind it.
fn period_with(release: &str, rearm: &str, before: &str) -> (Piece, Confidence) {
    let text = format!(
        "\
# tracer: nop
# os release : {release}
#
          job-9       [000] d..1   100.000003: hrtimer_expire_entry: hrtimer=00000000aaaa0001 function=tick_nohz_handler now=100000002500
          job-9       [000] d..1   100.000009: hrtimer_start: hrtimer=00000000aaaa0001 function=tick_nohz_handler expires=100004000000 softexpires=100004000000 mode=ABS
          job-9       [000] d..1   100.000103: hrtimer_start: hrtimer=00000000aaaa0009 function=hrtick expires=100003000000 softexpires=100003000000 mode=ABS
{before}          job-9       [000] d..1   100.001002: sched_switch: prev_comm=job prev_pid=9 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
{rearm}         <idle>-0       [000] d..1   100.001010: cpu_idle: state=1 cpu_id=0
         <idle>-0       [000] d..1   100.002000: cpu_idle: state=4294967295 cpu_id=0
         <idle>-0       [000] d..1   100.002010: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=job next_pid=9 next_prio=120
"
    );
    let trace = TraceFile::from_bytes(Path::new("lazy.txt"), text.into_bytes()).unwrap();
    let tape = make(&trace, "lazy.txt", &idlewise_platform::find("kvm-guest").unwrap(), "").unwrap();
    let known = tape.weakest("programmed event");
    (tape.cpus[0].pieces.to_vec().unwrap()[0], known)
}

fn rearm(next_event: u64) -> String {
    rearm_at(100_001_005, next_event)
}

fn rearm_at(us: u64, next_event: u64) -> String {
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    format!(
        "         <idle>-0       [000] d..1   {s}.{us:06}: hrtimer_rearm: next_event={next_event} deferred=1\n"
    )
}

/// From the entry to when hrtick would have expired, ns.
const HRTICK_NS: i64 = 1_990_000;

#[test]
fn the_clock_event_says_for_what_it_is_programmed() {
    // Still for what was cancelled; for the tick; for something that nobody was seen to arm.
    for (next_event, hrtimer_ns, stale_event_ns) in [
        (100_003_000_000, NEVER_NS, HRTICK_NS),
        (100_004_000_000, NEVER_NS, NEVER_NS),
        (100_002_500_000, 1_490_000, NEVER_NS),
    ] {
        let (piece, known) = period("7.3.4-1", &rearm(next_event));
        let found = (piece.hrtimer_ns, piece.stale_event_ns, known);
        assert_eq!(found, (hrtimer_ns, stale_event_ns, Confidence::Derived), "{next_event}");
    }
}

#[test]
fn a_tick_that_came_due_since_the_choice_is_no_timer_of_its_own() {
    // The entry is at 100.001010; the tick's own timer was due 10 us before, and its interrupt is still to come.
    let early = "          job-9       [000] d..1   100.000990: hrtimer_start: hrtimer=00000000aaaa0001 function=tick_nohz_handler expires=100001000000 softexpires=100001000000 mode=ABS
          job-9       [000] d..1   100.000995: hrtimer_cancel: hrtimer=00000000aaaa0009
";
    let (piece, _) = period_with("7.3.4-1", &rearm(100_001_000_000), early);
    assert_eq!((piece.hrtimer_ns, piece.stale_event_ns), (NEVER_NS, NEVER_NS));
}

#[test]
fn without_that_a_cancelled_timer_counts_where_the_kernel_is_known_to_cancel_lazily() {
    for (release, of) in [
        ("7.3.4-1", (HRTICK_NS, Confidence::Bounded)),
        ("7.0.0", (HRTICK_NS, Confidence::Bounded)),
        ("6.12.117", (NEVER_NS, Confidence::Derived)),
    ] {
        let (piece, known) = period(release, "");
        assert_eq!((piece.stale_event_ns, known), of, "{release}");
        assert_eq!(piece.hrtimer_ns, NEVER_NS, "no sleep length counts it");
    }
}

#[test]
fn the_clock_event_stays_programmed_for_a_timer_that_was_moved() {
    let moved = "          job-9       [000] d..1   100.000950: hrtimer_start: hrtimer=00000000aaaa0009 function=hrtick expires=100003900000 softexpires=100003900000 mode=ABS\n";
    let again = |before: &str, after: &str| period_with("7.3.4-1", after, &format!("{before}{moved}"));
    // Armed for 100.003, moved to 100.0039: the event for the first is still to come.
    let (piece, _) = again(&rearm_at(100_000_900, 100_003_000_000), "");
    assert_eq!((piece.hrtimer_ns, piece.stale_event_ns), (2_890_000, HRTICK_NS));
    // It was programmed again since.
    let (piece, _) = again("", &rearm(100_003_900_000));
    assert_eq!((piece.hrtimer_ns, piece.stale_event_ns), (2_890_000, NEVER_NS));
}
