// SPDX-License-Identifier: GPL-2.0-only
//! Does any grade claim more than the events show? Groups of events are taken out of a recording, all subsets of them, and
//! what is graded recorded or derived then must still be what the whole recording shows.

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_checkout::{root, some_of};
use idlewise_model::*;
use idlewise_tape::make;
use idlewise_trace::{TraceFile, write::FtraceText};

/// Events that people leave out together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Switches,
    Wakings,
    TimerVectors,
    CallVectors,
    OtherVectors,
    Misses,
    Ipi,
    Irq,
    Migration,
    Armings,
    Expiries,
    Wheel,
    TickStop,
}

use Group::*;

fn group(kind: &EventKind) -> Option<Group> {
    Some(match kind {
        EventKind::SchedSwitch { .. } | EventKind::SchedMigrateTask { .. } => Switches,
        EventKind::SchedWaking { .. }
        | EventKind::SchedWakeup { .. }
        | EventKind::SchedWakeIdleWithoutIpi { .. } => Wakings,
        EventKind::VectorEntry { vector } | EventKind::VectorExit { vector } => match vector {
            Vector::LocalTimer => TimerVectors,
            Vector::CallFunction | Vector::CallFunctionSingle => CallVectors,
            _ => OtherVectors,
        },
        EventKind::CpuIdleMiss { .. } => Misses,
        EventKind::IpiSendCpu { .. } | EventKind::IpiSendCpumask { .. } => Ipi,
        EventKind::IrqEntry { .. }
        | EventKind::IrqExit { .. }
        | EventKind::SoftirqRaise { .. }
        | EventKind::SoftirqEntry { .. }
        | EventKind::SoftirqExit { .. } => Irq,
        EventKind::TmigrCpuIdle { .. } => Migration,
        EventKind::HrtimerStart { .. } | EventKind::HrtimerCancel { .. } => Armings,
        EventKind::HrtimerExpireEntry { .. } | EventKind::HrtimerExpireExit { .. } => Expiries,
        EventKind::TimerStart { .. }
        | EventKind::TimerCancel { .. }
        | EventKind::TimerExpireEntry { .. }
        | EventKind::TimerExpireExit { .. } => Wheel,
        EventKind::TickStop { .. } | EventKind::TimerBaseIdle { .. } => TickStop,
        _ => return None,
    })
}

/// The first `seconds` of a recording as text, without the events of `without`.
fn text(trace: &TraceFile, seconds: u64, without: &[Group]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = FtraceText::new(&mut out, trace.meta()).unwrap();
    let mut events = trace.events().unwrap();
    let mut first = None;
    while let Some(event) = events.next() {
        let until = *first.get_or_insert(event.ts_ns) + seconds * 1_000_000_000;
        if event.ts_ns > until {
            break;
        }
        let migration = matches!(event.kind, EventKind::Other { id, .. }
            if events.event_name(id).is_some_and(|n| n.starts_with("timer_migration:")));
        let of = if migration { Some(Migration) } else { group(&event.kind) };
        if of.is_none_or(|g| !without.contains(&g)) {
            writer.event(&event, &events).unwrap();
        }
    }
    out
}

fn tape(text: Vec<u8>) -> Tape {
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    let trace = TraceFile::from_bytes(Path::new("some.txt"), text).unwrap();
    make(&trace, "some.txt", &machine, "menu").unwrap()
}

/// What differs between the idle periods of two tapes, by input, and of how many.
fn wrong(part: &Tape, whole: &Tape) -> BTreeMap<&'static str, u64> {
    let mut wrong = BTreeMap::new();
    let mut count = |input, is: bool| *wrong.entry(input).or_default() += u64::from(is);
    let truth: BTreeMap<u64, Piece> =
        whole.cpus[0].pieces.to_vec().unwrap().into_iter().map(|p| (p.start_ns, p)).collect();
    let (cpu, full) = (&part.cpus[0], &whole.cpus[0]);
    let skew = cpu.tick.phase_ns.abs_diff(full.tick.phase_ns);
    let grid = cpu.tick.period_ns == full.tick.period_ns && skew.min(full.tick.period_ns - skew) < 100_000;
    for p in cpu.pieces.to_vec().unwrap() {
        let Some(t) = truth.get(&p.start_ns) else { continue };
        let off = |a: i64, b: i64, by: u64| a.abs_diff(b) > by && (a < MAX_AHEAD || b < MAX_AHEAD);
        // Without its timer's events a handler's time stands for the expiry.
        count("sleep length", {
            let known =
                p.timer_confidence() <= Confidence::Derived && t.timer_confidence() <= Confidence::Derived;
            known && off(p.hrtimer_ns.min(p.wheel_ns), t.hrtimer_ns.min(t.wheel_ns), 200_000)
        });
        count("programmed event", off(cpu.programmed_ns(&p), full.programmed_ns(t), 200_000));
        count("wake", p.wake_ns.abs_diff(t.wake_ns) > 200_000);
        count("visits", p.flags.has(PieceFlags::VISIT_START) != t.flags.has(PieceFlags::VISIT_START));
        count("kernel's states", p.state != t.state);
        count("tick grid", !grid);
        count(
            "tick stopped",
            p.flags.has(PieceFlags::STOPPED_AFTER) != t.flags.has(PieceFlags::STOPPED_AFTER),
        );
        count("iowait", p.iowait != t.iowait);
        count("utilisation", p.util.abs_diff(t.util) > 102);
    }
    wrong
}

/// So few idle periods may be wrong by chance.
const FEW: u64 = 5;
/// A timer further away than this is as good as none, ns.
const MAX_AHEAD: i64 = 1_000_000_000;

/// What a subset's grades say that is wrong, in words.
fn lies(part: &Tape, whole: &Tape) -> Vec<String> {
    let wrong = wrong(part, whole);
    let mut lies = Vec::new();
    for input in &part.inputs {
        let Some(&wrong) = wrong.get(input.name.as_str()) else { continue };
        let [recorded, derived, bounded, assumed] = input.counts;
        // The sleep length's own grade was asked for each idle period.
        let unsure = if input.name == "sleep length" { 0 } else { bounded + assumed };
        let allowed = unsure + recorded / 100 + derived / 25 + FEW;
        if wrong > allowed {
            lies.push(format!("{}: {wrong} wrong of {:?} ({})", input.name, input.counts, input.how));
        }
    }
    lies
}

/// What a subset says of doomed entries that is wrong, in words.
fn wrong_doom(part: &Tape, whole: &Tape) -> Option<String> {
    let doomed = |tape: &Tape| -> u64 {
        let all = tape.cpus.iter().flat_map(|cpu| cpu.pieces.to_vec().unwrap());
        all.map(|p| u64::from(p.flags.has(PieceFlags::DOOMED))).sum()
    };
    let (few, all) = (doomed(part), doomed(whole));
    let grade = part.cpus.iter().filter_map(|cpu| cpu.sends).max()?;
    let wrong = match grade {
        Confidence::Recorded => few.abs_diff(all) > 1 + all / 100,
        Confidence::Derived => few.abs_diff(all) > 2 + all / 2,
        _ => few + 2 < all,
    };
    wrong.then(|| format!("doomed: {few}, {}, of {all}", grade.name()))
}

/// Reasons that say that events are missing which are there.
fn denials(part: &Tape, text: &str) -> Vec<String> {
    let there = |begin: &str| text.contains(&format!(": {begin}"));
    let reasons = [
        ("no sched_switch events", "sched_switch:"),
        ("no sched events", "sched_"),
        ("no cpu_idle events", "cpu_idle:"),
        ("no tick_stop events", "tick_stop:"),
        ("no hrtimer events", "hrtimer_start:"),
        ("no hrtimer events", "hrtimer_expire_entry:"),
        ("not recorded: taken as empty", "timer_start:"),
        ("no arming", "hrtimer_start:"),
    ];
    let denied = reasons.into_iter().filter(|(_, begin)| there(begin));
    let lies =
        denied.flat_map(|(words, _)| part.inputs.iter().filter(move |input| input.how.contains(words)));
    lies.map(|input| format!("{}: {}", input.name, input.how)).collect()
}

#[test]
fn no_grade_claims_more_than_the_events_that_are_left_show() {
    let trace = TraceFile::open(&root().join("tests/data/mixed.dat")).unwrap();
    let whole = tape(text(&trace, 2, &[]));
    let groups = [
        Switches,
        Wakings,
        TimerVectors,
        CallVectors,
        OtherVectors,
        Misses,
        Ipi,
        Irq,
        Migration,
        Armings,
        Expiries,
        Wheel,
        TickStop,
    ];
    let subsets: Vec<Vec<Group>> = (0..1u32 << groups.len())
        .map(|bits| (0..).zip(groups).filter(|(i, _)| bits >> i & 1 == 1).map(|(_, g)| g).collect())
        .collect();
    let mut found = Vec::new();
    for without in some_of(subsets, 64) {
        let text = text(&trace, 2, &without);
        let events = String::from_utf8(text.clone()).unwrap();
        let part = tape(text);
        let lies =
            lies(&part, &whole).into_iter().chain(denials(&part, &events)).chain(wrong_doom(&part, &whole));
        found.extend(lies.map(|l| format!("without {without:?}: {l}")));
    }
    assert!(found.is_empty(), "{} lies\n{}", found.len(), found.join("\n"));
}
