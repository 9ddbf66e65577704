// SPDX-License-Identifier: GPL-2.0-only
//! Is a replay's answer the same however it is computed, and is it the answer to what was asked?

use std::path::Path;

use idlewise_recording::{Recording, RecordingOptions, ReplaySetup};
use idlewise_score::measure::{ENERGY, TOO_SHALLOW};
use idlewise_study::replay::{GovernorResult, Per, ReplayReport, ReplayRequest, replay};
use idlewise_testkit::{error_text, known, open, recording, refused, request, run, setup};

const CANDIDATES: [&str; 5] = ["menu", "teo-util", "deepest", "shallow", "oracle"];

fn json(report: &ReplayReport) -> String {
    serde_json::to_string_pretty(report).unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let Some(path) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    let Some(other) = recording("mt8196/trace_mainline_tick_wakeups.dat") else { return };
    let request = request(&[&path, &other], "mt8196", "menu", &CANDIDATES);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        json(&pool.install(|| run(&request)))
    };
    let one = with(1);
    assert!(one.len() > 10_000);
    assert_eq!(one, with(2));
    assert_eq!(one, with(7));
    assert_eq!(one, with(1), "a second time");
}

#[test]
fn another_seed_changes_nothing_for_governors_that_ask_for_no_random_number() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let of = |seed: u64| {
        run(&ReplayRequest {
            setup: ReplaySetup { seed, ..setup("kvm-guest", "menu") },
            ..request(&[&path], "kvm-guest", "menu", &["menu", "oracle"])
        })
    };
    assert_eq!(of(1).traces, of(2).traces);
}

#[test]
fn a_tape_gives_the_answer_of_its_trace() {
    for (name, platform) in
        [("mt8196/trace_6_12_sleep_length", "mt8196"), ("kvm-guest/sleeploop", "kvm-guest")]
    {
        let Some(path) = recording(&format!("{name}.dat")) else { return };
        let dir = tempfile::tempdir().unwrap();
        let tape = dir.path().join("kept.iwtape");
        let from_trace = open(&path, platform, "menu");
        let bytes = from_trace.tape_bytes().unwrap();
        assert_eq!(
            bytes,
            open(&path, platform, "menu").tape_bytes().unwrap(),
            "the same tape, the same bytes"
        );
        std::fs::write(&tape, bytes).unwrap();
        let again = Recording::open(&tape, &RecordingOptions::default()).unwrap();
        assert_eq!(again.tape, from_trace.tape);
        assert_eq!(again.machine.clusters, from_trace.machine.clusters);
        let candidates = ["menu", "teo-util", "oracle"];
        let of_trace = run(&request(&[&path], platform, "menu", &candidates));
        let of_tape = run(&ReplayRequest {
            setup: ReplaySetup { recording: RecordingOptions::default(), ..setup("", "") },
            ..request(&[&tape], "", "", &candidates)
        });
        assert_eq!(of_tape.traces, of_trace.traces, "{name}");
        assert_eq!((of_tape.platform.id, of_tape.baseline), (of_trace.platform.id, of_trace.baseline));
    }
}

#[test]
fn a_tape_knows_its_machine_and_may_be_told_its_governor() {
    let Some(path) = recording("kvm-guest/idle_quiet.dat") else { return };
    let dir = tempfile::tempdir().unwrap();
    let tape = dir.path().join("kept.iwtape");
    std::fs::write(&tape, open(&path, "kvm-guest", "").tape_bytes().unwrap()).unwrap();
    let text = error_text(Recording::open(&tape, &known("mt8196", "")));
    assert!(text.contains("--recorded-on"), "{text}");
    let options =
        RecordingOptions { kernel_governor: Some("menu".to_owned()), ..RecordingOptions::default() };
    assert_eq!(Recording::open(&tape, &options).unwrap().tape.source.governor, "menu");
    let mut bytes = std::fs::read(&tape).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&tape, bytes).unwrap();
    let text = error_text(Recording::open(&tape, &RecordingOptions::default()));
    assert!(text.contains("damaged") && text.contains("kept.iwtape"), "{text}");
}

/// What must add up.
fn sums(results: &[&GovernorResult]) -> Vec<u64> {
    let mut out = Vec::new();
    for r in results {
        let s = &r.score;
        let mut row = vec![
            r.decisions,
            r.out_of_range,
            s.overtaken,
            s.wakeups,
            s.rejected,
            s.idle_ns,
            s.ticks.unwrap(),
            s.ticks_kept.unwrap(),
            s.ticks_stopped.unwrap(),
            s.latency.wakes,
        ];
        row.extend(s.states.iter().flat_map(|t| [t.entries, t.residency_ns, t.above, t.below, t.rejected]));
        row.extend(
            ["tick", "hrtimer", "wheel", "timer", "irq", "ipi", "poll-limit", "unknown"]
                .map(|c| s.causes.get(c).copied().unwrap_or(0)),
        );
        out.resize(row.len(), 0);
        out.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
    }
    out
}

#[test]
fn two_traces_together_are_the_sum_of_both() {
    let Some(a) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    let Some(b) = recording("mt8196/trace_mainline_tick_wakeups.dat") else { return };
    let report = run(&request(&[&a, &b], "mt8196", "menu", &CANDIDATES));
    let together = report.together.as_ref().unwrap();
    assert_eq!(together.len(), CANDIDATES.len());
    for (i, all) in together.iter().enumerate() {
        let parts: Vec<&GovernorResult> = report.traces.iter().map(|t| &t.governors[i]).collect();
        assert_eq!(all.governor, CANDIDATES[i]);
        assert_eq!(sums(&[all]), sums(&parts), "{}", all.governor);
        let energy: f64 = parts.iter().map(|p| p.score.energy).sum();
        assert!((all.score.energy - energy).abs() < energy * 1e-9);
        let max = parts.iter().map(|p| p.score.latency.max_ns).max().unwrap();
        assert_eq!(all.score.latency.max_ns, max);
    }
    // Each alone says the same, and is not called together.
    let alone = run(&request(&[&b], "mt8196", "menu", &CANDIDATES));
    // Shares of no wakeups, as of a governor whose every choice is refused, are no numbers and equal nothing.
    assert_eq!(format!("{:?}", alone.traces[0]), format!("{:?}", report.traces[1]));
    assert!(alone.together.is_none());
}

#[test]
fn parts_of_a_result_are_the_whole() {
    let Some(path) = recording("mt8196/trace_mainline_tick_wakeups.dat") else { return };
    for (per, names) in [
        (Per::Cpu, (0..8).map(|c| format!("cpu {c}")).collect::<Vec<_>>()),
        (Per::Cluster, vec!["little".to_owned(), "mid".to_owned(), "big".to_owned()]),
        (Per::All, vec![]),
    ] {
        let report = run(&ReplayRequest { per, ..request(&[&path], "mt8196", "menu", &["menu", "oracle"]) });
        for g in &report.traces[0].governors {
            assert_eq!(g.groups.iter().map(|p| p.name.clone()).collect::<Vec<_>>(), names);
            if !names.is_empty() {
                assert_eq!(g.groups.iter().map(|p| p.score.wakeups).sum::<u64>(), g.score.wakeups);
                assert_eq!(g.groups.iter().map(|p| p.score.idle_ns).sum::<u64>(), g.score.idle_ns);
            }
        }
    }
}

#[test]
fn a_result_keeps_its_own_books() {
    let Some(path) = recording("kvm-guest/sleeploop.dat") else { return };
    let report = run(&request(&[&path], "kvm-guest", "menu", &CANDIDATES));
    let trace = &report.traces[0];
    let mut oracle_energy = None;
    for g in &trace.governors {
        let s = &g.score;
        assert_eq!(g.decisions, s.wakeups + s.rejected, "{}: every decision is an entry", g.governor);
        assert_eq!(s.states.iter().map(|t| t.entries).sum::<u64>(), s.wakeups);
        assert_eq!(s.causes.values().sum::<u64>(), s.wakeups);
        assert_eq!(Some(s.causes.get("tick").copied().unwrap_or(0)), s.ticks);
        assert!(s.ticks_kept.zip(s.ticks_stopped).is_some_and(|(kept, stopped)| kept + stopped <= s.wakeups));
        assert!(s.latency.p50_ns <= s.latency.p99_ns && s.latency.p99_ns <= s.latency.max_ns);
        assert_eq!(g.out_of_range, 0);
        if g.governor == "oracle" {
            oracle_energy = Some(s.energy);
            assert_eq!(g.regret_pct, 0.0);
        }
    }
    let best = oracle_energy.unwrap();
    for g in &trace.governors {
        let regret = (g.score.energy - best) * 100.0 / best;
        assert!((g.regret_pct - regret).abs() < 1e-9);
        let base = &trace.governors[0].score;
        assert!((g.change.of(TOO_SHALLOW) - (g.score.too_shallow_pct - base.too_shallow_pct)).abs() < 1e-9);
    }
    assert_eq!(report.baseline, "menu");
    assert_eq!(trace.governors[0].change.of(ENERGY), 0.0);
    assert!(trace.same_machine);
}

#[test]
fn the_request_in_a_result_can_be_asked_again() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let first = run(&request(&[&path], "kvm-guest", "menu", &["menu", "oracle"]));
    let text = serde_json::to_string(&first.request).unwrap();
    let again: ReplayRequest = serde_json::from_str(&text).unwrap();
    assert_eq!(json(&run(&again)), json(&first));
}

#[test]
fn progress_counts_every_part_at_its_beginning_and_its_end() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let seen = std::sync::Mutex::new(Vec::new());
    replay(&request(&[&path], "kvm-guest", "menu", &["menu", "deepest"]), &|done, of| {
        seen.lock().unwrap().push((done, of))
    })
    .unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    let of = seen[0].1;
    // Once when a part begins, with what was done before, and once when it is done.
    assert_eq!(seen.len(), 2 * of);
    seen.dedup();
    assert_eq!(seen, (0..=of).map(|done| (done, of)).collect::<Vec<_>>());
}

// ---- Another machine.

#[test]
fn cpus_without_a_place_on_the_machine_are_left_out_with_the_reason() {
    let Some(path) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    // A board of six CPUs.
    let small = "rk3399";
    let asked = ReplayRequest {
        setup: ReplaySetup { platform: Some(small.to_owned()), ..setup("mt8196", "") },
        ..request(&[&path], "mt8196", "", &["menu"])
    };
    let report = run(&asked);
    let trace = &report.traces[0];
    assert_eq!(trace.head.cpus, [0, 1, 2, 3, 4, 5]);
    assert!(!trace.same_machine);
    let left: Vec<u32> = trace.head.left_out.iter().map(|l| l.cpu).collect();
    assert_eq!(left, [6, 7]);
    for l in &trace.head.left_out {
        assert!(
            l.why.contains(small) && l.why.contains(&format!("CPU {}", l.cpu)) && l.why.contains("--cluster"),
            "{}",
            l.why
        );
    }
    // On one of its clusters there is room for all.
    let cluster = idlewise_platform::find(small).unwrap().clusters[0].name.clone();
    let all = run(&ReplayRequest {
        setup: ReplaySetup { cluster: Some(cluster.to_uppercase()), ..asked.setup },
        ..asked
    });
    assert_eq!((all.traces[0].head.cpus.len(), all.traces[0].head.left_out.len()), (8, 0));
}

/// A platform file of one CPU with this number.
fn one_cpu(dir: &Path, cpu: u32) -> String {
    let path = dir.join(format!("one{cpu}.toml"));
    let text = format!(
        "format = 1\nid = \"one{cpu}\"\nname = \"One\"\nhz = 250\nhz_note = \"chosen\"\nsources = [\"made up\"]\n[[cluster]]\n\
         name = \"all\"\ncpus = \"{cpu}\"\ncapacity = 1024\nsource = \"made up\"\n[[cluster.state]]\nname = \"WFI\"\n\
         desc = \"\"\nexit_latency_us = 1\nresidency_us = 1\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_machine_with_no_place_for_any_cpu_is_an_error_that_names_them() {
    let Some(path) = recording("kvm-guest/idle_quiet.dat") else { return };
    let dir = tempfile::tempdir().unwrap();
    let platform = Some(one_cpu(dir.path(), 9));
    let text = refused(&ReplayRequest {
        setup: ReplaySetup { platform, ..setup("kvm-guest", "menu") },
        ..request(&[&path], "kvm-guest", "menu", &["menu"])
    });
    for part in [
        "idle_quiet.dat",
        "no CPU can be replayed",
        "CPU 0: platform one9 has no CPU 0",
        "CPU 1: no idle events",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn two_recordings_of_different_machines_need_to_be_told_where_to_run() {
    let Some(a) = recording("kvm-guest/idle_quiet.dat") else { return };
    let Some(b) = recording("mt8196/trace_6_12_sleep_length.dat") else { return };
    let dir = tempfile::tempdir().unwrap();
    let keep = |path: &Path, platform: &str| {
        let to = dir.path().join(platform).with_extension("iwtape");
        std::fs::write(&to, open(path, platform, "").tape_bytes().unwrap()).unwrap();
        to
    };
    let (a, b) = (keep(&a, "kvm-guest"), keep(&b, "mt8196"));
    let asked = ReplayRequest {
        setup: ReplaySetup { recording: RecordingOptions::default(), ..setup("", "") },
        ..request(&[&a, &b], "", "", &["menu"])
    };
    let text = refused(&asked);
    assert!(["kvm-guest", "mt8196", "--platform"].iter().all(|part| text.contains(part)), "{text}");
    let report = run(&ReplayRequest {
        setup: ReplaySetup { platform: Some("mt8196".to_owned()), ..asked.setup },
        ..asked
    });
    assert_eq!(report.traces.iter().map(|t| t.same_machine).collect::<Vec<_>>(), [false, true]);
}

// ---- Requests that make no sense.

#[test]
fn mistakes_in_a_request_are_named_with_what_there_is() {
    let Some(path) = recording("kvm-guest/idle_quiet.dat") else { return };
    let good = || request(&[&path], "kvm-guest", "menu", &["menu", "oracle"]);
    let some = |text: &str| Some(text.to_owned());
    let governors = |names: &[&str]| ReplayRequest {
        governors: names.iter().map(|n| (*n).to_owned()).collect(),
        ..good()
    };
    let cases: [(ReplayRequest, &[&str]); 10] = [
        (ReplayRequest { baseline: some("teo"), ..good() }, &["teo", "menu, oracle"]),
        (governors(&["menux"]), &["menux", "menu"]),
        (governors(&["menu:speed=3"]), &["menu", "speed"]),
        (governors(&[]), &["no governor"]),
        (ReplayRequest { traces: vec![], ..good() }, &["no trace"]),
        (
            ReplayRequest { setup: ReplaySetup { platform: some("mt8197"), ..good().setup }, ..good() },
            &["mt8197", "mt8196"],
        ),
        (
            ReplayRequest {
                setup: ReplaySetup { platform: some("mt8196"), cluster: some("bigg"), ..good().setup },
                ..good()
            },
            &["bigg", "did you mean `big`"],
        ),
        (
            ReplayRequest { setup: ReplaySetup { recording: known("mt8197", ""), ..good().setup }, ..good() },
            &["mt8197", "mt8196"],
        ),
        (
            ReplayRequest {
                setup: ReplaySetup { recording: RecordingOptions::default(), ..good().setup },
                ..good()
            },
            &["idle_quiet.dat", "--recorded-on", "idle_quiet.toml"],
        ),
        (
            ReplayRequest {
                setup: ReplaySetup { recording: known("kvm-guest", "menu:::"), ..good().setup },
                ..good()
            },
            &["menu"],
        ),
    ];
    for (asked, parts) in cases {
        let text = refused(&asked);
        for part in parts {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
    }
    // A baseline that is among them counts, with its parameters.
    let report = run(&ReplayRequest { baseline: some("oracle"), ..good() });
    assert_eq!((report.baseline.as_str(), report.traces[0].governors[1].change.of(ENERGY)), ("oracle", 0.0));
}
