// SPDX-License-Identifier: GPL-2.0-only
//! Simulations as they are asked for: does the same request give the same answer, and does every workload run?

use std::path::{Path, PathBuf};

use idlewise_experiment::beside::beside;
use idlewise_experiment::simulate::{SimulateReport, SimulateRequest, TraceTo, sidecar, simulate, workloads};
use idlewise_explain::convert::Form;
use idlewise_recording::RecordingOptions;
use idlewise_report::Format;
use idlewise_study::replay::{Per, ReplayReport, ReplayRequest, replay};
use idlewise_study::score::score;

fn request(workload: &str) -> SimulateRequest {
    SimulateRequest {
        workload: workload.to_owned(),
        platform: "rk3399".to_owned(),
        governors: vec!["menu-6.1".to_owned(), "teo".to_owned()],
        cpufreq: vec!["schedutil".to_owned(), "ondemand".to_owned()],
        signals: vec!["pelt".to_owned(), "walt".to_owned()],
        kernel: "6.12".to_owned(),
        duration_ns: Some(1_000_000_000),
        seed: 7,
        repeat: 3,
        ..SimulateRequest::default()
    }
}

fn run(request: &SimulateRequest) -> SimulateReport {
    simulate(request, None, &|_, _| {}).unwrap()
}

#[test]
fn the_same_request_gives_the_same_answer_on_any_number_of_threads() {
    let request = request("frames");
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        serde_json::to_string(&pool.install(|| run(&request))).unwrap()
    };
    let one = on(1);
    assert_eq!(one, on(4));
    // Other seeds are other runs.
    let other = run(&SimulateRequest { seed: 8, ..request });
    assert_ne!(one, serde_json::to_string(&other).unwrap());
}

#[test]
fn every_combination_has_a_result_of_its_own() {
    let report = run(&request("frames"));
    let names: Vec<String> =
        report.combinations.iter().map(|c| format!("{} {} {}", c.governor, c.cpufreq, c.signal)).collect();
    assert_eq!(names.len(), 8);
    assert_eq!(names[0], "menu-6.1 schedutil pelt");
    assert_eq!(names[7], "teo ondemand walt");
    let power = |i: usize| report.combinations[i].fact("energy", "power").unwrap().summary.mean;
    assert!((0..8).all(|i| power(i) > 0.0));
    // Who feeds the clock makes a difference, and who sets it.
    assert!((power(0) - power(1)).abs() > 1e-9 && (power(0) - power(2)).abs() > 1e-9);
    assert!(
        report.combinations.iter().all(|c| c.runs.len() == 3 && c.failure.is_none() && c.notes.is_empty())
    );
}

#[test]
fn every_workload_that_comes_with_idlewise_runs() {
    for (name, about) in workloads().unwrap() {
        assert!(!about.is_empty(), "{name}");
        let report = run(&SimulateRequest { repeat: 1, ..request(name) });
        for c in &report.combinations {
            assert!(c.fact("idle", "wakeups/s").unwrap().summary.mean > 1.0, "{name}");
        }
    }
}

/// Files of rt-app's own below `folder`, but for pieces that its scripts put together.
fn rt_app_files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("merge") {
            out.extend(rt_app_files(&path));
        } else if path.extension().is_some_and(|e| e == "json") {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn rt_apps_own_files_run() {
    let Some(folder) = idlewise_testkit::recording("rt-app") else { return };
    let files = rt_app_files(&folder);
    assert!(files.len() >= 20, "{files:?}");
    for path in files {
        let request = SimulateRequest {
            governors: vec!["teo".to_owned()],
            cpufreq: vec!["schedutil".to_owned()],
            signals: vec!["pelt".to_owned()],
            repeat: 1,
            platform: "pixel6".to_owned(),
            duration_ns: Some(3_000_000_000),
            ..request(path.to_str().unwrap())
        };
        let report = run(&request);
        let c = &report.combinations[0];
        assert!(c.notes.is_empty(), "{}: {:?}", path.display(), c.notes);
        assert!(c.runs[0].events > 50, "{}: {} events", path.display(), c.runs[0].events);
    }
}

/// The answer to two runs of this load under two governors.
fn answered(load: &str) -> idlewise_answer::Answer {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("load.json");
    std::fs::write(&file, load).unwrap();
    let request = SimulateRequest {
        workload: file.to_str().unwrap().to_owned(),
        cpufreq: vec!["performance".to_owned()],
        signals: vec!["pelt".to_owned()],
        duration_ns: None,
        repeat: 2,
        ..request("")
    };
    run(&request).answer
}

#[test]
fn a_measure_of_few_wakeups_does_not_head_the_table() {
    let yields = r#"{ "tasks": { "a": { "cpus": [2], "run": 1000, "yield": "a" },
        "b": { "cpus": [2], "instance": 3, "run": 1000000 } }, "global": { "calibration": 156, "duration": 4 } }"#;
    let once = r#"{ "tasks": { "a": { "run": 1000, "loop": 1 } }, "global": { "duration": 1 } }"#;
    for load in [yields, once] {
        let answer = answered(load);
        let reasons: Vec<&str> = answer.trust.reasons.iter().map(|r| r.words.as_str()).collect();
        assert_eq!(answer.trust.grade.word(), "poor", "{reasons:?}");
        assert!(reasons.iter().any(|words| words.ends_with(": only 1 wakeup in each run")), "{reasons:?}");
        let at = answer.columns.iter().position(|c| c.name.ends_with("wakeup latency mean")).unwrap();
        for contender in &answer.groups[0].contenders {
            let cell = contender.cells[at];
            assert!(cell.value.is_nan() && cell.change.is_nan(), "{cell:?}");
        }
    }
    // A task that wakes often is among what decides, one that does not is not.
    let both = r#"{ "tasks": { "a": { "run": 1000, "loop": 1 }, "b": { "run": 100, "sleep": 900 } },
        "global": { "duration": 1 } }"#;
    let answer = answered(both);
    let names: Vec<&str> = answer.columns.iter().map(|c| c.name.as_str()).collect();
    assert!(names.contains(&"task b.wakeup latency mean"), "{names:?}");
    assert!(!names.contains(&"task a.wakeup latency mean"), "{names:?}");
    assert_eq!(answer.trust.grade.word(), "fair");
}

#[test]
fn what_cannot_be_simulated_is_refused_in_words() {
    let refused = |request: SimulateRequest, words: &str| {
        let e = simulate(&request, None, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains(words), "{e}");
    };
    refused(SimulateRequest { governors: vec!["oracle".into()], ..request("web") }, "the oracle needs");
    refused(SimulateRequest { signals: vec!["plet".into()], ..request("web") }, "signal `plet`");
    refused(SimulateRequest { cpufreq: vec!["shedutil".into()], ..request("web") }, "schedutil");
    refused(SimulateRequest { kernel: "4.2".into(), ..request("web") }, "before 4.3");
    refused(SimulateRequest { kernel: "9.9".into(), ..request("web") }, "6.0 to 6.19 and 7.0 to 7.3");
    refused(SimulateRequest { duration_ns: Some(0), ..request("web") }, "--seconds");
    refused(SimulateRequest { hz: Some(0), ..request("web") }, "--hz");
    refused(SimulateRequest { baseline: Some("menu".into()), ..request("web") }, "baseline menu");
    refused(request("no-such-load"), "no-such-load");
}

#[test]
fn a_trace_of_a_run_is_replayed_as_it_was_simulated() {
    let folder = tempfile::tempdir().unwrap();
    for governor in ["menu-6.1", "teo-6.1", "ladder"] {
        let asked = SimulateRequest {
            platform: "pixel6".to_owned(),
            governors: vec![governor.to_owned()],
            cpufreq: vec!["schedutil".to_owned()],
            signals: vec!["pelt".to_owned()],
            repeat: 1,
            duration_ns: Some(5_000_000_000),
            ..request("frames")
        };
        let (path, simulated) = written(&asked, governor, folder.path());
        let replayed = replayed(&path, governor);
        let trace = &replayed.traces[0];
        let fidelity = trace.fidelity.as_ref().unwrap();
        assert!(
            fidelity.decisions > 500 && fidelity.same_state_pct.is_some_and(|pct| pct > 99.0),
            "{governor}: {fidelity:?}"
        );
        // Judged as any other recording, it has the simulator's own numbers, and the wakeups with which it ends.
        let judged = score(&path, &RecordingOptions::default(), Per::All, None).unwrap();
        let told = |name: &str| simulated.combinations[0].fact("idle", name).unwrap().summary.mean;
        let wakeups = (told("wakeups/s") * 5.0).round();
        let last = woken_at_the_end(&path) as f64;
        assert!((1.0..=8.0).contains(&last), "{governor}: {last}");
        assert_eq!(judged.score.wakeups as f64, wakeups + last, "{governor}");
        for (judged_pct, told_pct) in [
            (judged.score.too_deep_pct, told("too deep %")),
            (judged.score.too_shallow_pct, told("too shallow %")),
        ] {
            let [judged, told] =
                [judged_pct * (wakeups + last), told_pct * wakeups].map(|n| (n / 100.0).round());
            assert!((0.0..=last).contains(&(judged - told)), "{governor}: {judged} {told}");
        }
    }
}

/// How many CPUs leave an idle state at the last moment of a trace.
fn woken_at_the_end(trace: &Path) -> usize {
    let text = std::fs::read_to_string(trace).unwrap();
    let time = |line: &str| Some(line.split_once("] ")?.1.split_whitespace().nth(1)?.to_owned());
    let last = text.lines().last().and_then(time);
    text.lines()
        .rev()
        .take_while(|line| time(line) == last)
        .filter(|l| l.contains("state=4294967295"))
        .count()
}

/// The clock of a machine that has just been switched on makes menu poll where there is no timer: simulated ones have been up.
#[test]
fn a_run_on_any_machine_is_replayed_as_it_was_simulated() {
    let folder = tempfile::tempdir().unwrap();
    for (workload, platform) in [
        ("web", "skylake-sp"),
        ("requests", "skylake-sp"),
        ("reads", "skylake-sp"),
        ("requests", "zen-server"),
        ("requests", "power9"),
        ("frames", "pixel6"),
    ] {
        for governor in ["menu", "menu-6.1", "teo", "ladder"] {
            let asked = SimulateRequest {
                platform: platform.to_owned(),
                governors: vec![governor.to_owned()],
                cpufreq: vec!["schedutil".to_owned()],
                signals: vec!["pelt".to_owned()],
                duration_ns: Some(2_000_000_000),
                repeat: 1,
                ..request(workload)
            };
            let (path, _) = written(&asked, &format!("{workload}-{platform}-{governor}"), folder.path());
            let replayed = replayed(&path, governor);
            let fidelity = replayed.traces[0].fidelity.as_ref().unwrap();
            let of = format!("{governor} under {workload} on {platform}: {fidelity:?}");
            assert!(fidelity.decisions > 90, "{of}");
            for pct in [fidelity.same_state_pct, fidelity.same_tick_pct] {
                assert!(pct.is_some_and(|pct| pct >= 99.0), "{of}");
            }
            if workload == "web" && governor == "menu" {
                let judged = score(&path, &RecordingOptions::default(), Per::All, None).unwrap();
                assert!(judged.score.wakeups < 1_000, "{}", judged.score.wakeups);
            }
        }
    }
}

/// The recording of the only run that `asked` asks for, and its report.
fn written(asked: &SimulateRequest, name: &str, folder: &Path) -> (PathBuf, SimulateReport) {
    let path = folder.join(format!("{name}.txt"));
    let file = std::fs::File::create(&path).unwrap();
    let to = TraceTo { form: Form::Text, file: &file, path: path.clone() };
    let report = simulate(asked, Some(&to), &|_, _| {}).unwrap();
    std::fs::write(path.with_extension("toml"), sidecar(asked)).unwrap();
    (path, report)
}

fn replayed(path: &Path, governor: &str) -> ReplayReport {
    let (traces, governors) = (vec![path.to_owned()], vec![governor.to_owned()]);
    replay(&ReplayRequest { traces, governors, ..ReplayRequest::default() }, &|_, _| {}).unwrap()
}

/// One run of `workload`, to be compared with others: the request and the recording.
fn traced(workload: &str, folder: &Path) -> (SimulateRequest, PathBuf) {
    let asked = SimulateRequest {
        governors: vec!["teo".to_owned()],
        cpufreq: vec!["schedutil".to_owned()],
        signals: vec!["pelt".to_owned()],
        repeat: 1,
        duration_ns: Some(3_000_000_000),
        ..request(workload)
    };
    let (path, _) = written(&asked, workload, folder);
    (asked, path)
}

#[test]
fn a_simulated_run_beside_its_own_trace_is_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let laid = |asked: &SimulateRequest, path: &PathBuf| {
        beside(asked, std::slice::from_ref(path), &RecordingOptions::default(), &|_| {})
            .unwrap()
            .pairs
            .remove(0)
    };
    let (asked, path) = traced("timer", folder.path());
    let same = laid(&asked, &path);
    assert_eq!(same.real, same.simulated);
    assert_eq!((same.gap(), same.governor.as_str()), ([0.0, 0.0], "teo"));
    // Where timers have periods, when they begin against the tick is taken from the trace, and nothing else.
    let (asked, path) = traced("frames", folder.path());
    let same = laid(&asked, &path);
    assert!(same.gap().iter().all(|g| g.abs() < 3.0), "{:?}", same.gap());
    let drawing = same.real.tasks.iter().find(|t| t.name == "RenderThread").unwrap();
    assert!((55.0..65.0).contains(&drawing.wakeups_per_s), "{:?}", same.real.tasks);
    assert!((same.real.stays_pct.iter().sum::<f64>() - 100.0).abs() < 1e-9);
    // Another seed is another run, of the same machine under the same load.
    let other = laid(&SimulateRequest { seed: 8, ..asked.clone() }, &path);
    assert_ne!(other.real, other.simulated);
    assert!(other.gap().iter().all(|g| g.abs() < 5.0), "{:?}", other.gap());
    let e = beside(
        &SimulateRequest { workload: "reads".into(), ..asked },
        &[path],
        &RecordingOptions::default(),
        &|_| {},
    );
    let e = e.unwrap_err().to_string();
    assert!(e.contains("none of the workload's tasks ran in it"), "{e}");
}

#[test]
fn a_trace_is_of_one_run() {
    let file = tempfile::tempfile().unwrap();
    let to = TraceTo { form: Form::Text, file: &file, path: "run.txt".into() };
    let e = simulate(&request("frames"), Some(&to), &|_, _| {}).unwrap_err().to_string();
    assert!(e.contains("of one run"), "{e}");
}

#[test]
fn what_seeds_share_does_not_hide_a_change() {
    let report = run(&SimulateRequest {
        platform: "skylake-sp".into(),
        governors: vec!["teo-6.1".into(), "teo-fixed".into()],
        cpufreq: vec!["schedutil".into()],
        signals: vec!["pelt".into()],
        duration_ns: Some(5_000_000_000),
        seed: 1,
        repeat: 10,
        ..request("frames")
    });
    let [teo, fixed] = report.combinations.as_slice() else { panic!("two governors") };
    let (before, after) = (teo.fact("energy", "power").unwrap(), fixed.fact("energy", "power").unwrap());
    // The intervals of the two means overlap, that of the change is far from 0.
    let apart = (before.summary.mean - after.summary.mean).abs();
    assert!(before.summary.half_width.unwrap() > 0.5 * apart, "{before:?}");
    let change = after.change.unwrap();
    assert!((change.difference - 0.0106).abs() < 0.0005, "{change:?}");
    assert!((change.half_width.unwrap() - 0.0013).abs() < 0.0002, "{change:?}");
    assert!((change.relative.unwrap() - (after.summary.mean / before.summary.mean - 1.0)).abs() < 1e-12);
    assert_eq!((change.n, before.change), (10, None));
    let view = idlewise_view::simulate(&report, false);
    let text = view.render(Format::Table, &()).unwrap();
    assert!(text.lines().any(|l| l.contains("power") && l.contains("(+0.20% \u{b1} 0.0")), "{text}");
    assert!(text.contains("run by run of the same seed"), "{text}");
    let csv = view.render(Format::Csv, &()).unwrap();
    let row = csv.lines().find(|l| l.starts_with("teo-fixed,") && l.contains(",energy,power,")).unwrap();
    assert_eq!(row.split(',').nth(10).unwrap().parse::<f64>().unwrap(), change.difference, "{row}");
}

#[test]
fn a_mean_between_two_modes_says_so() {
    // With two of ten seeds a task stays on the small CPUs, which takes 53 instead of 68 here.
    let report = run(&SimulateRequest {
        platform: "rk3399".into(),
        governors: vec!["teo-6.1".into()],
        cpufreq: vec!["schedutil".into()],
        signals: vec!["pelt".into()],
        duration_ns: Some(2_000_000_000),
        seed: 1,
        repeat: 10,
        ..request("frames")
    });
    let power = report.combinations[0].fact("energy", "power").unwrap();
    let [low, high] = power.modes.unwrap();
    assert_eq!((low.n, high.n), (2, 8));
    assert!(
        low.max < power.summary.mean && power.summary.mean < high.min,
        "no run is near the mean: {power:?}"
    );
    let text = idlewise_view::simulate(&report, false).render(Format::Table, &()).unwrap();
    assert!(text.contains(" = 2x ") && text.contains("form two groups"), "{text}");
}

#[test]
fn of_five_runs_already_a_mean_between_two_modes_says_so() {
    // Tasks stay on the small CPUs in two of five runs, which takes 47 instead of 70.
    let report = run(&SimulateRequest {
        platform: "rk3399".into(),
        governors: vec!["teo-util".into()],
        cpufreq: vec!["schedutil".into()],
        signals: vec!["pelt".into()],
        duration_ns: Some(2_000_000_000),
        seed: 27,
        repeat: 5,
        ..request("frames")
    });
    let power = report.combinations[0].fact("energy", "power").unwrap();
    let modes = power.modes.unwrap();
    assert_eq!(modes.map(|m| m.n), [2, 3], "{power:?}");
}

#[test]
fn states_that_the_simulation_leaves_off_are_named() {
    let of = |platform: &str| {
        let report = run(&SimulateRequest {
            platform: platform.into(),
            governors: vec!["menu".into()],
            cpufreq: vec!["schedutil".into()],
            signals: vec!["pelt".into()],
            duration_ns: Some(100_000_000),
            repeat: 1,
            ..request("timer")
        });
        idlewise_view::simulate(&report, false).render(Format::Table, &()).unwrap()
    };
    let text = of("mt8196").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("states s2idle of little, mid, big: every entry is refused"), "{text}");
    assert!(text.contains("the simulation leaves it off"), "{text}");
    assert!(!of("rk3399").contains("leaves it off"));
}

#[test]
fn one_run_says_that_it_has_no_interval() {
    let report = run(&SimulateRequest { repeat: 1, ..request("timer") });
    let text = idlewise_view::simulate(&report, false).render(Format::Table, &()).unwrap();
    assert!(text.contains("one run: no interval"), "{text}");
    assert!(!text.contains('\u{b1}'), "{text}");
}
