// SPDX-License-Identifier: GPL-2.0-only
//! Does a comparison add up, and does it say what the replays of its two governors say?

use std::path::PathBuf;

use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_report::Format;
use idlewise_study::compare::{
    CompareReport, CompareRequest, Comparison, Cost, Direction, MeasureChange, PartingCost, Side, compare,
};
use idlewise_study::replay::{Per, ReplayRequest, replay};
use idlewise_testkit::{error_text, known, recording};
use idlewise_view as view;

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

fn request(platform: &str, a: &str, b: &str) -> CompareRequest {
    CompareRequest {
        traces: vec![data("mixed.dat")],
        setup: ReplaySetup { platform: Some(platform.to_owned()), seed: 1, ..ReplaySetup::default() },
        a: a.to_owned(),
        b: b.to_owned(),
        per: Per::Cpu,
        ..CompareRequest::default()
    }
}

fn run(request: &CompareRequest) -> CompareReport {
    compare(request, &|_, _| ()).unwrap()
}

fn only(report: &CompareReport) -> &Comparison {
    &report.traces[0].comparison
}

const PAIRS: [(&str, &str, &str); 5] = [
    ("pixel6", "teo-6.1", "teo-util"),
    ("pixel6", "menu-6.1", "menu"),
    ("skylake-sp", "teo-6.1", "teo-util"),
    ("skylake-sp", "oracle", "menu"),
    ("kvm-guest", "shallow", "deepest"),
];

/// What rows add up to: waits, their length, and of each side decisions, misses, latency, energy.
fn sum<'c>(costs: impl Iterator<Item = &'c Cost>) -> Vec<u128> {
    let mut out = vec![0; 12];
    for c in costs {
        let side = |s: &Side| [s.decisions, s.above, s.below, s.latency_ns].map(u128::from);
        let mut row = vec![u128::from(c.waits), u128::from(c.wait_ns), c.a.energy_fj, c.b.energy_fj];
        row.extend(side(&c.a));
        row.extend(side(&c.b));
        out.iter_mut().zip(row).for_each(|(sum, n)| *sum += n);
    }
    out
}

#[test]
fn rows_add_up_to_the_totals_exactly() {
    for (platform, a, b) in PAIRS {
        let report = run(&request(platform, a, b));
        let c = only(&report);
        let total = sum([&c.total].into_iter());
        assert_eq!(sum(c.partings.iter().map(|p| &p.cost)), total, "{platform} {a} {b}");
        assert_eq!(sum(c.causes.iter().map(|p| &p.cost)), total, "{platform} {a} {b}");
        assert_eq!(sum(c.groups.iter().map(|p| &p.total)), total, "{platform} {a} {b}");
        let w = &c.waits;
        let kinds = [w.other_state, w.other_tick, w.other_later, w.only_a, w.only_b, w.same, w.neither];
        assert_eq!(kinds.iter().sum::<u64>(), w.all);
        for (run, side) in [(&c.a, &c.total.a), (&c.b, &c.total.b)] {
            let s = &run.score;
            assert_eq!(side.decisions, run.decisions, "{platform} {a} {b}");
            assert_eq!(side.above, s.states.iter().map(|s| s.above).sum::<u64>());
            assert_eq!(side.below, s.states.iter().map(|s| s.below).sum::<u64>());
            assert_eq!(side.latency_ns as f64, (s.latency.mean_ns * s.latency.wakes as f64).round());
            assert_eq!(side.energy_fj as f64 / 1e12, s.energy);
        }
    }
}

#[test]
fn the_totals_are_those_of_a_replay() {
    for (platform, a, b) in PAIRS {
        let asked = request(platform, a, b);
        let report = run(&asked);
        let replayed = ReplayRequest {
            traces: asked.traces,
            setup: ReplaySetup {
                platform: asked.setup.platform,
                seed: asked.setup.seed,
                ..ReplaySetup::default()
            },
            governors: vec![a.to_owned(), b.to_owned()],
            per: asked.per,
            ..ReplayRequest::default()
        };
        let replayed = replay(&replayed, &|_, _| ()).unwrap();
        let (trace, c) = (&replayed.traces[0], only(&report));
        for (ours, theirs) in [&c.a, &c.b].into_iter().zip(&trace.governors) {
            assert_eq!(ours.score, theirs.score);
            assert_eq!((ours.decisions, ours.out_of_range), (theirs.decisions, theirs.out_of_range));
        }
        assert_eq!(report.traces[0].head, trace.head);
        assert_eq!(report.traces[0].fidelity, trace.fidelity);
        // The same text too: each number that replay prints for A stands in our row.
        let shown = |report: &idlewise_report::Report, metric: &str| {
            let row = report.tables[0].rows.iter().find(|r| r[0].starts_with(metric)).cloned();
            row.unwrap_or_else(|| panic!("no {metric}"))[1].clone()
        };
        let (ours, theirs) = (view::compare(&report), view::replay(&replayed));
        for metric in
            ["wakeups", "too deep", "too shallow", "tick wakes", "tick stopped", "latency", "idle energy"]
        {
            assert_eq!(shown(&ours, metric), shown(&theirs, metric), "{platform} {a} {metric}");
        }
    }
}

#[test]
fn equal_governors_make_the_same_decisions() {
    for (platform, a, b) in [
        ("pixel6", "menu", "menu"),
        ("skylake-sp", "teo-util", "teo-util:util_threshold_shift=6"),
        ("pixel6", "oracle", "oracle"),
    ] {
        let report = run(&request(platform, a, b));
        let c = only(&report);
        assert!(report.verdict.same_decisions);
        assert_eq!(
            report.verdict.text,
            format!("{b} against {a}: same decisions at all {} wake events", c.waits.all)
        );
        assert!(report.verdict.notes.is_empty());
        assert_eq!(c.waits.same + c.waits.neither, c.waits.all);
        assert_eq!((c.total.a, c.waits.differ_pct), (c.total.b, 0.0));
        assert!(c.changes.iter().all(|m| m.change == 0.0 && m.change_pct == Some(0.0)));
        assert!(c.partings.iter().all(|p| p.cost.a == p.cost.b));
    }
}

#[test]
fn the_other_way_round_everything_is_the_other_way_round() {
    for (platform, a, b) in PAIRS {
        let (there, back) = (run(&request(platform, a, b)), run(&request(platform, b, a)));
        let (there, back) = (only(&there), only(&back));
        let turned = |c: &Cost| Cost { a: c.b, b: c.a, ..*c };
        assert_eq!(turned(&back.total), there.total);
        assert_eq!(there.total.latency_ns(), -back.total.latency_ns());
        assert_eq!(there.total.energy_fj(), -back.total.energy_fj());
        assert_eq!(back.partings.len(), there.partings.len());
        for p in &there.partings {
            let kind = match p.kind.as_str() {
                "only-a" => "only-b",
                "only-b" => "only-a",
                kind => kind,
            };
            let mirrored = PartingCost {
                kind: kind.to_owned(),
                a_state: p.b_state.clone(),
                b_state: p.a_state.clone(),
                a_keeps_tick: p.a_keeps_tick.map(|kept| !kept),
                cost: turned(&p.cost),
            };
            assert!(back.partings.contains(&mirrored), "{platform} {a} {b}: {mirrored:?}");
        }
        for (m, n) in there.changes.iter().zip(&back.changes) {
            assert_eq!(
                *m,
                MeasureChange { a: n.b, b: n.a, change: -n.change, change_pct: m.change_pct, ..*n }
            );
        }
    }
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let asked = CompareRequest {
        traces: vec![data("mixed.dat"), data("sleeploop.dat")],
        ..request("skylake-sp", "menu", "teo-util")
    };
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        serde_json::to_string_pretty(&pool.install(|| run(&asked))).unwrap()
    };
    let one = with(1);
    assert!(one.len() > 10_000);
    assert_eq!(one, with(2));
    assert_eq!(one, with(5));
}

#[test]
fn several_traces_are_compared_each_and_together() {
    let asked = CompareRequest {
        traces: vec![data("mixed.dat"), data("sleeploop.dat")],
        fail_if: vec!["energy > +1%".to_owned(), "differ > 99%".to_owned()],
        ..request("pixel6", "teo-6.1", "teo-util")
    };
    let report = run(&asked);
    let together = report.together.as_ref().unwrap();
    let parts = report.traces.iter().map(|t| &t.comparison.total);
    assert_eq!(sum(parts), sum([&together.total].into_iter()));
    let across = report.across_traces.as_ref().unwrap();
    assert_eq!((across.parts, across.energy.lower + across.energy.same + across.energy.higher), (2, 2));
    assert!(report.verdict.notes.iter().any(|n| n.contains("2 traces")), "{:?}", report.verdict.notes);
    let places: Vec<&str> = report.checks[0].measured.iter().map(|m| m.place.as_str()).collect();
    assert_eq!(places, ["mixed.dat", "sleeploop.dat", "all traces"]);
    assert_eq!((report.checks[0].failed, report.checks[1].failed, report.failed()), (true, false, true));
}

#[test]
fn cpus_of_a_larger_machine_are_told_apart() {
    let Some(path) = recording("mt8196/trace_mainline_tick_wakeups.dat") else { return };
    for per in [Per::Cpu, Per::Cluster] {
        let report = run(&CompareRequest {
            traces: vec![path.clone()],
            setup: ReplaySetup {
                recording: known("mt8196", "menu"),
                ..request("mt8196", "menu", "teo-6.1").setup
            },
            per,
            ..request("mt8196", "menu", "teo-6.1")
        });
        let c = only(&report);
        assert_eq!(c.groups.len(), if per == Per::Cpu { 8 } else { 3 });
        assert_eq!(sum(c.groups.iter().map(|g| &g.total)), sum([&c.total].into_iter()));
        assert_eq!(report.traces[0].across_cpus.as_ref().unwrap().parts, 8);
    }
}

#[test]
fn a_verdict_is_no_better_than_what_it_rests_on() {
    let of = |platform, a, b| run(&request(platform, a, b)).verdict;
    let trade = of("pixel6", "teo-6.1", "teo-util");
    assert_eq!((trade.latency, trade.energy), (Direction::Lower, Direction::Higher));
    assert!(trade.text.ends_with("trades energy for latency"), "{}", trade.text);
    let back = of("pixel6", "teo-util", "teo-6.1");
    assert!(back.text.ends_with("trades latency for energy"), "{}", back.text);
    let assumed = of("skylake-sp", "teo-6.1", "teo-util");
    assert!(assumed.text.contains("if state powers fell in equal steps"), "{}", assumed.text);
    let few = of("pixel6", "teo-util", "teo-util-v1");
    assert!(few.notes.iter().any(|n| n.contains("this depends on")), "{:?}", few.notes);
    let cancelling = of("pixel6", "menu-6.1", "menu");
    assert!(cancelling.notes.iter().any(|n| n.contains("the difference of")), "{:?}", cancelling.notes);
}

#[test]
fn every_field_of_the_json_is_documented() {
    let text = std::fs::read_to_string(data("../../docs/reference/json.md")).unwrap();
    let report = run(&CompareRequest {
        traces: vec![data("mixed.dat"), data("sleeploop.dat")],
        fail_if: vec!["too_deep > +1pp".to_owned()],
        ..request("skylake-sp", "teo-6.1", "teo-util")
    });
    let mut keys = Vec::new();
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&report).unwrap()).unwrap();
    collect_keys(&json, &mut keys);
    keys.retain(|k| is_no_cause(k));
    for key in keys {
        assert!(text.contains(&format!("`{key}`")) || text.contains(&format!("`{key}[]`")), "no `{key}`");
    }
}

/// Not the name of a cause, which is a key of `causes` in a score.
fn is_no_cause(key: &str) -> bool {
    !["tick", "hrtimer", "wheel", "timer", "irq", "ipi", "poll-limit", "unknown"].contains(&key)
}

fn collect_keys(value: &serde_json::Value, keys: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (key, value) in fields {
                if !keys.contains(key) {
                    keys.push(key.clone());
                }
                collect_keys(value, keys);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|v| collect_keys(v, keys)),
        _ => {}
    }
}

#[test]
fn forms_hold_the_same_numbers() {
    let report = run(&request("pixel6", "teo-6.1", "teo-util"));
    let view = view::compare(&report);
    let wakeups = only(&report).b.score.wakeups.to_string();
    for form in [Format::Table, Format::Markdown, Format::Csv, Format::Json] {
        assert!(view.render(form, &report).unwrap().contains(&wakeups), "{form:?}");
    }
    let csv = view.render(Format::Csv, &report).unwrap();
    let energy = only(&report).total.b.energy_fj;
    let of = |by: &str| -> u128 {
        let rows = csv.lines().filter(|l| {
            l.starts_with(&format!("mixed.dat,teo-6.1,teo-util,all,{by},")) && l.contains(",energy_fj,")
        });
        // The last column but two: nothing is assumed here, or warned of.
        rows.map(|l| l.strip_suffix(",,").unwrap().rsplit(',').next().unwrap().parse::<u128>().unwrap()).sum()
    };
    assert_eq!((of("parting"), of("cause")), (energy, energy));
}

#[test]
fn what_cannot_be_compared_is_refused_with_the_way_out() {
    let refused = |request: &CompareRequest| error_text(compare(request, &|_, _| ()));
    let good = || request("pixel6", "menu", "teo-util");
    let text = refused(&CompareRequest { fail_if: vec!["too_deep > +1%".to_owned()], ..good() });
    assert!(text.contains("at character 12") && text.contains("percentage points"), "{text}");
    let text = refused(&CompareRequest { a: "tea".to_owned(), ..good() });
    assert!(text.contains("tea") && text.contains("did you mean `teo`?"), "{text}");
    let text = refused(&CompareRequest { traces: vec![], ..good() });
    assert!(text.contains("no trace"), "{text}");
    let options = RecordingOptions { recorded_on: Some("pixel9".to_owned()), ..RecordingOptions::default() };
    let text =
        refused(&CompareRequest { setup: ReplaySetup { recording: options, ..good().setup }, ..good() });
    assert!(text.contains("pixel9"), "{text}");
}
