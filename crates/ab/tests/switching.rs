// SPDX-License-Identifier: GPL-2.0-only
//! Does a comparison switch the machine as it should, keep its runs, go on where it was interrupted, and leave nothing
//! behind? On a tree of files that looks like a machine.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_ab::{self as ab, AbRequest, Benchmark, Stop, Verdict, Waits, Wakeups, Work};
use idlewise_live::Host;
use idlewise_model::Note;

struct Tree(tempfile::TempDir);

const GOVERNOR: &str = "sys/devices/system/cpu/cpuidle/current_governor";
const POLL: &str = "sys/module/haltpoll/parameters/guest_halt_poll_ns";

impl Tree {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let tree = Self(root);
        tree.write(GOVERNOR, "haltpoll\n");
        tree.write("sys/devices/system/cpu/cpuidle/available_governors", "ladder menu haltpoll\n");
        tree.write("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll\n");
        tree.write("sys/devices/system/cpu/online", "0-1\n");
        tree.write(POLL, "0\n");
        tree.write("proc/sys/kernel/osrelease", "6.18.0\n");
        tree.write("dev/cpu_dma_latency", "\0\u{10}\0\0");
        for cpu in 0..2 {
            for (state, name) in ["POLL", "haltpoll idle"].iter().enumerate() {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                tree.write(&format!("{folder}/name"), &format!("{name}\n"));
                for file in ["disable", "usage", "time", "above", "below", "rejected", "latency", "residency"]
                {
                    tree.write(&format!("{folder}/{file}"), "0\n");
                }
            }
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, value: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn disable(cpu: u32, state: u32) -> String {
        format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/disable")
    }

    fn host(&self) -> Host {
        Host::below(self.0.path())
    }

    /// A command that notes how the machine is while it runs.
    fn request(&self, arms: &[&str]) -> AbRequest {
        let note = format!(
            "cd {}; echo $(for f in {GOVERNOR} {POLL} {} {}; do echo $(cat $f); done) >> seen; cat value",
            self.0.path().display(),
            Self::disable(0, 1),
            Self::disable(1, 1)
        );
        self.write("value", "value 3\n");
        AbRequest {
            arms: arms.iter().map(|a| (*a).to_owned()).collect(),
            benchmarks: vec![Benchmark {
                name: "note".to_owned(),
                command: ["sh", "-c", &note].map(str::to_owned).into(),
                load: None,
            }],
            metrics: vec!["value:higher=value ([0-9]+)".to_owned()],
            repeat: 2,
            foreign_pct: 100,
            margin_permille: 10,
            ..AbRequest::default()
        }
    }

    fn seen(&self) -> Vec<String> {
        self.read("seen").lines().map(str::to_owned).collect()
    }

    fn run(&self, request: Option<AbRequest>, to: &Path) -> Result<(), String> {
        let work = match request {
            Some(request) => Work::New(request),
            None => {
                let recorded = ab::stored(to).unwrap().head.request;
                Work::Rest { benchmarks: recorded.benchmarks.clone(), recorded }
            }
        };
        ab::run(&self.host(), work, to, &Stop::new(), &mut |_| ()).map(|_| ()).map_err(|e| e.to_string())
    }

    fn untouched(&self) -> bool {
        self.read(GOVERNOR) == "haltpoll\n"
            && self.read(POLL) == "0\n"
            && (0..2).all(|cpu| self.read(&Self::disable(cpu, 1)) == "0\n")
            && !self.path("run/idlewise/journal").exists()
    }
}

#[test]
fn each_arm_runs_with_its_own_settings_and_nothing_of_the_others() {
    let tree = Tree::new();
    let request = tree.request(&["menu", "haltpoll:guest_halt_poll_ns=200000", "menu:disable=1"]);
    tree.run(Some(request), &tree.path("out")).unwrap();
    let [menu, poll, off] = ["menu 0 0 0", "haltpoll 200000 0 0", "menu 0 1 1"];
    assert_eq!(tree.seen(), [menu, poll, off, off, poll, menu]);
    assert!(tree.untouched());
    let report = ab::report(&tree.path("out")).unwrap();
    assert_eq!(report.runs.iter().map(|r| r.arm).collect::<Vec<_>>(), [0, 1, 2, 2, 1, 0]);
    let metrics = &report.benchmarks[0].metrics;
    assert_eq!(metrics.iter().map(|m| m.name.as_str()).collect::<Vec<_>>(), ["time", "value"]);
    assert!(metrics[1].more_is_better);
    assert_eq!(metrics[1].cells[1].values, [3.0, 3.0]);
    assert_eq!(metrics[1].cells[1].verdict, Some(Verdict::TooFew));
    assert!(report.warnings.iter().any(|w| w.starts_with("too few runs")), "{:?}", report.warnings);
}

#[test]
fn settings_for_all_arms_hold_in_all_of_them() {
    let tree = Tree::new();
    let mut request = tree.request(&["menu", "ladder"]);
    request.set = vec!["guest_halt_poll_ns=5".to_owned()];
    request.disable = vec![1];
    request.repeat = 1;
    request.latency_limit_us = Some(70);
    tree.run(Some(request), &tree.path("out")).unwrap();
    assert_eq!(tree.seen(), ["menu 5 1 1", "ladder 5 1 1"]);
    assert_eq!(fs::read(tree.path("dev/cpu_dma_latency")).unwrap(), 70_u32.to_ne_bytes());
    assert!(tree.untouched());
}

#[test]
fn a_run_during_which_the_machine_changes_is_left_out_and_repeated() {
    let disable = Tree::disable(1, 1);
    let usage = disable.replace("disable", "usage");
    // A CPU that comes back has no state switched off, and counts from 0.
    let online = "sys/devices/system/cpu/online".to_owned();
    for (file, value, said) in [
        (&disable, "0", "state1/disable is 0, not 1"),
        (&usage, "0", "set back"),
        (&online, "0", "CPU 1 went offline"),
    ] {
        let tree = Tree::new();
        tree.write(&usage, "7\n");
        let mut request = tree.request(&["menu:disable=1", "ladder:disable=1"]);
        let once = tree.path("once").display().to_string();
        let file = tree.path(file).display().to_string();
        let first = format!("[ -e {once} ] || echo {value} > {file}; touch {once}; ");
        let script = request.benchmarks[0].command.last_mut().unwrap();
        script.insert_str(0, &first);
        request.repeat = 1;
        request.retries = 1;
        let out = tree.path("out");
        tree.run(Some(request), &out).unwrap();
        let runs = ab::report(&out).unwrap().runs;
        let left_out: Vec<bool> = runs.iter().map(|r| r.left_out.is_some()).collect();
        assert_eq!(left_out, [true, false, false], "{runs:?}");
        assert!(runs[0].left_out.as_ref().unwrap().contains(said), "{runs:?}");
    }
}

#[test]
fn a_benchmark_that_fails_ends_the_session_and_everything_is_restored() {
    let tree = Tree::new();
    let mut request = tree.request(&["menu", "ladder"]);
    request.benchmarks[0].command = ["sh", "-c", "echo no luck; exit 3"].map(str::to_owned).into();
    let why = tree.run(Some(request), &tree.path("out")).unwrap_err();
    assert!(
        why.contains("exit status 3") && why.contains("no luck") && why.contains("run-0001.txt"),
        "{why}"
    );
    assert!(tree.untouched());
    let mut request = tree.request(&["menu", "ladder"]);
    request.benchmarks[0].command = vec!["/no/such/program".to_owned()];
    assert!(tree.run(Some(request), &tree.path("other")).unwrap_err().contains("/no/such/program"));
    let mut request = tree.request(&["menu", "ladder"]);
    request.metrics = vec!["x=no (such) number".to_owned()];
    assert!(tree.run(Some(request), &tree.path("third")).unwrap_err().contains("no (such) number"));
    assert!(tree.untouched());
}

#[test]
fn an_interrupted_session_goes_on_where_it_was() {
    let tree = Tree::new();
    let out = tree.path("out");
    tree.run(Some(tree.request(&["menu", "ladder"])), &out).unwrap();
    assert_eq!(tree.seen(), ["menu 0 0 0", "ladder 0 0 0", "ladder 0 0 0", "menu 0 0 0"]);
    let file = out.join("session.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    // The head, one run, and half of another.
    let second = whole.match_indices('\n').nth(1).unwrap().0;
    fs::write(&file, &whole[..second + 40]).unwrap();
    fs::remove_file(tree.path("seen")).unwrap();
    tree.run(None, &out).unwrap();
    assert_eq!(tree.seen(), ["ladder 0 0 0", "ladder 0 0 0", "menu 0 0 0"]);
    let report = ab::report(&out).unwrap();
    assert_eq!(report.runs.len(), 4);
    // Nothing but the head.
    let first = whole.find('\n').unwrap();
    fs::write(&file, &whole[..=first]).unwrap();
    fs::remove_file(tree.path("seen")).unwrap();
    tree.run(None, &out).unwrap();
    assert_eq!(tree.seen().len(), 4);
    assert!(tree.untouched());
}

#[test]
fn results_are_not_overwritten_and_not_mixed_with_another_machine_s() {
    let tree = Tree::new();
    let out = tree.path("out");
    tree.run(Some(tree.request(&["menu", "ladder"])), &out).unwrap();
    let before = fs::read(out.join("session.jsonl")).unwrap();
    let why = tree.run(Some(tree.request(&["menu", "ladder"])), &out).unwrap_err();
    assert!(why.contains("--resume"), "{why}");
    tree.write("proc/sys/kernel/osrelease", "6.19.0\n");
    let why = tree.run(None, &out).unwrap_err();
    assert!(why.contains("6.18.0") && why.contains("6.19.0"), "{why}");
    assert_eq!(fs::read(out.join("session.jsonl")).unwrap(), before);
    assert!(tree.untouched());
}

#[test]
fn what_the_machine_does_not_have_is_told_before_anything_is_changed() {
    let tree = Tree::new();
    for (arm, told) in [
        ("teo", "it has: ladder, menu, haltpoll"),
        ("menu:disable=7", "idle state 7"),
        ("menu:no_such_thing=1", "no_such_thing"),
        ("menu:disable", "NAME=VALUE"),
        ("menu:disable=all", "whole number"),
        ("ladder", "--aa"),
    ] {
        let why = tree.run(Some(tree.request(&["ladder", arm])), &tree.path("out")).unwrap_err();
        assert!(why.contains(told), "{arm}: {why}");
        assert!(tree.untouched() && !tree.path("out").exists() && !tree.path("seen").exists());
    }
}

#[test]
fn runs_under_foreign_load_are_made_again_and_told() {
    let tree = Tree::new();
    let mut request = tree.request(&["menu", "ladder"]);
    // Half of the time that passes between two looks is somebody else's.
    tree.write("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
    let command = &mut request.benchmarks[0].command[2];
    *command = format!(
        "echo cpu $(( $(wc -l < seen) * 50 + 50 )) 0 0 $(( $(wc -l < seen) * 50 + 50 )) 0 0 0 0 > \
                        {}/proc/stat; {command}",
        tree.0.path().display()
    )
    .replace("< seen", &format!("< {}/seen", tree.0.path().display()));
    tree.write("seen", "");
    (request.foreign_pct, request.retries, request.repeat) = (20, 2, 1);
    tree.run(Some(request), &tree.path("out")).unwrap();
    assert_eq!(tree.seen().len(), 6);
    let report = ab::report(&tree.path("out")).unwrap();
    let left: Vec<bool> = report.runs.iter().map(|r| r.left_out.is_some()).collect();
    assert_eq!(left, [true, true, false, true, true, false]);
    assert!(report.runs.iter().all(|r| (r.foreign_pct - 50.0).abs() < 1e-9), "{:?}", report.runs);
    assert!(report.warnings.iter().any(|w| w.starts_with("foreign load: 2 of 2")), "{:?}", report.warnings);
}

#[test]
fn a_load_that_forbids_all_states_but_polling_is_told() {
    let tree = Tree::new();
    let mut request = tree.request(&["menu", "ladder"]);
    tree.write("dev/cpu_dma_latency", "\0\0\0\0");
    request.benchmarks[0].command[2].push_str("; sleep 0.1");
    tree.run(Some(request), &tree.path("out")).unwrap();
    let report = ab::report(&tree.path("out")).unwrap();
    assert!(report.warnings.iter().any(|w| w.contains("--laptop")), "{:?}", report.warnings);
}

#[test]
fn what_traced_wakeups_do_not_tell_is_told() {
    let tree = Tree::new();
    let mut request = tree.request(&["menu", "ladder"]);
    request.wakeups = true;
    let why = tree.run(Some(request), &tree.path("out")).unwrap_err();
    assert!(why.contains("no tracing file system"), "{why}");
    assert!(tree.untouched() && !tree.path("out").exists());
    tree.run(Some(tree.request(&["menu", "ladder"])), &tree.path("out")).unwrap();
    let file = tree.path("out").join("session.jsonl");
    let text = fs::read_to_string(&file).unwrap().replace("\"wakeups\":false", "\"wakeups\":true");
    let waits = |n| Waits { count: n, p50_us: 7.0, p99_us: 9.0, max_us: 10.0, histogram: vec![0, 0, 0, n] };
    let seen = [
        Wakeups {
            events: 1000,
            all: waits(190),
            idle: waits(140),
            hidden_cpus: vec![1],
            hidden: 110,
            ..Wakeups::default()
        },
        Wakeups { events: 1000, all: waits(200), lost: 5, until_s: Some(0.25), ..Wakeups::default() },
        Wakeups::default(),
        Wakeups { events: 1000, all: waits(50), idle: waits(9), ..Wakeups::default() },
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, seen) in lines.iter_mut().skip(1).zip(&seen) {
        let mut run: ab::Run = serde_json::from_str(line).unwrap();
        run.wakeups = Some(seen.clone());
        if seen.all.count > 0 {
            run.values.insert("wakeup_p50".to_owned(), seen.all.p50_us);
        }
        *line = serde_json::to_string(&run).unwrap();
    }
    fs::write(&file, lines.join("\n")).unwrap();
    let report = ab::report(&tree.path("out")).unwrap();
    let metric = |name: &str| report.benchmarks[0].metrics.iter().find(|m| m.name == name).unwrap();
    let values = |name: &str, arm: usize| metric(name).cells[arm].values.clone();
    assert_eq!((values("wakeup_p50", 0), values("wakeup_p50", 1)), (vec![7.0, 7.0], vec![7.0]));
    assert_eq!(values("idle_wakeup_p99", 1), [0.0; 0]);
    for words in [
        "in 2 of 4 runs fewer than 100 wakeups",
        "in 1 fewer than 10",
        "on CPU 1 tracing hides",
        "are left out, 20 % of all",
        "in 1 of 4 runs the trace buffers were full before the end, at the earliest after 0.25 s",
    ] {
        assert!(report.warnings.iter().any(|w| w.contains(words)), "{words}: {:?}", report.warnings);
    }
}

#[test]
fn an_open_gate_lets_foreign_load_count_and_tells_of_it() {
    let tree = Tree::new();
    let mut request = tree.request(&["menu", "ladder"]);
    // A half is somebody else's, as above; nothing is made again.
    tree.write("proc/stat", "cpu  0 0 0 0 0 0 0 0 0 0\n");
    tree.write("seen", "");
    let command = &mut request.benchmarks[0].command[2];
    let (root, count) = (tree.0.path().display(), "$(( $(wc -l < seen) * 50 + 50 ))");
    *command = format!("cd {root}; echo cpu {count} 0 0 {count} 0 0 0 0 > proc/stat; {command}");
    (request.foreign_pct, request.repeat) = (100, 1);
    tree.run(Some(request), &tree.path("out")).unwrap();
    let report = ab::report(&tree.path("out")).unwrap();
    assert!(report.runs.iter().all(|r| r.left_out.is_none()), "{:?}", report.runs);
    let told = |w: &&Note| w.starts_with("foreign load: 2 of 2") && w.contains("--foreign 100");
    assert_eq!(report.warnings.iter().filter(told).count(), 1, "{:?}", report.warnings);
}

#[test]
fn frequencies_that_fall_during_a_session_and_limits_from_before_are_told_apart() {
    let tree = Tree::new();
    let policy = "sys/devices/system/cpu/cpufreq/policy0";
    for (file, value) in
        [("scaling_max_freq", "3600000\n"), ("cpuinfo_max_freq", "3600000\n"), ("affected_cpus", "0 1\n")]
    {
        tree.write(&format!("{policy}/{file}"), value);
    }
    tree.write("sys/class/thermal/cooling_device3/type", "cpufreq-cpu0\n");
    tree.write("sys/class/thermal/cooling_device3/cur_state", "1\n");
    let mut request = tree.request(&["menu", "ladder"]);
    // From the third run on it is too hot.
    request.benchmarks[0].command[2]
        .push_str(&format!("; [ $(wc -l < seen) -lt 3 ] || echo 1200000 > {policy}/scaling_max_freq"));
    tree.run(Some(request), &tree.path("out")).unwrap();
    let report = ab::report(&tree.path("out")).unwrap();
    for words in [
        "throttling: CPU 0 1 at 1200 of 3600 MHz at most (scaling_max_freq), after 2 of 4 runs",
        "slowed down: cooling device cpufreq-cpu0 at 1 (cooling_device3), after all runs",
    ] {
        assert!(report.warnings.iter().any(|w| w.starts_with(words)), "{words}: {:?}", report.warnings);
    }
}

#[test]
fn a_power_limit_that_holds_clocks_under_one_governor_and_heat_are_measured_in_each_run() {
    let tree = Tree::new();
    let zone = "sys/class/powercap/intel-rapl:0";
    for (file, value) in [
        ("name", "package-0\n"),
        ("energy_uj", "0\n"),
        ("max_energy_range_uj", "262143328850\n"),
        ("constraint_0_name", "long_term\n"),
        ("constraint_0_power_limit_uw", "20000\n"),
        ("constraint_0_time_window_us", "10000\n"),
    ] {
        tree.write(&format!("{zone}/{file}"), value);
    }
    let heat = "sys/devices/system/cpu/cpu0/thermal_throttle";
    for file in ["core_throttle_count", "core_throttle_total_time_ms"] {
        tree.write(&format!("{heat}/{file}"), "0\n");
    }
    let mut request = tree.request(&["menu", "ladder"]);
    // Under menu it draws 2 J, in 0.4 s or on a busy machine in many times as long, and is too hot for 50 ms.
    request.benchmarks[0].command[2].push_str(&format!(
        "; if [ $(cat {GOVERNOR}) = menu ]; then e=$(cat {zone}/energy_uj); for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; \
         do sleep 0.02; e=$((e + 100000)); echo $e > new; mv new {zone}/energy_uj; done; \
         echo $(($(cat {heat}/core_throttle_count) + 1)) > {heat}/core_throttle_count; \
         echo $(($(cat {heat}/core_throttle_total_time_ms) + 50)) > {heat}/core_throttle_total_time_ms; \
         else sleep 0.2; fi"
    ));
    tree.run(Some(request), &tree.path("out")).unwrap();
    let report = ab::report(&tree.path("out")).unwrap();
    let counted = report.runs.iter().filter(|r| r.left_out.is_none());
    for run in counted {
        let limiting = run.limiting.as_ref().unwrap();
        let (pl1, heat) = (&limiting.power[0], limiting.throttling.as_ref().unwrap());
        let (under_menu, mean_w) = (run.arm == 0, pl1.mean_w.unwrap());
        assert_eq!(pl1.name(), "package-0 PL1");
        assert_eq!((limiting.limited, run.throttled), (Some(under_menu), u64::from(under_menu)), "{run:?}");
        // How long it acts is up to the scheduler here; `live/tests/limits.rs` has it with times that are given.
        assert_eq!((pl1.acting_pct > 0.0, mean_w > 0.02), (under_menu, under_menu), "{run:?}");
        assert_eq!(pl1.acting_until_s.is_some(), under_menu, "{run:?}");
        assert_eq!(heat.core_pct.unwrap() > 0.0, under_menu, "{run:?}");
    }
    let limits = &report.benchmarks[0].limits;
    assert_eq!((limits[0].limited, limits[0].runs, limits[1].limited), (2, 2, 0), "{limits:?}");
    assert!(limits[0].power[0].mean_w > limits[1].power[0].mean_w, "{limits:?}");
    for words in [
        "power limit: package-0 PL1, 0.02 W over 10.0 ms, held clocks down in 2 runs (2 of 2 under menu, 0 of 2 under ladder)",
        "throttling: the CPUs were too hot in 2 of 4 runs and were slowed down, for ",
    ] {
        assert!(report.warnings.iter().any(|w| w.starts_with(words)), "{words}: {:?}", report.warnings);
    }
}

#[test]
fn a_machine_without_counters_of_limits_is_not_called_free_of_them() {
    let tree = Tree::new();
    tree.run(Some(tree.request(&["menu", "ladder"])), &tree.path("out")).unwrap();
    let report = ab::report(&tree.path("out")).unwrap();
    assert!(report.runs.iter().all(|r| r.limiting.as_ref().unwrap().limited.is_none()), "{:?}", report.runs);
    assert_eq!((report.benchmarks[0].limits[0].runs, report.benchmarks[0].limits[0].limited), (0, 0));
}
