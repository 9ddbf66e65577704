// SPDX-License-Identifier: GPL-2.0-only
//! Up to about Linux 5.15 every expiry of an hrtimer begins with an `hrtimer_cancel`. Does it make another tape?

use std::path::Path;

use idlewise_madeinput::story::*;
use idlewise_madetraces::ctf;
use idlewise_model::*;
use idlewise_trace::write::{FtraceText, Names, PerfettoWriter};
use idlewise_trace::{Events, TraceFile};

/// A recording of ours, all of it.
struct Recorded {
    file: TraceFile,
    events: Vec<Event>,
}

impl Recorded {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
        let file = TraceFile::open(&path).unwrap();
        let events = file.events().unwrap().collect();
        Self { file, events }
    }

    /// The events as an older kernel records them: each expiry of an hrtimer is announced by a cancel, `before_ns` earlier.
    fn of_older_kernel(&self, before_ns: u64) -> Vec<Event> {
        let mut all = Vec::new();
        for e in &self.events {
            if let EventKind::HrtimerExpireEntry { hrtimer, .. } = e.kind {
                let ts_ns = e.ts_ns - before_ns;
                all.push(Event { ts_ns, kind: EventKind::HrtimerCancel { hrtimer }, ..*e });
            }
            all.push(*e);
        }
        all.sort_by_key(|e| e.ts_ns);
        assert!(all.len() > self.events.len() + 20, "it has expiries");
        all
    }

    fn name(&self, function: u64) -> u64 {
        if self.file.meta().function(function) == Some("tick_nohz_handler") { TICK_FN } else { OTHER_FN }
    }
}

/// The names of a recording that was read to its end.
struct Known<'a>(Events<'a>);

impl Names for Known<'_> {
    fn comm(&self, pid: i32) -> Option<&str> {
        self.0.comm(pid)
    }
    fn symbol(&self, function: u64) -> Option<&str> {
        self.0.symbol(function)
    }
    fn event_name(&self, id: u16) -> Option<&str> {
        self.0.event_name(id)
    }
    fn irq_name(&self, irq: i32) -> Option<&str> {
        self.0.irq_name(irq)
    }
}

/// Writes the events that a recording `of` holds, or those that it might hold.
type Write = fn(of: &Recorded, events: &[Event]) -> TraceFile;

fn known(of: &Recorded) -> Known<'_> {
    let mut events = of.file.events().unwrap();
    events.by_ref().for_each(drop);
    Known(events)
}

fn bytes(bytes: Vec<u8>) -> TraceFile {
    TraceFile::from_bytes(Path::new("written"), bytes).unwrap()
}

fn text(of: &Recorded, events: &[Event]) -> TraceFile {
    let names = known(of);
    let mut writer = FtraceText::new(Vec::new(), of.file.meta()).unwrap();
    events.iter().for_each(|e| writer.event(e, &names).unwrap());
    bytes(writer.finish().unwrap())
}

/// The kernel's default, and that of trace-cmd report and perf script: times to the microsecond.
fn text_in_us(of: &Recorded, events: &[Event]) -> TraceFile {
    let names = known(of);
    let mut writer = FtraceText::new(Vec::new(), of.file.meta()).unwrap();
    events.iter().for_each(|e| writer.event(e, &names).unwrap());
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let cut = |line: &str| -> String {
        let Some(at) = line.find("] ..... ") else { return format!("{line}\n") };
        let dot = at + line[at + 8..].find('.').unwrap() + 8;
        format!("{}{}\n", &line[..dot + 7], &line[dot + 10..])
    };
    bytes(text.lines().map(cut).collect::<String>().into_bytes())
}

fn perfetto(of: &Recorded, events: &[Event]) -> TraceFile {
    let names = known(of);
    let mut writer = PerfettoWriter::new(Vec::new(), of.file.meta()).unwrap();
    events.iter().for_each(|e| writer.event(e, &names).unwrap());
    bytes(writer.finish().unwrap())
}

fn dat(of: &Recorded, events: &[Event]) -> TraceFile {
    let mut story = Story::new(2);
    for e in events {
        let function = match e.kind {
            EventKind::HrtimerStart { function, .. } | EventKind::HrtimerExpireEntry { function, .. } => {
                function
            }
            _ => 0,
        };
        story.retell(e, of.name(function));
    }
    story.trace()
}

/// In LTTng's layout, with the functions of timers named by a `kallsyms` beside it.
fn lttng(of: &Recorded, events: &[Event]) -> TraceFile {
    let understood: Vec<Event> =
        events.iter().filter(|e| !matches!(e.kind, EventKind::Other { .. })).copied().collect();
    let mut files = ctf::Lttng::default().write(&understood);
    let starts = events.iter().find_map(|e| match e.kind {
        EventKind::HrtimerStart { function, .. } if of.name(function) == TICK_FN => Some(function),
        _ => None,
    });
    files.insert("kallsyms".into(), format!("{:x} t tick_nohz_handler\n", starts.unwrap()).into_bytes());
    ctf::open(files)
}

fn tape(file: &TraceFile) -> Tape {
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    idlewise_tape::make(file, "written", &machine, "menu").unwrap()
}

fn same_without_and_with(name: &str, formats: &[(&str, Write)]) {
    let of = Recorded::open(name);
    for (format, write) in formats {
        let without = tape(&write(&of, &of.events));
        for before_ns in [0, 300, 1_000] {
            let with = tape(&write(&of, &of.of_older_kernel(before_ns)));
            let at = format!("{name} as {format}, cancelled {before_ns} ns before");
            for (a, b) in without.cpus.iter().zip(&with.cpus) {
                let (left, right) = (a.pieces.to_vec(), b.pieces.to_vec());
                let (left, right) = (left.unwrap(), right.unwrap());
                let differ = left.iter().zip(&right).find(|(l, r)| l != r);
                assert_eq!(differ, None, "{at}, CPU {}", a.cpu);
            }
            // More events lie closer together.
            let of_all = |tape: &Tape| -> Vec<CpuTape> {
                tape.cpus.iter().map(|cpu| CpuTape { event_ns: 0, ..cpu.clone() }).collect()
            };
            assert_eq!(of_all(&without), of_all(&with), "{at}");
            assert_eq!(without.inputs, with.inputs, "{at}");
            assert_eq!((&without.notes, &without.health), (&with.notes, &with.health), "{at}");
        }
    }
}

const ALL: [(&str, Write); 5] = [
    ("ftrace text", text),
    ("ftrace text in us", text_in_us),
    ("Perfetto", perfetto),
    ("trace.dat", dat),
    ("CTF", lttng),
];

#[test]
fn a_cancel_before_each_expiry_changes_nothing() {
    same_without_and_with("sleeploop.dat", &ALL);
}

#[test]
fn nor_does_it_in_a_quiet_recording() {
    same_without_and_with("kvm-guest/idle_quiet.dat", &ALL);
}

#[test]
fn nor_does_it_under_a_mixed_load() {
    same_without_and_with("mixed.dat", &ALL[..2]);
}

/// CPU 0 is idle from `at` for 50 us, then task 42 runs.
fn nap(s: &mut Story, at: u64) {
    s.rest(0, at);
    s.idle(0, at + US, 0);
    s.exit(0, at + 51 * US);
    s.switch(0, at + 60 * US, RUNNING, 42);
}

const TIMER: u64 = 0x7000;

fn ticked() -> Story {
    let mut s = Story::new(1);
    s.prelude(0);
    s.wheel(0, TICK + 9 * US, 0x8000, 9_000, 9_000, 1_000, 0x10_0000);
    s
}

/// For each stay of CPU 0: until which time it waits for an hrtimer.
fn waits(s: &Story) -> Vec<Option<u64>> {
    let tape = s.tape();
    let at = |p: &Piece| (p.hrtimer_ns != NEVER_NS).then(|| p.start_ns.saturating_add_signed(p.hrtimer_ns));
    stays(&tape, 0).iter().map(at).collect()
}

#[test]
fn a_timer_that_is_cancelled_and_armed_again_was_not_pending_in_between() {
    let mut s = ticked();
    s.arm(0, TICK + 10 * US, TIMER, OTHER_FN, TICK + 9 * MS);
    nap(&mut s, TICK + MS);
    s.cancel(0, TICK + 2 * MS, TIMER);
    nap(&mut s, TICK + 3 * MS);
    s.arm(0, TICK + 5 * MS, TIMER, OTHER_FN, TICK + 7 * MS);
    nap(&mut s, TICK + 6 * MS);
    s.cancel(0, TICK + 7 * MS + US, TIMER);
    s.fire(0, TICK + 7 * MS + 2 * US, TIMER, OTHER_FN, TICK + 7 * MS + US);
    nap(&mut s, TICK + 8 * MS);
    assert_eq!(waits(&s), [Some(TICK + 9 * MS), None, Some(TICK + 7 * MS), None]);
}

#[test]
fn a_cancel_and_an_expiry_with_other_tasks_in_between_are_two_things() {
    let mut s = ticked();
    s.arm(0, TICK + 10 * US, TIMER, OTHER_FN, TICK + 9 * MS);
    s.cancel(0, TICK + MS, TIMER);
    // It is armed again, by a task whose events are not recorded.
    nap(&mut s, TICK + MS + 100 * US);
    s.fire(0, TICK + MS + 900 * US, TIMER, OTHER_FN, TICK + MS + 899 * US);
    assert_eq!(waits(&s), [Some(TICK + MS + 899 * US)], "for when it fired, not for what was cancelled");
}

/// What the tape says of wakes, by grade.
fn wakes(s: &Story) -> [u64; 4] {
    s.tape().inputs.iter().find(|i| i.name == "wake").unwrap().counts
}

#[test]
fn a_wake_by_a_timer_that_nobody_armed_is_known_from_one_side_only() {
    let story = |armed: bool, cancelled: bool| {
        let mut s = ticked();
        if armed {
            s.arm(0, TICK + 10 * US, TIMER, OTHER_FN, TICK + 2 * MS);
        }
        s.rest(0, TICK + MS);
        s.idle(0, TICK + MS + US, 0);
        s.timer_irq(0, TICK + 2 * MS + 9 * US);
        if cancelled {
            s.cancel(0, TICK + 2 * MS + 10 * US, TIMER);
        }
        s.fire(0, TICK + 2 * MS + 10 * US, TIMER, OTHER_FN, TICK + 2 * MS + 10 * US);
        s.timer_irq_end(0, TICK + 2 * MS + 11 * US);
        s.exit(0, TICK + 2 * MS + 12 * US);
        s.switch(0, TICK + 2 * MS + 15 * US, RUNNING, 42);
        s
    };
    for cancelled in [false, true] {
        assert_eq!(wakes(&story(true, cancelled)), [1, 0, 0, 0]);
        assert_eq!(wakes(&story(false, cancelled)), [0, 0, 1, 0]);
        assert_eq!(stays(&story(true, cancelled).tape(), 0)[0].wake_ns, 999 * US);
    }
}
