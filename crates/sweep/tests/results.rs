// SPDX-License-Identifier: GPL-2.0-only
//! What settings come to, and which of them no other beats.

use std::fs;
use std::path::Path;

use idlewise_checkout::root;
use idlewise_score::measure::DECIDING;
use idlewise_sweep::{Keeping, SweepEstimate, SweepRequest, Swept};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use crate::sweeping::{data, kept_in, own_governor, report, request, swept};

#[test]
fn each_number_is_that_of_its_name() {
    let names = ["energy", "latency_mean", "latency_p99", "too_deep", "too_shallow", "wakeups"];
    assert_eq!(DECIDING.map(|m| m.name), names);
}

/// Gives the one result in the file at `path` another energy and mean latency.
fn change(path: &Path, energy: Option<f64>, latency_mean_ns: f64) {
    let text = fs::read_to_string(path).unwrap();
    let [line] = text.lines().collect::<Vec<_>>()[..] else { unreachable!("{text}") };
    let (_, rest) = line.split_once(',').unwrap();
    let mut line: Value = serde_json::from_str(&format!("{{{rest}")).unwrap();
    line["numbers"]["energy"] = energy.into();
    line["numbers"]["latency_mean_ns"] = latency_mean_ns.into();
    let rest = &line.to_string()[1..];
    fs::write(path, format!("{{\"sum\":\"{:016x}\",{rest}\n", xxh3_64(rest.as_bytes()))).unwrap();
}

#[test]
fn a_point_is_on_the_front_unless_another_is_better() {
    let folder = tempfile::tempdir().unwrap();
    let of = |governors: &[&str]| SweepRequest {
        recordings: vec![data("sleeploop.dat")],
        baseline: Some("menu".to_owned()),
        ..request(governors)
    };
    let (first, _) = report(&of(&["menu"]), &kept_in(folder.path()));
    let base = first.settings[0].cases[0].numbers.unwrap();
    // Energy and mean latency of each setting in hundredths of the baseline's; the energy of the last is not known.
    let points = [[1.0, 9.0], [2.0, 2.0], [3.0, 2.0], [9.0, 1.0], [2.0, 2.0], [f64::NAN, 0.5]];
    for (n, [energy, latency]) in points.into_iter().enumerate() {
        let (_, runs) = report(&of(&[&format!("teo:decay_shift={n}")]), &kept_in(folder.path()));
        assert_eq!(runs, 1);
        let of_base = |value: f64, base: Option<f64>| value / 100.0 * base.unwrap();
        let energy = Some(of_base(energy, base.energy)).filter(|energy| energy.is_finite());
        let path = folder.path().join(format!("{:06}.results.jsonl", n + 2));
        change(&path, energy, of_base(latency, base.latency_mean_ns));
    }
    let (all, runs) = report(&of(&["teo:decay_shift=0..5"]), &kept_in(folder.path()));
    let names: Vec<&str> = all.settings.iter().map(|s| s.setting.as_str()).collect();
    assert_eq!((runs, names[0], names[1]), (0, "menu", "teo:decay_shift=0"));
    let on_front: Vec<bool> = all.settings.iter().map(|s| s.on_front).collect();
    assert_eq!(on_front, [false, true, true, false, true, true, false]);
}

fn estimated(request: &SweepRequest) -> SweepEstimate {
    match swept(request, &Keeping { dry_run: true, ..Keeping::default() }).unwrap() {
        (Swept::Nothing(estimate), _) => estimate,
        (other, _) => unreachable!("{other:?}"),
    }
}

#[test]
fn a_trial_is_the_first_part_of_a_recording() {
    let folder = tempfile::tempdir().unwrap();
    let quick = own_governor(folder.path());
    // The same choices, each so slow that the first part is enough.
    let slow = folder.path().join("slow.c");
    let text = fs::read_to_string(&quick).unwrap();
    let choose = "static int teo_select(";
    let busy =
        "static void dawdle(void)\n{\n\tvolatile u32 i;\n\n\tfor (i = 0; i < 200000; i++)\n\t\t;\n}\n\n";
    assert!(text.contains(choose), "{text}");
    let text = text.replacen(choose, &format!("{busy}{choose}"), 1);
    let (before, body) = text.split_at(text.find(choose).unwrap());
    let body = body.replacen("\n{\n", "\n{\n\tdawdle();\n", 1);
    fs::write(&slow, format!("{before}{body}")).unwrap();
    let of = |governor: &Path, recording: &Path| SweepRequest {
        recordings: vec![recording.to_owned()],
        ..request(&[&governor.display().to_string()])
    };
    let decisions = |recording: &Path| {
        let (report, _) = report(&of(&quick, recording), &Keeping::default());
        report.settings[0].cases[0].numbers.unwrap().decisions as f64
    };
    // The baseline, which is the setting, and the bound.
    let each = |estimate: &SweepEstimate| estimate.decisions / estimate.left as f64;
    let long = root().join("corpus/boot-hikey960-pingpong.tape");
    let (all, estimate) = (decisions(&long), estimated(&of(&slow, &long)));
    let share = estimate.part_pct.unwrap() / 100.0;
    assert!(share < 1.0 && 5_000.0 / share <= all, "{estimate:?} of {all}");
    assert!((0.8..1.2).contains(&(each(&estimate) / all)), "{estimate:?} of {all}");
    // What is short is run as a whole.
    let short = data("sleeploop.dat");
    let (all, estimate) = (decisions(&short), estimated(&of(&slow, &short)));
    assert_eq!((estimate.part_pct, each(&estimate)), (None, all));
}
