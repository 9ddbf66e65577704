// SPDX-License-Identifier: GPL-2.0-only
//! Are the words and numbers of a line those that they stand for?

use idlewise_model::EventKind::{
    BlockRqIssue, HrtimerCancel, HrtimerExpireEntry, HrtimerStart, SchedSwitch, TickStop, TimerStart,
};

use crate::text_lines::{bad, one, open};

/// The number that `text` is, where it is one.
fn number(text: &str, value: Option<u64>) {
    let line = format!("block_rq_issue: dev=1 sector={text} nr_sector=8 bytes=4096 ioprio=0");
    let Some(sector) = value else { return bad(&line) };
    assert_eq!(one(&line), BlockRqIssue { dev: 1, sector, sectors: 8 }, "{text}");
}

fn pointer(text: &str, value: Option<u64>) {
    let line = format!("hrtimer_cancel: hrtimer={text}");
    let Some(hrtimer) = value else { return bad(&line) };
    assert_eq!(one(&line), HrtimerCancel { hrtimer }, "{text}");
}

/// What `text` says of a function: the number that stands for it, and its name.
fn function(text: &str) -> (u64, Option<String>) {
    let line = format!(
        "# tracer: nop\n   a-1   [000] d..1.   1.000000: hrtimer_expire_entry: hrtimer=1 function={text} now=0\n"
    );
    let file = open(line.as_bytes());
    let mut events = file.events().unwrap();
    let Some(HrtimerExpireEntry { hrtimer: 1, function, now: 0 }) = events.next().map(|e| e.kind) else {
        panic!("{text}")
    };
    (function, events.symbol(function).map(str::to_owned))
}

#[test]
fn numbers_in_all_spellings() {
    for (text, value) in [
        ("0", Some(0)),
        ("007", Some(7)),
        ("4294967295", Some(0xffff_ffff)),
        ("-1", Some(u64::MAX)),
        ("0x1000ceebe", Some(0x0001_000c_eebe)),
        ("(0)", Some(0)),
        ("(-1)", Some(u64::MAX)),
        ("yes", Some(1)),
        ("", None),
        ("-", None),
        ("0x", None),
        ("1a", None),
        ("()", None),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("0x11112222333344445", None),
    ] {
        number(text, value);
    }
    pointer("ffff888627c1c6f8", Some(0xffff_8886_27c1_c6f8));
    pointer("0xffff888627c1c6f8", Some(0xffff_8886_27c1_c6f8));
    for word in ["(nil)", "(null)", "(____ptrval____)", "(ptrval)", "0x(ptrval)", "(efault)"] {
        pointer(word, Some(0));
        assert_eq!(function(word.trim_start_matches("0x")), (0, None), "{word}");
    }
    ["x", "()", "(1)"].iter().for_each(|text| pointer(text, None));
}

#[test]
fn functions_lose_offset_and_stay_addresses() {
    let named = |text: &str| function(text).1;
    assert_eq!(named("tick_nohz_handler+0x0/0x140").as_deref(), Some("tick_nohz_handler"));
    assert_eq!(named("hrtimer_wakeup/0x0").as_deref(), Some("hrtimer_wakeup"));
    assert_eq!(named("process_timeout").as_deref(), Some("process_timeout"));
    assert_eq!(function("0xc03e50a8"), (0xc03e_50a8, None));
    assert_eq!(function("00000000c03e50a8"), (0xc03e_50a8, None));
}

#[test]
fn letters_and_words_are_the_kernels_bits() {
    let state = |text: &str| {
        let tasks = "prev_comm=a prev_pid=1 prev_prio=2 prev_state=";
        match one(&format!("sched_switch: {tasks}{text} ==> next_comm=b next_pid=3 next_prio=4")) {
            SchedSwitch { prev_pid: 1, prev_prio: 2, prev_state, next_pid: 3, next_prio: 4 } => prev_state,
            other => panic!("{text}: {other:?}"),
        }
    };
    for (text, bits) in [
        ("R", 0),
        ("R+", 0x100),
        ("S", 1),
        ("D", 2),
        ("I", 0x80),
        ("D|K", 0x82),
        ("x|K", 0xc0),
        ("Z", 0x20),
        // Of what is no state the task sleeps.
        ("", 1),
        ("?", 1),
    ] {
        assert_eq!(state(text), bits, "{text}");
    }
    let short = one("sched_switch: a:1 [120] D|W ==> b:2 [98]");
    assert!(matches!(short, SchedSwitch { prev_state: 0x82, .. }), "{short:?}");
    let started =
        |mode: &str| format!("hrtimer_start: hrtimer=0x1 function=a expires=5 softexpires=5 mode={mode}");
    for (text, bits) in [("ABS|PINNED|HARD", 10), ("REL", 1), ("0x9", 9)] {
        let HrtimerStart { mode, .. } = one(&started(text)) else { panic!("{text}") };
        assert_eq!(mode.0, bits, "{text}");
    }
    bad(&started("x"));
    for (text, bits) in
        [("", 0), ("D", 0x8_0000), ("P|I", 0x30_0000), ("D|P|I", 0x38_0000), ("436207616", 436_207_616)]
    {
        // Only a recorder that does not write all letters of every timer is believed.
        let other = "timer_start: timer=0x2 function=b expires=9 now=8 flags=D";
        let line = format!("timer_start: timer=0x1 function=a expires=9 now=8 flags={text}");
        let text_of_both = format!("# tracer: nop\n a-1 [000] 1.0: {other}\n a-1 [000] 2.0: {line}\n");
        let file = open(text_of_both.as_bytes());
        let last = file.events().unwrap().last().unwrap().kind;
        let TimerStart { timer: 1, flags, .. } = last else { panic!("{text}: {last:?}") };
        assert_eq!(flags.0, bits, "{text}");
    }
    for (text, bits) in [("NONE", 0), ("SCHED", 4), ("0x10", 16)] {
        let stopped = one(&format!("tick_stop: success=0 dependency={text}"));
        assert_eq!(stopped, TickStop { success: false, dependency: bits }, "{text}");
    }
}
