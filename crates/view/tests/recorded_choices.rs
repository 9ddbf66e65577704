// SPDX-License-Identifier: GPL-2.0-only
//! Are decisions that a kernel recorded with their true inputs made again here?

use std::path::{Path, PathBuf};

use idlewise_conform::Agreement;
use idlewise_conform::recorded_governors::{RecordedGovernor, of_trace};
use idlewise_explain::convert::{ConvertRequest, Form, convert};
use idlewise_governor::Governor;
use idlewise_platform::Platform;
use idlewise_recording::governors::find_one;
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_study::info::info;
use idlewise_study::replay::{ReplayRequest, replay};
use idlewise_testkit::{error_text, guest_of_it, kernels_own_menu};
use idlewise_view as view;

fn lab(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/lab").join(name)
}

fn machine() -> Platform {
    idlewise_platform::find(lab("synth4.toml").to_str().unwrap()).unwrap()
}

fn governor(name: &str) -> Governor {
    find_one(name, &[]).unwrap()
}

fn held(path: &Path, governor: Option<&Governor>) -> Vec<RecordedGovernor> {
    of_trace(path, &RecordingOptions::default(), &machine(), governor, &[]).unwrap()
}

fn counts(p: &RecordedGovernor) -> &Agreement {
    p.result.as_ref().unwrap()
}

#[test]
fn a_governor_that_ran_in_a_kernel_makes_the_same_choices_here() {
    let all = held(&lab("teo-util-timer.dat"), None);
    let [p] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((p.kernel_governor.as_str(), p.governor.as_str()), ("teo-util", "teo-util"));
    let c = counts(p);
    assert_eq!((c.decisions, c.same, c.unknown_state), (341, 341, 0), "{:#?}", c.first);
    assert!((c.same_pct() - 100.0).abs() < f64::EPSILON);
}

/// A kernel's own governor is foreign code: what it answers comes out of a process of its own.
#[test]
fn a_file_makes_the_choices_of_the_kernels_own_governor_in_a_process_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let trace = kernels_own_menu(folder.path());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../governors/menu.c");
    let foreign = governor(file.to_str().unwrap());
    assert!(foreign.is_foreign());
    let all = of_trace(&trace, &RecordingOptions::default(), &guest_of_it(), Some(&foreign), &[]).unwrap();
    let own = all.iter().find(|p| p.kernel_governor == "menu").unwrap();
    let c = counts(own);
    assert_eq!((c.decisions, c.same, c.unknown_state), (KERNELS_OWN, KERNELS_OWN, 0), "{:#?}", c.first);
}

/// Its decisions in that recording.
const KERNELS_OWN: u64 = 362;

#[test]
fn another_governor_or_another_setting_does_not() {
    let path = lab("teo-util-timer.dat");
    for name in ["menu", "teo-6.1", "teo-util:util_threshold_shift=3"] {
        let all = held(&path, Some(&governor(name)));
        let c = counts(&all[0]);
        assert_eq!(c.decisions, 341);
        assert!(c.same < 341 && all[0].mismatches() > 0, "{name}");
        let words = c.first[0].to_string();
        assert!(words.contains("the kernel state") && words.contains("inputs: sleep length"), "{words}");
    }
}

#[test]
fn the_decisions_survive_being_converted() {
    let folder = tempfile::tempdir().unwrap();
    for (form, name) in [(Form::Text, "t.txt"), (Form::Perfetto, "t.pftrace")] {
        let output = folder.path().join(name);
        let request = ConvertRequest {
            trace: lab("teo-util-timer.dat"),
            to: form,
            output: output.clone(),
            governors: Vec::new(),
            setup: ReplaySetup::default(),
        };
        let mut out = std::fs::File::create(&output).unwrap();
        convert(&request, &mut out, &|_, _| ()).unwrap();
        let c = counts(&held(&output, None)[0]).clone();
        assert_eq!((c.decisions, c.same), (341, 341), "{name}");
        // The head of the new file tells that they are there.
        let options = RecordingOptions {
            recorded_on: Some(lab("synth4.toml").display().to_string()),
            ..RecordingOptions::default()
        };
        let there = info(&output, &options, &[]).unwrap();
        assert_eq!((there.decisions.len(), there.decisions[0].count), (1, 341), "{name}");
        assert_eq!(there.replayed.unwrap().parity.len(), 1, "{name}");
    }
}

#[test]
fn replay_and_info_say_it_first_and_take_the_governor_from_the_events() {
    let request = ReplayRequest {
        traces: vec![lab("teo-util-timer.dat")],
        governors: vec!["shallow".to_owned()],
        ..ReplayRequest::default()
    };
    let report = replay(&request, &|_, _| ()).unwrap();
    let trace = &report.traces[0];
    assert_eq!(counts(&trace.parity[0]).same, 341);
    let fidelity = trace.fidelity.as_ref().unwrap();
    assert_eq!(fidelity.governor, "teo-util");
    // It was switched on in the recording, so its memory is known; utilisation of what ran before is not, for 370 of 474 ms.
    assert!((1..341 * 370 / 474).contains(&fidelity.unknown_memory), "{}", fidelity.unknown_memory);
    let lines = view::replay(&report).preamble;
    assert_eq!(lines[0].label(), Some("parity"));
    let there = info(&lab("teo-util-timer.dat"), &RecordingOptions::default(), &[]).unwrap();
    assert_eq!((there.decisions[0].governor.as_str(), there.decisions[0].count), ("teo-util", 341));
    let truths = there.replayed.as_ref().unwrap().true_inputs.clone();
    let of = |name: &str| truths.iter().find(|t| t.name == name).unwrap();
    for (name, compared, at_least) in [
        ("sleep length", 330, 0.99),
        ("next event with the tick", 330, 0.99),
        ("tick stopped", 330, 1.0),
        // Of the last 104 ms.
        ("utilisation", 8, 1.0),
        ("latency limit", 330, 1.0),
    ] {
        let t = of(name);
        assert!(t.compared >= compared && t.same as f64 >= at_least * t.compared as f64, "{t:?}");
    }
    // The tape takes an earlier moment for the governor's "now" than the kernel, by some us.
    assert!((1..20_000).contains(&of("sleep length").off[1]), "{:?}", of("sleep length"));
    assert!(view::info(&there).preamble.iter().any(|l| l.label() == Some("truth")));
}

/// Events of a recording, as the kernel prints them.
struct Lines(String);

impl Lines {
    fn new() -> Self {
        Self("# tracer: nop\n#\n".to_owned())
    }

    fn event(&mut self, ms: u64, cpu: u32, event: &str) -> &mut Self {
        self.0 += &format!(
            "          <idle>-0       [{cpu:03}] ..... {:>5}.{:06}: {event}\n",
            ms / 1000,
            ms % 1000 * 1000
        );
        self
    }

    fn enabled(&mut self, ms: u64, governor: &str, states: u32) -> &mut Self {
        self.event(ms, 0, &format!("idle_enabled: governor={governor} cpu=0 capacity=1024 states={states}"))
    }

    /// A decision of CPU 0 that has not asked for the sleep length.
    fn chosen(&mut self, ms: u64, state: u32) -> &mut Self {
        let told = "sleep_length=0 delta_tick=0 latency_limit=2000000000000 clock=0";
        self.event(ms, 0, &format!("idle_asked: cpu=0 asked=0x0 {told}"));
        let rest =
            "tick_stopped=0 residency=0 poll_time_limit=0 poll_limit=0 util=0 iowait=0 random=0 disabled=0x0";
        self.event(ms, 0, &format!("idle_chosen: cpu=0 state={state} stop_tick=1 {rest}"))
    }

    fn entered(&mut self, ms: u64, state: u32) -> &mut Self {
        self.event(ms, 0, &format!("cpu_idle: state={state} cpu_id=0")).event(
            ms,
            0,
            "cpu_idle: state=4294967295 cpu_id=0",
        )
    }

    fn stayed(&mut self, ms: u64, state: u32) -> &mut Self {
        let rest = "residency=100 poll_time_limit=0 got_tick=0 clock=0 asked=0x0";
        self.entered(ms, state).event(ms, 0, &format!("idle_reflected: cpu=0 state={state} {rest}"))
    }

    fn lost(&mut self) -> &mut Self {
        self.0 += "CPU:0 [LOST EVENTS]\n";
        self
    }

    fn parity(&self, governor: Option<&Governor>) -> Vec<RecordedGovernor> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.txt");
        std::fs::write(&path, &self.0).unwrap();
        held(&path, governor)
    }
}

#[test]
fn governors_that_change_are_told_apart_and_what_came_to_nothing_is_counted() {
    let mut lines = Lines::new();
    lines.enabled(1, "shallow", 2);
    lines.chosen(2, 0).stayed(3, 0);
    // A reschedule comes before the entry; then the driver refuses.
    lines.chosen(4, 0).chosen(5, 0).entered(5, 0).chosen(6, 0).stayed(7, 0);
    lines.enabled(7, "teo-5.6", 2);
    lines.enabled(8, "iw-deepest", 2).chosen(9, 1).stayed(10, 1).chosen(11, 0).stayed(12, 0);
    lines.enabled(13, "shallow", 2).chosen(14, 0).stayed(15, 0);
    let all = lines.parity(None);
    let [shallow, deepest] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((shallow.governor.as_str(), deepest.governor.as_str()), ("shallow", "deepest"));
    assert_eq!((shallow.recorded, shallow.given_up, shallow.refused), (5, 1, 1));
    assert_eq!((counts(shallow).decisions, counts(shallow).same), (5, 5));
    // Somebody made the second one choose state 0.
    let c = counts(deepest);
    assert_eq!((c.decisions, c.same, c.other_state), (2, 1, 1));
    assert_eq!(
        (c.first[0].decision.at_ns, c.first[0].decision.kernel.state, c.first[0].here.state),
        (11_000_000, Some(0), 1)
    );
}

#[test]
fn after_lost_events_nothing_is_claimed_until_the_governor_is_new_again() {
    let mut lines = Lines::new();
    lines.enabled(1, "shallow", 2).chosen(2, 0).stayed(3, 0).lost();
    lines.chosen(4, 1).stayed(5, 1).chosen(6, 0).stayed(7, 0);
    lines.enabled(8, "shallow", 2).chosen(9, 0).stayed(10, 0);
    let all = lines.parity(None);
    let c = counts(&all[0]);
    assert_eq!((c.decisions, c.same, c.unknown_state), (2, 2, 2));
}

#[test]
fn a_governor_from_before_the_recording_must_be_named() {
    let mut lines = Lines::new();
    lines.chosen(2, 0).stayed(3, 0).chosen(4, 1).stayed(5, 1);
    let all = lines.parity(None);
    let why = all[0].result.as_ref().unwrap_err();
    assert!(
        why.why().contains("before the recording began") && why.why().contains("--kernel-governor"),
        "{why}"
    );
    let all = lines.parity(Some(&governor("shallow")));
    assert_eq!((counts(&all[0]).decisions, counts(&all[0]).same), (2, 1));
    let why = lines_of("menu", 2).parity(None)[0].result.clone().unwrap_err();
    assert!(why.why().contains("the kernel's own menu"), "{why}");
    let why = lines_of("mobile", 2).parity(None)[0].result.clone().unwrap_err();
    assert!(why.why().contains("mobile is not among the governors"), "{why}");
    let why = lines_of("shallow", 3).parity(None)[0].result.clone().unwrap_err();
    assert!(why.why().contains("3 idle states in the recording and 2 on platform"), "{why}");
}

fn lines_of(name: &str, states: u32) -> Lines {
    let mut lines = Lines::new();
    lines.enabled(1, name, states).chosen(2, 0).stayed(3, 0);
    lines
}

#[test]
fn a_trace_without_such_events_is_refused() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    let why = error_text(of_trace(&path, &RecordingOptions::default(), &machine(), None, &[]));
    assert!(why.contains("idlewise:*"), "{why}");
}
