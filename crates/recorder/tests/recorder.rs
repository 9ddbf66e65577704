// SPDX-License-Identifier: GPL-2.0-only
//! Does the recorder see every idle entry of the running kernel, on every CPU? Skipped where it may not look.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use idlewise_live::{Host, LiveError};
use idlewise_recorder::bpf::{Decision, Recorder, RecorderOptions};

use crate::mixed;

/// Entries of every CPU by sysfs.
fn usage() -> BTreeMap<u32, u64> {
    let mut all = BTreeMap::new();
    for cpu in 0.. {
        let folder = Path::new("/sys/devices/system/cpu").join(format!("cpu{cpu}/cpuidle"));
        let states = (0..).map_while(|i| fs::read_to_string(folder.join(format!("state{i}/usage"))).ok());
        let states: Vec<u64> = states.map(|text| text.trim().parse().unwrap()).collect();
        if states.is_empty() {
            return all;
        }
        all.insert(cpu, states.iter().sum());
    }
    all
}

fn grown(from: &BTreeMap<u32, u64>, to: &BTreeMap<u32, u64>, cpu: u32) -> u64 {
    to[&cpu] - from[&cpu]
}

#[test]
fn every_idle_entry_that_sysfs_counts_is_recorded() {
    let outer = usage();
    let mut recorder = match Recorder::start(&Host::below(Path::new("/")), RecorderOptions::default()) {
        Ok(recorder) => recorder,
        Err(e) => {
            println!("skipped: {e}");
            return;
        }
    };
    let inner = usage();
    let each = Duration::from_secs(2) / mixed::GENTLE.len() as u32;
    let folder = tempfile::tempdir().unwrap();
    mixed::run(&mixed::GENTLE, each, folder.path());
    let mut decisions = recorder.drain();
    let inner_end = usage();
    let recorded = recorder.stop().unwrap();
    let outer_end = usage();
    decisions.extend(recorded.decisions);

    assert_eq!((recorded.counts.dropped, recorded.notes.len()), (0, 0), "{:?}", recorded.notes);
    let entered = |cpu| decisions.iter().filter(|d| d.cpu == cpu && d.state.is_some()).count() as u64;
    for cpu in outer.keys().copied() {
        // The first entry of each CPU only says what was before the second.
        let (least, most) = (grown(&inner, &inner_end, cpu), grown(&outer, &outer_end, cpu));
        let seen = entered(cpu);
        println!("CPU {cpu}: {seen} entries, by sysfs between {least} and {most}");
        assert!((least..=most + 1).contains(&(seen + 1)) || (seen == 0 && least == 0), "CPU {cpu}");
    }
    let all: u64 = outer.keys().map(|cpu| entered(*cpu)).sum();
    assert_eq!(recorded.counts.entered, all);
    assert_eq!(recorded.counts.given_up, decisions.len() as u64 - all);
    decisions.iter().for_each(check);
}

/// What holds for every decision.
fn check(d: &Decision) {
    assert!(!(d.tick_stopped_before && d.new_visit), "{d:?}");
    assert!(d.now_ns.unsigned_abs() <= d.at_ns, "{d:?}");
    assert!(d.latency_limit_ns.is_some_and(|ns| (0..=2_147_483_647_000).contains(&ns)), "{d:?}");
    let Some(outcome) = d.outcome else { return };
    assert!(d.state.is_some() && (outcome.rejected || outcome.entered.is_some()), "{d:?}");
    // The programs run outside of what the kernel measures.
    assert!(outcome.residency_ns <= outcome.exit_ns, "{d:?}");
}

#[test]
fn a_copy_of_a_machine_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Err(LiveError::Lacks { why }) =
        Recorder::start(&Host::below(folder.path()), RecorderOptions::default())
    else {
        panic!("a folder is no machine");
    };
    assert!(why.contains("on the running machine only"), "{why}");
}
