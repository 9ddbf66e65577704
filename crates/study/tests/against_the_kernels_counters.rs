// SPDX-License-Identifier: GPL-2.0-only
//! Does what a tape says of a real recording agree with what the kernel counted itself: sysfs counters before and
//! after, and the `cpu_idle_miss` events?

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_model::{EventKind, Piece, PieceFlags, TapeCpu};
use idlewise_platform::{CounterDiff, SysfsDump, diff};
use idlewise_study::replay::Per;
use idlewise_study::score::{ScoreReport, score};
use idlewise_testkit::{known, open, recording};
use idlewise_trace::TraceFile;

/// The recordings of an MT8196 that come with counters.
const RUNS: [&str; 2] = ["6_12_sleep_length", "mainline_tick_wakeups"];

fn counters(run: &str) -> Option<CounterDiff> {
    let look = |when: &str| {
        let path = recording(&format!("mt8196/sysfs_{run}_{when}.txt"))?;
        let text = std::fs::read_to_string(path).unwrap();
        let [look] = &SysfsDump::parse(&text, when).unwrap()[..] else { panic!("one look") };
        Some(look.counters())
    };
    let difference = diff(&look("before")?, &look("after")?).unwrap();
    assert!(difference.notes.is_empty(), "{:?}", difference.notes);
    Some(difference)
}

fn trace(run: &str) -> Option<std::path::PathBuf> {
    recording(&format!("mt8196/trace_{run}.dat"))
}

#[test]
fn entries_and_residency_of_every_cpu_and_state_stay_within_the_counters() {
    for run in RUNS {
        let (Some(path), Some(counted)) = (trace(run), counters(run)) else { return };
        let tape = open(&path, "mt8196", "").tape;
        assert_eq!(tape.cpus.len(), 8);
        for cpu in &tape.cpus {
            assert_eq!(cpu.usable, TapeCpu::Usable);
            let states = &counted.counters.cpus[&cpu.cpu];
            let pieces = cpu.pieces.to_vec().unwrap();
            let mut idle_us = 0;
            for (i, kernel) in states.iter().enumerate() {
                let of_state = |p: &Piece| usize::from(p.state) == i;
                let refused = |p: &Piece| p.flags.has(PieceFlags::REJECTED);
                let stays: Vec<&Piece> = pieces.iter().filter(|p| of_state(p) && !refused(p)).collect();
                let entries = stays.len() as u64;
                let time_us = stays.iter().map(|p| p.stay_ns()).sum::<u64>() / 1000;
                let refused = pieces.iter().filter(|p| of_state(p) && refused(p)).count() as u64;
                let place = format!("{run}, CPU {}, state {i}", cpu.cpu);
                let counted = kernel.usage.unwrap();
                assert!(entries <= counted, "{place}: {entries} entries, {counted} counted");
                let counted = kernel.time_us.unwrap();
                assert!(time_us <= counted, "{place}: {time_us} us, {counted} counted");
                assert!(refused <= kernel.rejected.unwrap(), "{place}: {refused} refused");
                idle_us += time_us;
            }
            // The counters were read a second or two before and after the 30 s of the trace.
            let counted_us: u64 = states.iter().map(|s| s.time_us.unwrap()).sum();
            assert!(idle_us * 100 > counted_us * 90, "{run}, CPU {}: {idle_us} of {counted_us} us", cpu.cpu);
        }
    }
}

#[test]
fn misses_in_the_trace_stay_within_the_counters_too() {
    for run in RUNS {
        let (Some(path), Some(counted)) = (trace(run), counters(run)) else { return };
        for cpu in &open(&path, "mt8196", "").tape.cpus {
            let pieces = cpu.pieces.to_vec().unwrap();
            for (i, kernel) in counted.counters.cpus[&cpu.cpu].iter().enumerate() {
                let n = |bit: u16| {
                    let of = |p: &&Piece| usize::from(p.state) == i && p.flags.has(bit);
                    pieces.iter().filter(of).count() as u64
                };
                assert!(n(PieceFlags::MISS_ABOVE) <= kernel.above.unwrap());
                assert!(n(PieceFlags::MISS_BELOW) <= kernel.below.unwrap());
            }
        }
    }
}

#[test]
fn without_the_kernels_verdicts_those_next_to_a_limit_are_counted_and_lower_trust() {
    let folder = tempfile::tempdir().unwrap();
    // C1 of a Skylake pays from 2 us on.
    let text = |stays_ns: &[u64], miss: bool| {
        let mut text = "# tracer: nop\n#\n".to_owned();
        for (n, ns) in (0_u64..).zip(stays_ns) {
            let entry_ns = n * 10_000_000;
            let mut line = |at_ns: u64, event: &str| {
                let (s, ns) = (10 + at_ns / 1_000_000_000, at_ns % 1_000_000_000);
                text += &format!("          <idle>-0     [000] d..2    {s}.{ns:09}: {event}\n");
            };
            line(entry_ns, "cpu_idle: state=1 cpu_id=0");
            line(entry_ns + ns, "cpu_idle: state=4294967295 cpu_id=0");
            if miss && *ns < 2_300 {
                line(entry_ns + ns + 100, "cpu_idle_miss: cpu_id=0 state=1 type=above");
            }
        }
        text
    };
    let judged = |name: &str, stays_ns: &[u64], miss: bool| {
        let path = folder.path().join(name);
        std::fs::write(&path, text(stays_ns, miss)).unwrap();
        score(&path, &known("skylake-sp", ""), Per::All, None).unwrap()
    };
    let stays_ns = [[1_000, 1_400, 1_800, 2_200, 2_600, 9_000].as_slice(), &[5_000; 44]].concat();
    let doubts = |r: &ScoreReport| {
        r.answer.trust.reasons.iter().filter(|reason| reason.words.contains("0.5 us")).count()
    };
    let by_table = judged("table.txt", &stays_ns, false);
    assert_eq!((by_table.score.states[1].above, by_table.unsure_verdicts), (3, Some(2)));
    assert_eq!(doubts(&by_table), 1, "{:?}", by_table.answer.trust);
    let far = judged("far.txt", &[5_000; 50], false);
    assert_eq!((far.unsure_verdicts, doubts(&far)), (Some(0), 0));
    // The kernel read its clock later, and earlier, than the events were written.
    let by_kernel = judged("kernel.txt", &stays_ns, true);
    assert_eq!((by_kernel.score.states[1].above, by_kernel.unsure_verdicts), (4, None));
    assert_eq!(doubts(&by_kernel), 0);
}

/// Verdicts by `governor-behaviour.md` 1.5 from nothing but the trace's own events, and the kernel's.
#[derive(Debug, Default, PartialEq, Eq)]
struct Verdicts {
    below: u64,
    kernel_below: u64,
    above: u64,
    kernel_above: u64,
    /// Stays whose two verdicts differ: state, stay in ns, ours, the kernel's.
    differ: Vec<(u32, u64, Option<bool>, Option<bool>)>,
}

fn verdicts(path: &Path, tables: &BTreeMap<u32, Vec<(u64, u64)>>) -> Verdicts {
    let mut out = Verdicts::default();
    // By CPU: the open entry; the stay that ended, with what the kernel said of it.
    let mut entered: BTreeMap<u32, (u32, u64)> = BTreeMap::new();
    let mut ended: BTreeMap<u32, (u32, u64, Option<bool>)> = BTreeMap::new();
    let mut close = |table: &[(u64, u64)], (state, ns, kernel): (u32, u64, Option<bool>)| {
        let (exit_latency, residency) = table[state as usize];
        let ours = if ns < residency {
            (state > 0).then_some(false)
        } else if ns > exit_latency {
            table.get(state as usize + 1).filter(|next| ns - exit_latency >= next.1).map(|_| true)
        } else {
            None
        };
        out.below += u64::from(ours == Some(true));
        out.above += u64::from(ours == Some(false));
        out.kernel_below += u64::from(kernel == Some(true));
        out.kernel_above += u64::from(kernel == Some(false));
        if ours != kernel {
            out.differ.push((state, ns, ours, kernel));
        }
    };
    let file = TraceFile::open(path).unwrap();
    for event in file.events().unwrap() {
        match event.kind {
            EventKind::CpuIdle { cpu, state: Some(state) } => {
                if let Some(stay) = ended.remove(&cpu) {
                    close(&tables[&cpu], stay);
                }
                entered.insert(cpu, (state, event.ts_ns));
            }
            EventKind::CpuIdle { cpu, state: None } => {
                if let Some((state, since)) = entered.remove(&cpu) {
                    ended.insert(cpu, (state, event.ts_ns - since, None));
                }
            }
            EventKind::CpuIdleMiss { cpu, below, .. } => {
                if let Some(stay) = ended.get_mut(&cpu) {
                    stay.2 = Some(below);
                }
            }
            _ => {}
        }
    }
    for (cpu, stay) in ended {
        close(&tables[&cpu], stay);
    }
    out
}

#[test]
fn recomputed_misses_are_the_kernels_but_for_refused_entries() {
    for run in RUNS {
        let (Some(path), Some(_)) = (trace(run), counters(run)) else { return };
        let recording = open(&path, "mt8196", "");
        let tables = recording.tape.cpus.iter().map(|c| {
            let states = recording.machine.cluster_of(c.cpu).unwrap().table.states();
            let pairs = states.iter().map(|s| (s.exit_latency_ns as u64, s.target_residency_ns as u64));
            (c.cpu, pairs.collect())
        });
        let v = verdicts(&path, &tables.collect());
        // By hand, from the events.
        assert!(v.kernel_below > 100 && v.kernel_above > 100, "{v:?}");
        let refused: Vec<_> = v.differ.iter().filter(|d| d.2 == Some(false) && d.3.is_none()).collect();
        assert_eq!(
            refused.iter().filter(|d| d.1 > 34_000).count(),
            0,
            "a refused entry is short: {refused:?}"
        );
        // One stay was 3 us short of its target by the kernel's clock and not by its two events, which lie around it.
        let others: Vec<_> = v.differ.iter().filter(|d| d.3.is_some() || d.2 != Some(false)).collect();
        assert!(others.len() <= 1, "{others:?}");
        for (state, ns, ours, kernel) in &others {
            assert_eq!((*ours, *kernel), (None, Some(false)), "state {state}, {ns} ns");
        }
        assert_eq!(v.below, v.kernel_below);
        assert_eq!(v.above + others.len() as u64, v.kernel_above + refused.len() as u64);
        // By the program.
        let report = score(&path, &known("mt8196", ""), Per::All, None).unwrap();
        let a = report.agreement.unwrap();
        assert_eq!((a.kernel_above, a.kernel_below), (v.kernel_above, v.kernel_below));
        assert_eq!((a.recomputed_above, a.recomputed_below), (v.above, v.below));
        assert_eq!((a.rejected, a.disagree), (refused.len() as u64, others.len() as u64));
        assert_eq!(a.longest_rejected_ns, refused.iter().map(|d| d.1).max().unwrap_or(0));
        // The score has the kernel's.
        let missed = report.score.states.iter().fold((0, 0), |(a, b), s| (a + s.above, b + s.below));
        assert_eq!(missed, (v.kernel_above, v.kernel_below));
        assert_eq!(report.unsure_verdicts, None);
        assert_eq!(
            report.score.wakeups + report.score.rejected,
            recording.tape.cpus.iter().map(|c| c.pieces.len() as u64).sum::<u64>()
        );
    }
}
