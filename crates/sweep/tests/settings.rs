// SPDX-License-Identifier: GPL-2.0-only
//! Which settings a sweep has, in which order, drawn or all, and in which part.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use idlewise_recording::ReplaySetup;
use idlewise_study::replay::{ReplayRequest, replay};
use idlewise_sweep::{Keeping, SampleMethod, Shard, SweepRequest, Swept};
use serde_json::Value;

use crate::sweeping::{data, kept_in, own_governor, report, request, swept};

fn on_one_recording(governor: &str) -> SweepRequest {
    SweepRequest { recordings: vec![data("sleeploop.dat")], ..request(&[governor]) }
}

/// The settings of a sweep of `governor`, without the baseline.
fn settings(request: &SweepRequest) -> Vec<String> {
    let report = report(request, &Keeping::default()).0;
    report.settings.into_iter().skip(1).map(|s| s.setting).collect()
}

fn refused(governor: &str) -> String {
    swept(&on_one_recording(governor), &Keeping::default()).unwrap_err()
}

#[test]
fn the_step_of_a_range_is_no_path() {
    let all = settings(&on_one_recording("teo:decay_shift=1..5/2,residency_threshold_ns=3"));
    let names = [1, 3, 5].map(|n| format!("teo:decay_shift={n},residency_threshold_ns=3"));
    assert_eq!(all, names);
    // A folder's name may have a colon.
    let folder = tempfile::tempdir().unwrap();
    let odd = folder.path().join("x:y");
    fs::create_dir(&odd).unwrap();
    let mine = own_governor(&odd).display().to_string();
    let all = settings(&on_one_recording(&format!("{mine}:decay_shift=2..5/2")));
    assert!(all[0].ends_with(":decay_shift=2") && all[1].ends_with(":decay_shift=4"), "{all:?}");
    // A tree of the kernel has one behind its version, with parameters or without; blanks may stand between.
    let tree = refused("linux:6.12/teo");
    assert_eq!(refused("linux:6.12/teo: decay_shift = 1"), tree);
    assert!(!tree.contains("NAME=VALUES"), "{tree}");
    assert_eq!(settings(&on_one_recording("teo: decay_shift = 1")), ["teo:decay_shift=1"]);
}

#[test]
fn settings_are_in_order_and_the_last_parameter_changes_first() {
    let all = settings(&on_one_recording("teo:decay_shift=2..3,residency_threshold_ns=0..10000/5000"));
    assert_eq!(all.len(), 6);
    assert_eq!(all[0], "teo:decay_shift=2,residency_threshold_ns=0");
    assert_eq!(all[1], "teo:decay_shift=2,residency_threshold_ns=5000");
    assert_eq!(all[5], "teo:decay_shift=3,residency_threshold_ns=10000");
}

#[test]
fn a_value_that_the_governor_refuses_is_named_before_anything_runs() {
    for (text, words) in [
        ("teo:decay_shift=nan", "decay_shift=nan"),
        ("teo:decay_shift=1..99", "it must be from 0 to"),
        ("teo:decoy_shift=1..3", "did you mean `decay_shift`"),
        ("teo:decay_shift=NaN..3", "`NaN` is not a whole number"),
        ("teo:decay_shift=1,decay_shift=2", "named twice"),
        ("toe:decay_shift=1..3", "no governor `toe`"),
        ("teo:disable=77", "disable=77"),
    ] {
        // The recording is not even looked for.
        let request = SweepRequest { recordings: vec![data("none.dat")], ..request(&[text]) };
        let why = swept(&request, &Keeping::default()).unwrap_err();
        assert!(why.contains(words), "{text}: {why}");
    }
}

#[test]
fn what_is_taken_from_a_governor_can_be_swept_too() {
    let swept = report(&on_one_recording("teo:latency_limit_us=10|20,decay_shift=3"), &Keeping::default()).0;
    let governors: Vec<String> = swept.settings.iter().map(|s| s.setting.clone()).collect();
    assert_eq!(governors[2], "teo:latency_limit_us=20,decay_shift=3");
    let asked = ReplayRequest {
        traces: vec![data("sleeploop.dat")],
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        governors,
        ..ReplayRequest::default()
    };
    let replayed = replay(&asked, &|_, _| ()).unwrap();
    let energies = |n: usize| {
        let numbers = swept.settings[n].cases[0].numbers.unwrap();
        (numbers.energy, Some(replayed.traces[0].governors[n].score.energy))
    };
    for n in 0..3 {
        assert_eq!(energies(n).0, energies(n).1, "setting {n}");
    }
    assert_ne!(energies(2).0, energies(0).0, "a limit");
}

/// The values of each setting that is drawn.
fn drawn(governor: &str, n: u64, method: SampleMethod, seed: u64) -> Vec<Vec<u64>> {
    let request = SweepRequest { sample: Some(n), method, seed, ..on_one_recording(governor) };
    let values = |name: &String| {
        let (_, values) = name.split_once(':').unwrap();
        values.split(',').map(|value| value.split_once('=').unwrap().1.parse().unwrap()).collect()
    };
    settings(&request).iter().map(values).collect()
}

#[test]
fn a_latin_hypercube_has_one_setting_in_each_part_of_each_parameter() {
    let governor =
        "haltpoll:guest_halt_poll_ns=0..99,guest_halt_poll_grow=0..39,guest_halt_poll_grow_start=0..999999";
    let drawn = drawn(governor, 20, SampleMethod::LatinHypercube, 7);
    assert_eq!(drawn.len(), 20);
    for (axis, len) in [(0, 100), (1, 40), (2, 1_000_000)] {
        let parts: BTreeSet<u64> = drawn.iter().map(|s| s[axis] * 20 / len).collect();
        assert_eq!(parts.len(), 20, "parameter {axis}");
    }
}

#[test]
fn a_seed_draws_the_same_settings_and_another_draws_others() {
    let governor = "haltpoll:guest_halt_poll_ns=0..999,guest_halt_poll_grow_start=0..999";
    for method in [SampleMethod::LatinHypercube, SampleMethod::Random] {
        let draw = |seed| drawn(governor, 30, method, seed);
        assert!(draw(1) == draw(1) && draw(1) != draw(2), "{method:?}");
        assert!(draw(1).iter().flatten().all(|v| *v < 1000));
    }
    // There are no more than there are, and one that comes twice is there once.
    let few = "haltpoll:guest_halt_poll_ns=0..1,guest_halt_poll_grow_start=0..1";
    assert_eq!(drawn(few, 500, SampleMethod::Random, 1).len(), 4);
    let three: Vec<Vec<Vec<u64>>> = (0..10).map(|seed| drawn(few, 3, SampleMethod::Random, seed)).collect();
    assert!(three.iter().all(|all| all.iter().collect::<BTreeSet<_>>().len() == all.len()), "{three:?}");
    assert!(three.iter().any(|all| all.len() < 3), "{three:?}");
    // Without parameters there is the baseline alone.
    let request = SweepRequest { sample: Some(9), ..on_one_recording("teo") };
    assert_eq!(report(&request, &Keeping::default()).0.settings.len(), 1);
}

/// The runs whose results are in `folder`: case and setting of each.
fn kept(folder: &Path) -> BTreeSet<(String, String)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|p| p.to_string_lossy().ends_with(".results.jsonl"));
    let lines: String = texts.map(|p| fs::read_to_string(p).unwrap()).collect();
    let run = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        Some((line["case"].as_str()?.to_owned(), line["variant"].as_str()?.to_owned()))
    };
    lines.lines().filter_map(run).collect()
}

/// Runs that each of `n` shards of `request` adds.
fn of_shards(request: &SweepRequest, n: u64) -> Vec<BTreeSet<(String, String)>> {
    let folder = tempfile::tempdir().unwrap();
    let mut seen = BTreeSet::new();
    let mut shard = |i| {
        swept(request, &Keeping { shard: Some(Shard { i, n }), ..kept_in(folder.path()) }).unwrap();
        let all = kept(folder.path());
        let new = all.difference(&seen).cloned().collect();
        seen = all;
        new
    };
    (1..=n).map(&mut shard).collect()
}

#[test]
fn a_shard_is_a_part_of_all_runs_in_order() {
    let platforms = ["pixel6", "rk3399", "hikey960"].map(str::to_owned).to_vec();
    let request = SweepRequest { platforms, ..on_one_recording("teo:decay_shift=1..5") };
    let order: Vec<(String, String)> = of_shards(&request, 21).into_iter().flatten().collect();
    // Case by case, and in each the same settings in the same order.
    let cases: Vec<&[(String, String)]> = order.chunks(7).collect();
    assert!(cases.iter().all(|runs| runs.iter().all(|run| run.0 == runs[0].0)), "{order:?}");
    let settings = |runs: &[(String, String)]| runs.iter().map(|run| run.1.clone()).collect::<Vec<_>>();
    assert!(cases.len() == 3 && cases.iter().all(|runs| settings(runs) == settings(cases[0])), "{order:?}");
    for (i, runs) in of_shards(&request, 4).into_iter().enumerate() {
        assert_eq!(runs, order[21 * i / 4..21 * (i + 1) / 4].iter().cloned().collect(), "shard {i} from 0");
    }
}

#[test]
fn shards_are_all_runs_once() {
    let on = |platforms: &[&str], governor: &str| SweepRequest {
        platforms: platforms.iter().map(|p| (*p).to_owned()).collect(),
        ..on_one_recording(governor)
    };
    // With the baseline and the bound.
    let (three, seven) = (["pixel6", "rk3399", "hikey960"], "teo:decay_shift=1..5");
    let hundred = "teo:residency_threshold_ns=0..97";
    for (n, request, cases, all) in [
        (1, on(&three, seven), 3, 7),
        (4, on(&three, seven), 3, 7),
        (50, on(&three, seven), 3, 7),
        (7, on(&three[..1], hundred), 1, 100),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let total = cases * all;
        for i in 1..=n {
            let keeping = Keeping { shard: Some(Shard { i, n }), ..kept_in(folder.path()) };
            let (done, ran) = swept(&request, &keeping).unwrap();
            let own = total * i / n - total * (i - 1) / n;
            // None of them was in another shard.
            assert!(
                matches!(done, Swept::Part { runs, ran: now, .. } if runs == own && now == own),
                "{i} of {n}: {done:?}"
            );
            assert_eq!(ran as u64, own);
        }
        assert_eq!(report(&request, &kept_in(folder.path())).1, 0, "{n} shards");
    }
    assert_eq!(report(&on(&three[..1], seven), &Keeping::default()).1, 7);
}
