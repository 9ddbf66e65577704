// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use idlewise_ab::{AbReport, AbRequest, BenchmarkReport, Cell, Head, MetricReport, Verdict};
use idlewise_machine::advise::{
    Advice, Candidate, Evidence, Recommendation, Setting, Situation, candidates, entered, how_to_get, judge,
    specs,
};
use idlewise_model::{NotKnown, NoteId};
use idlewise_recording::{Recording, RecordingOptions};
use idlewise_score::measure::{ENERGY, LATENCY_MEAN};
use idlewise_stats::{Change, signed_rank};
use idlewise_study::replay::{ReplayReport, ReplayRequest, TraceResult, replay};

fn situation(available: &[&str]) -> Situation {
    Situation {
        kernel: "6.18".to_owned(),
        governor: Some("menu".to_owned()),
        available: Some(available.iter().map(|g| (*g).to_owned()).collect()),
        ..Situation::default()
    }
}

/// A session of two arms that wait for `metrics`: name and verdict each, the first one first.
fn session(metrics: &[(&str, Verdict)]) -> AbReport {
    let change =
        Change { relative: -0.2, interval: None, one_sided: None, test: signed_rank(&[1.0, 2.0]).unwrap() };
    let cell = |arm: &str, verdict: Option<Verdict>| Cell {
        arm: arm.to_owned(),
        values: vec![1.0; 6],
        rounds: 6,
        median: None,
        change: verdict.map(|_| change),
        difference: None,
        p: None,
        p_corrected: None,
        superiority: None,
        verdict,
        runs_to_settle: verdict.filter(|v| *v == Verdict::Unclear).map(|_| 99),
    };
    let metric = |(name, verdict): &(&str, Verdict)| MetricReport {
        name: (*name).to_owned(),
        unit: "us".to_owned(),
        more_is_better: false,
        cells: vec![cell("menu", None), cell("ladder", Some(*verdict))],
    };
    let metrics = metrics.iter().map(metric).collect();
    AbReport {
        schema: idlewise_ab::SCHEMA,
        version: "",
        machine: String::new(),
        order: String::new(),
        head: Head {
            schema: String::new(),
            request: AbRequest { margin_permille: 10, ..AbRequest::default() },
            kernel: String::new(),
            driver: String::new(),
            cpus: 2,
            states: Vec::new(),
            governor: "menu".to_owned(),
        },
        warnings: vec![NoteId::Noise.note("noise")],
        arms: ["menu", "ladder"].map(str::to_owned).into(),
        benchmarks: vec![BenchmarkReport {
            name: "timer".to_owned(),
            metrics,
            idle: Vec::new(),
            limits: Vec::new(),
        }],
        together: Vec::new(),
        aa: None,
        runs: Vec::new(),
    }
}

/// What is advised when a comparison found `metrics` and a replay these changes of energy and latency, %.
fn judged(metrics: Option<&[(&str, Verdict)]>, replayed: &[(&str, f64, f64)]) -> Advice {
    let situation = situation(&["menu", "ladder"]);
    let candidates = candidates(&situation, "menu", &[]);
    let ab = metrics.map(session);
    let report = (!replayed.is_empty()).then(|| report(&candidates, replayed));
    judge(&Evidence {
        situation,
        load: "timer".to_owned(),
        candidates,
        entered: None,
        replay: report.as_ref().ok_or_else(|| NotKnown::because(NoteId::Failed, "not recorded")),
        ab: ab.as_ref().ok_or_else(|| NotKnown::because(NoteId::NeedsRoot, "needs root")),
    })
}

/// A replay of the governors of these names alone, whose energy and mean latency differ so much from the first's, % and us.
fn report(candidates: &[Candidate], replayed: &[(&str, f64, f64)]) -> ReplayReport {
    let mut report = replay_of(candidates);
    let results = std::mem::take(&mut report.traces[0].governors);
    report.request.governors.clear();
    for (name, energy, latency) in replayed {
        let spec = &candidates.iter().find(|c| c.name == *name).unwrap().replay;
        let mut result = results.iter().find(|g| g.governor == *spec).unwrap().clone();
        result.change.set(ENERGY, *energy);
        result.change.set(LATENCY_MEAN, *latency);
        result.score.wakeups = 1000;
        result.score.latency.mean_ns = 1e6 + latency * 1000.0;
        report.request.governors.push(spec.clone());
        report.traces[0].governors.push(result);
    }
    report.traces[0].sensitivity.metrics.clear();
    report
}

fn tried(a: &Advice) -> Vec<&str> {
    a.trying.iter().map(|t| t.governor.as_str()).collect()
}

const NOTHING: &[(&str, f64, f64)] = &[("menu", 0.0, 0.0), ("ladder", 0.0, 0.0), ("teo", 0.0, 0.0)];

#[test]
fn a_clear_winner_of_the_comparison_is_recommended() {
    let a = judged(Some(&[("p50", Verdict::Better), ("p99", Verdict::Unclear)]), NOTHING);
    assert_eq!((a.answer.what, a.answer.governor.as_str()), (Recommendation::Switch, "ladder"));
    assert!(a.answer.because.contains("better in timer p50"), "{}", a.answer.because);
    assert_eq!(a.warnings, ["noise"]);
}

#[test]
fn a_comparison_stands_above_a_replay_that_says_the_opposite() {
    let against = &[("menu", 0.0, 0.0), ("ladder", 50.0, 80.0)];
    assert_eq!(judged(Some(&[("p50", Verdict::Better)]), against).answer.what, Recommendation::Switch);
    let in_favour = &[("menu", 0.0, 0.0), ("ladder", -50.0, -80.0)];
    let a = judged(Some(&[("p50", Verdict::Unclear)]), in_favour);
    assert_eq!((a.answer.what, a.answer.governor.as_str()), (Recommendation::Keep, "menu"));
    assert_eq!(tried(&a), [""; 0], "it was tried");
}

#[test]
fn what_is_shown_to_be_the_same_is_left_as_it_is() {
    let a = judged(Some(&[("p50", Verdict::Same)]), NOTHING);
    assert_eq!((a.answer.what, a.answer.governor.as_str()), (Recommendation::Keep, "menu"));
    assert!(a.answer.because.contains("are the same"), "{}", a.answer.because);
    let a = judged(Some(&[("p50", Verdict::Worse)]), NOTHING);
    assert!(a.answer.because.contains("same or worse"), "{}", a.answer.because);
}

#[test]
fn nothing_is_recommended_on_unclear_evidence() {
    for verdict in [Verdict::Unclear, Verdict::TooFew, Verdict::NotWorse] {
        let a = judged(Some(&[("p50", verdict), ("p99", Verdict::Better)]), NOTHING);
        assert_eq!(a.answer.what, Recommendation::Keep, "{verdict:?}");
        assert!(a.answer.because.contains("is not shown"), "{}", a.answer.because);
    }
}

#[test]
fn a_gain_with_a_loss_is_the_readers_to_weigh() {
    let a = judged(Some(&[("p50", Verdict::Better), ("package-0", Verdict::Worse)]), NOTHING);
    assert_eq!(a.answer.what, Recommendation::Keep);
    assert!(a.answer.because.contains("worse in timer package-0"), "{}", a.answer.because);
    assert_eq!(tried(&a), ["ladder"]);
}

#[test]
fn a_replay_alone_makes_nothing_better_than_worth_trying() {
    let a = judged(None, &[("menu", 0.0, 0.0), ("ladder", -5.0, 0.0), ("teo", -60.0, -60.0)]);
    // The one that the kernel has comes first.
    assert_eq!((a.answer.what, a.answer.governor.as_str()), (Recommendation::Try, "ladder"));
    assert!(a.answer.because.contains("not shown"), "{}", a.answer.because);
    assert!(
        a.untested.iter().any(|u| u.what == "the running kernel" && u.why.words == "needs root"),
        "{:?}",
        a.untested
    );
    let a = judged(None, NOTHING);
    assert_eq!((a.answer.what, a.answer.governor.as_str()), (Recommendation::Keep, "menu"));
    assert_eq!(judged(None, &[]).answer.what, Recommendation::Nothing);
}

#[test]
fn a_governor_that_the_kernel_lacks_is_named_with_how_to_get_it() {
    let prefers_teo = &[("menu", 0.0, 0.0), ("ladder", 0.0, 0.0), ("teo", -20.0, 0.0)];
    let a = judged(Some(&[("p50", Verdict::Same)]), prefers_teo);
    assert_eq!(a.answer.what, Recommendation::Keep);
    assert_eq!(tried(&a), ["teo"]);
    assert!(a.trying[0].how[0].contains("CONFIG_CPU_IDLE_GOV_TEO"), "{:?}", a.trying);
    let a = judged(None, prefers_teo);
    assert_eq!(
        (a.answer.what, a.answer.governor.as_str()),
        (Recommendation::Keep, "menu"),
        "it cannot be set"
    );
    assert!(a.answer.because.contains("none of this kernel's other governors"), "{}", a.answer.because);
    assert_eq!((tried(&a), a.trying[0].in_kernel), (vec!["teo"], Some(false)));
    assert!(a.trying[0].because.contains("a reason to build it"), "{}", a.trying[0].because);
    assert!(how_to_get("teo-fixed")[0].contains("boot overlay"));
}

#[test]
fn a_replay_that_trades_energy_for_latency_prefers_nothing() {
    for trade in [(-20.0, 50.0), (20.0, -50.0), (-1.0, -5.0)] {
        let a = judged(None, &[("menu", 0.0, 0.0), ("teo", trade.0, trade.1)]);
        assert_eq!(a.answer.what, Recommendation::Keep, "{trade:?}");
    }
}

#[test]
fn haltpoll_without_polling_is_asked_about_with_polling() {
    let mut s = situation(&["menu", "haltpoll"]);
    s.driver = Some("haltpoll".to_owned());
    s.haltpoll = [("guest_halt_poll_ns".to_owned(), 0), ("guest_halt_poll_grow".to_owned(), 2)].into();
    let all = candidates(&s, "menu", &["menu:disable=1".to_owned()]);
    let of = |name: &str| all.iter().find(|c| c.name == name).unwrap();
    assert_eq!(of("haltpoll").replay, "haltpoll:guest_halt_poll_grow=2,guest_halt_poll_ns=0");
    let polling = of("haltpoll:guest_halt_poll_ns=200000");
    assert_eq!(polling.replay, "haltpoll:guest_halt_poll_grow=2,guest_halt_poll_ns=200000");
    assert_eq!(polling.in_kernel, Some(true));
    let without = of("menu:disable=1");
    assert_eq!((without.replay.as_str(), without.in_kernel), ("menu:disable=1", Some(true)));
    assert_eq!(of("teo").in_kernel, Some(false));
    assert_eq!(specs(&all).last().map(String::as_str), Some("oracle"));
    s.haltpoll = [("guest_halt_poll_ns".to_owned(), 200_000)].into();
    let all = candidates(&s, "menu", &[]);
    assert_eq!(all.iter().filter(|c| c.name.starts_with("haltpoll")).count(), 1);
}

#[test]
fn a_setting_is_told_for_now_and_for_the_next_boot() {
    let it = Setting::of("haltpoll:guest_halt_poll_ns=200000,disable=1");
    assert_eq!(it.now[0], "echo haltpoll > /sys/devices/system/cpu/cpuidle/current_governor");
    assert_eq!(it.now[1], "echo 200000 > /sys/module/haltpoll/parameters/guest_halt_poll_ns");
    assert!(it.now[2].contains("state1/disable"));
    assert_eq!(it.at_boot[..2], ["cpuidle.governor=haltpoll", "haltpoll.guest_halt_poll_ns=200000"]);
}

/// A recording of this kernel's menu, replayed; and the states that it entered.
fn replayed() -> (Vec<Candidate>, ReplayReport, BTreeSet<usize>) {
    let candidates = candidates(&situation(&["menu", "ladder", "haltpoll"]), "menu", &[]);
    let recording = Recording::open(&trace(), &RecordingOptions::default()).unwrap();
    let report = replay_of(&candidates);
    (candidates, report, entered(&recording).unwrap())
}

fn trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/sleeploop.dat")
}

fn replay_of(candidates: &[Candidate]) -> ReplayReport {
    let asked =
        ReplayRequest { traces: vec![trace()], governors: specs(candidates), ..ReplayRequest::default() };
    replay(&asked, &|_, _| ()).unwrap()
}

#[test]
fn choices_above_the_latency_limit_are_warned_of() {
    let (candidates, mut report, entered) = replayed();
    let teo = report.traces[0].governors.iter_mut().find(|g| g.governor == "teo").unwrap();
    (teo.score.breaches.over_limit, teo.decisions) = (5, 50);
    let a = judge(&Evidence {
        situation: situation(&["menu", "ladder", "haltpoll"]),
        load: "timer".to_owned(),
        candidates,
        entered: Some(entered),
        replay: Ok(&report),
        ab: Err(NotKnown::because(NoteId::NeedsRoot, "needs root")),
    });
    let warned = "in the replay teo chose a state above the latency limit, although one that was on kept it: 5 of 50 choices \
                  (10.00 %)";
    assert!(a.warnings.iter().any(|w| w.words == warned), "{:?}", a.warnings);
}

#[test]
fn a_replay_that_is_not_of_this_kernel_gives_the_reason_and_no_advice() {
    let (candidates, report, entered) = replayed();
    let judged = |situation: &Situation, change: &dyn Fn(&mut TraceResult), ab: Option<&AbReport>| {
        let mut report = report.clone();
        change(&mut report.traces[0]);
        judge(&Evidence {
            situation: situation.clone(),
            load: "timer".to_owned(),
            candidates: candidates.clone(),
            entered: Some(entered.clone()),
            replay: Ok(&report),
            ab: ab.ok_or_else(|| NotKnown::because(NoteId::NeedsRoot, "needs root")),
        })
    };
    let here = situation(&["menu", "ladder", "haltpoll"]);
    // Everything but the one that stands for the kernel's own is made to look better.
    fn better(trace: &mut TraceResult) {
        for g in &mut trace.governors[1..] {
            g.change.set(ENERGY, -50.0);
            g.change.set(LATENCY_MEAN, 0.0);
        }
    }
    let fine = judged(&here, &better, None);
    assert_eq!(fine.answer.what, Recommendation::Try, "{:?}", fine.answer);
    assert!(["ladder", "haltpoll"].contains(&fine.answer.governor.as_str()), "{:?}", fine.answer);
    let set = fine.setting.clone().unwrap();
    assert_eq!(
        set.now[0],
        format!("echo {} > /sys/devices/system/cpu/cpuidle/current_governor", fine.answer.governor)
    );
    assert!(tried(&fine).contains(&"teo-fixed"), "{:?}", fine.trying);

    let agreement = |state: f64, tick: f64| {
        move |t: &mut TraceResult| {
            better(t);
            let fidelity = t.fidelity.as_mut().unwrap();
            (fidelity.same_state_pct, fidelity.same_tick_pct) = (Some(state), Some(tick));
        }
    };
    let unknown = |t: &mut TraceResult| {
        better(t);
        t.fidelity = Err(NotKnown::because(NoteId::GovernorNotNamed, "no governor is named"));
    };
    let assumed = |t: &mut TraceResult| {
        better(t);
        t.head.machine_assumed = true;
    };
    let other_machine = |t: &mut TraceResult| {
        better(t);
        let words = "the recording is of Arm, and kvm-guest has idle states of x86";
        t.head.warnings.push(NoteId::OtherProcessor.note(words));
    };
    let elsewhere = Situation::recorded("6.1", "menu", "it was made on 6.1, and here is 6.18".to_owned());
    for (situation, change, why) in [
        (
            &here,
            &agreement(0.98, 100.0) as &dyn Fn(&mut TraceResult),
            "menu makes only 0.98 % of this kernel's own choices (state)",
        ),
        (&here, &agreement(99.0, 89.9), "only 89.90 % of this kernel's own choices (keep or stop the tick)"),
        (&here, &unknown, "is not known: no governor is named"),
        (&here, &assumed, "sleeploop.dat was recorded on"),
        (&here, &other_machine, "does not use the recorded machine: the recording is of Arm"),
        (&elsewhere, &better, "made on 6.1, and here is 6.18"),
    ] {
        let a = judged(situation, change, None);
        assert_eq!(
            (a.answer.what, a.setting.is_none(), tried(&a)),
            (Recommendation::Nothing, true, vec![]),
            "{:?}",
            a.answer
        );
        assert!(a.answer.because.contains(why), "no {why:?} in {}", a.answer.because);
    }
    assert_eq!(judged(&here, &agreement(90.0, 90.0), None).answer.what, Recommendation::Try);
    // What speaks against the machine is said also where a comparison on the kernel is the answer, and before all that depends on it.
    let switch = session(&[("p50", Verdict::Better)]);
    let a = judged(&here, &other_machine, Some(&switch));
    assert_eq!(a.answer.what, Recommendation::Switch);
    let json = serde_json::to_value(&a).unwrap();
    assert_eq!(
        json["machine_warnings"][0]["words"],
        "the recording is of Arm, and kvm-guest has idle states of x86"
    );
    // What is shown on the kernel itself stands.
    let session = session(&[("p50", Verdict::Better)]);
    let a = judged(&here, &agreement(0.98, 100.0), Some(&session));
    assert_eq!((a.answer.what, a.answer.governor.as_str()), (Recommendation::Switch, "ladder"));
    assert!(a.warnings.iter().any(|w| w.contains("0.98 %")), "{:?}", a.warnings);
}

#[test]
fn what_rests_on_states_that_the_kernel_never_entered_does_not_rank() {
    let (candidates, mut report, entered) = replayed();
    assert_eq!(entered, BTreeSet::from([0, 1]), "POLL, and what the guest enters");
    for g in &mut report.traces[0].governors[1..] {
        g.change.set(ENERGY, -50.0);
        g.change.set(LATENCY_MEAN, 0.0);
    }
    let judged = |entered: BTreeSet<usize>| {
        judge(&Evidence {
            situation: situation(&["menu", "ladder", "haltpoll"]),
            load: "timer".to_owned(),
            candidates: candidates.clone(),
            entered: Some(entered),
            replay: Ok(&report),
            ab: Err(NotKnown::because(NoteId::NeedsRoot, "needs root")),
        })
    };
    assert_eq!(judged(entered).answer.what, Recommendation::Try);
    let a = judged(BTreeSet::from([0]));
    assert_eq!((a.answer.what, tried(&a)), (Recommendation::Keep, vec![]), "{:?}", a.answer);
    let row = &a.rows.iter().find(|r| r.governor == "teo").unwrap();
    assert_eq!(row.replay.as_ref().unwrap().as_ref().unwrap().never_entered, ["haltpoll idle"]);
    assert!(a.untested.iter().any(|u| u.what == "teo" && u.why.contains("never entered in the recording")));
}
