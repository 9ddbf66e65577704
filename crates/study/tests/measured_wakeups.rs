// SPDX-License-Identifier: GPL-2.0-only
//! Wakeups of a machine that were measured from outside: does a score say how long they took, and not what the table of idle states
//! declares?

use std::fmt::Write as _;

use idlewise_study::replay::Per;
use idlewise_study::score::score;
use idlewise_testkit::{known, recording};

/// Idle periods in C2 of CPU 0 that end so many microseconds after another CPU woke a task there.
fn text(wakes: &[(f64, f64)]) -> String {
    let mut out = String::new();
    let mut now_us = 100_000_000.0;
    for (wake_us, idle_ms) in wakes {
        let mut line = |at_us: f64, cpu: u32, what: &str| {
            let (task, s) = (if cpu == 0 { "<idle>-0" } else { "other-7" }, at_us / 1e6);
            writeln!(out, "{task} [{cpu:03}] d..1. {s:.9}: {what}").unwrap();
        };
        let waking_us = now_us + idle_ms * 1000.0;
        line(now_us, 0, "cpu_idle: state=2 cpu_id=0");
        line(waking_us, 1, "sched_waking: comm=job pid=9 prio=120 target_cpu=000");
        line(waking_us + 0.4, 1, "ipi_send_cpu: cpu=0 callsite=native_smp_send_reschedule+0x0 callback=0x0");
        line(waking_us + wake_us, 0, "cpu_idle: state=4294967295 cpu_id=0");
        line(waking_us + wake_us + 0.5, 0, "reschedule_entry: vector=253");
        line(waking_us + wake_us + 0.9, 0, "reschedule_exit: vector=253");
        now_us = waking_us + wake_us + 500.0;
    }
    out
}

#[test]
fn wakeups_of_another_cpu_take_as_long_as_was_measured() {
    let Some(file) = recording("power/epyc-7502/wake.csv") else { return };
    let csv = std::fs::read_to_string(file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for mhz in ["1500", "2200", "2500"] {
        let rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let of_others = rows.filter(|r| r[0].starts_with("remote") && r[2] == mhz);
        let mut wakes: Vec<(f64, f64)> =
            of_others.map(|r| (r[3].parse().unwrap(), r[4].parse().unwrap())).collect();
        assert_eq!(wakes.len(), 400);
        let path = folder.path().join("epyc.txt");
        std::fs::write(&path, text(&wakes)).unwrap();
        let scored = score(&path, &known("zen-server", ""), Per::All, None).unwrap().score.latency;
        wakes.sort_by(|a, b| a.0.total_cmp(&b.0));
        // 0.4 us lie between the waking and its interrupt, which is the wake event.
        let at = |share: usize| (wakes[wakes.len() * share / 100].0 - 0.4) * 1000.0;
        let [p50, p99] = [scored.p50_ns, scored.p99_ns].map(|ns| ns as f64);
        println!("{mhz} MHz: p50 {p50} ns, p99 {p99} ns; measured {} and {}", at(50), at(99));
        assert!((p50 / at(50) - 1.0).abs() < 0.02 && (p99 / at(99) - 1.0).abs() < 0.05, "{p50} {p99}");
        assert!(p50 < 100_000.0, "the table declares 400 us");
    }
}
