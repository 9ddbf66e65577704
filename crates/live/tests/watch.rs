// SPDX-License-Identifier: GPL-2.0-only
//! Does a watch tell what a machine did, whatever the machine does meanwhile?

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use idlewise_live::watch::{CounterSample, Snapshot, Watch, is_ours, textfile};
use idlewise_live::{Host, LiveError};
use tempfile::TempDir;

/// A tree that looks like a machine.
struct Tree(TempDir);

/// Names of the states, one with a space in it.
const STATES: [&str; 4] = ["POLL", "haltpoll idle", "C3", "C6"];

impl Tree {
    fn new(cpus: u32) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        tree.write("sys/devices/system/cpu/cpuidle/current_driver", "fake_idle");
        tree.write("sys/devices/system/cpu/cpuidle/current_governor", "menu");
        tree.write("proc/sys/kernel/osrelease", "6.18.0");
        tree.write("sys/devices/system/cpu/online", &format!("0-{}", cpus - 1));
        for cpu in 0..cpus {
            for (state, name) in STATES.iter().enumerate() {
                tree.state(cpu, state, "name", name);
                for file in ["usage", "time", "above", "below", "rejected", "disable", "latency", "residency"]
                {
                    tree.state(cpu, state, file, "0");
                }
            }
        }
        tree
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn state(&self, cpu: u32, state: usize, file: &str, text: &str) {
        self.write(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}"), text);
    }

    fn counts(&self, cpu: u32, state: usize, counts: [u64; 5]) {
        for (file, n) in ["usage", "time", "above", "below", "rejected"].iter().zip(counts) {
            self.state(cpu, state, file, &n.to_string());
        }
    }

    fn host(&self) -> Host {
        Host::below(self.0.path())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// What happens between now and after `change`, two seconds later.
fn between(tree: &Tree, change: impl FnOnce()) -> (Snapshot, CounterSample) {
    let mut watch = Watch::open(&tree.host()).unwrap();
    let before = watch.look(at(0)).unwrap();
    change();
    let after = watch.look(at(2)).unwrap();
    (Snapshot::between(&before, &after), after)
}

#[test]
fn rates_and_shares_are_of_the_time_between_two_looks() {
    let tree = Tree::new(2);
    tree.counts(0, 3, [1_000, 5_000_000, 10, 20, 0]);
    let (s, _) = between(&tree, || {
        tree.counts(0, 3, [1_100, 6_000_000, 60, 20, 0]);
        tree.counts(0, 1, [100, 500_000, 0, 30, 8]);
    });
    assert_eq!((s.driver.as_str(), s.governor.as_str(), s.kernel.as_str()), ("fake_idle", "menu", "6.18.0"));
    let cpu = &s.cpus[0];
    assert_eq!(cpu.wakeups_per_s, 100.0);
    assert_eq!(cpu.too_deep_pct, Some(25.0), "50 of 200 entries");
    assert_eq!(cpu.too_shallow_pct, Some(15.0));
    assert_eq!(cpu.rejected_per_s, Some(4.0));
    assert_eq!(cpu.busy_pct, 25.0, "half a second of two");
    assert_eq!(cpu.states[3].name, "C6");
    assert_eq!(cpu.states[3].time_pct, 50.0);
    assert_eq!(cpu.states[3].too_deep_pct, Some(50.0));
    assert_eq!(cpu.states[1].name, "haltpoll idle");
    assert_eq!(s.cpus[1].too_deep_pct, None, "no entry, no share of entries");
    assert_eq!((s.machine.cpus, s.machine.wakeups_per_s), (2, 100.0));
    assert_eq!(s.machine.states[3].time_pct, 25.0, "of the time of two CPUs");
}

#[test]
fn a_stay_that_goes_on_is_no_work_and_one_that_ended_is_not_counted_twice() {
    let tree = Tree::new(2);
    tree.write("proc/stat", "cpu 0 0 0 0\ncpu0 5 0 5 1000 0 0\ncpu1 5 0 5 1000 0 0\nintr 1 2 3");
    let (s, _) = between(&tree, || {
        // CPU 0 slept on; CPU 1 woke from ten seconds of sleep, one and a half of them just now.
        tree.write("proc/stat", "cpu 0 0 0 0\ncpu0 5 0 5 1200 0 0\ncpu1 55 0 5 1140 10 0\nintr 1 2 3");
        tree.counts(1, 3, [1, 10_000_000, 0, 0, 0]);
    });
    assert_eq!((s.cpus[0].busy_pct, s.cpus[0].asleep_pct), (0.0, 100.0));
    assert_eq!((s.cpus[1].busy_pct, s.cpus[1].asleep_pct), (25.0, 0.0));
    assert_eq!(s.cpus[1].states[3].time_pct, 75.0);
    assert_eq!((s.machine.busy_pct, s.machine.asleep_pct), (12.5, 50.0));
}

#[test]
fn cpus_may_go_and_come_and_their_counters_run_back() {
    let tree = Tree::new(4);
    let mut watch = Watch::open(&tree.host()).unwrap();
    tree.counts(1, 2, [50, 50, 0, 0, 0]);
    let first = watch.look(at(0)).unwrap();
    tree.write("sys/devices/system/cpu/online", "0-2");
    tree.counts(1, 2, [10, 10, 0, 0, 0]);
    fs::remove_dir_all(tree.path().join("sys/devices/system/cpu/cpu2/cpuidle")).unwrap();
    let second = watch.look(at(1)).unwrap();
    let s = Snapshot::between(&first, &second);
    assert_eq!(s.cpus.iter().map(|r| r.cpu.unwrap()).collect::<Vec<_>>(), [0]);
    let notes = idlewise_model::Note::words(&s.notes).join("; ");
    assert!(notes.contains("CPUs 2-3 went offline"), "{notes}");
    assert!(notes.contains("CPU 1 counters were set back"), "{notes}");
    tree.write("sys/devices/system/cpu/online", "0-3");
    let third = watch.look(at(2)).unwrap();
    let s = Snapshot::between(&second, &third);
    assert!(s.notes.iter().any(|n| n.contains("CPU 3 came online")), "{:?}", s.notes);
    assert_eq!(s.cpus.len(), 2, "CPU 1 counts again, CPU 2 has no states any more");
}

#[test]
fn a_note_names_no_more_cpus_than_fit_a_line() {
    let tree = Tree::new(64);
    for cpu in 0..64 {
        tree.counts(cpu, 1, [9, 9, 0, 0, 0]);
    }
    let (s, _) = between(&tree, || (0..64).step_by(2).for_each(|c| tree.counts(c, 1, [1, 1, 0, 0, 0])));
    assert_eq!(
        s.notes,
        [
            "CPUs 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,... (32 in all) counters were set back: left out this time"
        ]
    );
    assert_eq!((s.cpus.len(), s.machine.cpus), (32, 32));
}

#[test]
fn what_older_kernels_lack_is_not_known_rather_than_zero() {
    let tree = Tree::new(2);
    for cpu in 0..2 {
        for state in 0..4 {
            for file in ["above", "below", "rejected"] {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}");
                fs::remove_file(tree.path().join(path)).unwrap();
            }
        }
    }
    fs::remove_file(tree.path().join("sys/devices/system/cpu/online")).unwrap();
    let (s, look) = between(&tree, || tree.state(0, 3, "usage", "7"));
    assert_eq!(s.cpus[0].wakeups_per_s, 3.5);
    assert_eq!((s.cpus[0].too_deep_pct, s.cpus[0].rejected_per_s), (None, None));
    assert!(!textfile(&look).contains("too_deep"));
}

#[test]
fn parts_of_a_machine_are_told_apart_by_what_it_shows() {
    let names = |tree: &Tree| {
        let look = Watch::open(&tree.host()).unwrap().look(at(0)).unwrap();
        look.machine.places.iter().map(|p| p.name.clone()).collect::<Vec<_>>()
    };
    let each = |tree: &Tree, file: &str, of: &dyn Fn(u32) -> String| {
        (0..8).for_each(|c| tree.write(&format!("sys/devices/system/cpu/cpu{c}/{file}"), &of(c)));
    };
    let tree = Tree::new(8);
    assert_eq!(names(&tree), ["package 0-7"]);
    each(&tree, "cache/index3/shared_cpu_list", &|c| if c < 4 { "0-3".into() } else { "4-7".into() });
    assert_eq!(names(&tree), ["L3 0-3", "L3 4-7"]);
    each(&tree, "topology/physical_package_id", &|c| (c / 4).to_string());
    assert_eq!(names(&tree), ["package 0-3", "package 4-7"]);
    each(&tree, "cpufreq/related_cpus", &|c| if c < 2 { "0 1".into() } else { "2 3 4 5 6 7".into() });
    assert_eq!(names(&tree), ["cluster 0-1", "cluster 2-3", "cluster 4-7"], "sockets do not share a clock");
    each(&tree, "topology/physical_package_id", &|_| "0".into());
    each(&tree, "cpu_capacity", &|c| if c == 7 { "1024".into() } else { "400".into() });
    assert_eq!(names(&tree), ["cluster 0-1", "cluster 2-6", "cluster 7"]);
    tree.write("sys/devices/cpu_core/cpus", "0-3");
    tree.write("sys/devices/cpu_atom/cpus", "4-7");
    assert_eq!(names(&tree), ["core 0-3", "atom 4-7"]);
}

#[test]
fn a_textfile_has_what_prometheus_asks_for() {
    let tree = Tree::new(2);
    tree.counts(1, 1, [7, 1_500_000, 2, 3, 4]);
    tree.state(1, 3, "disable", "1");
    tree.state(0, 2, "name", "a \"b\" \\c");
    tree.write("sys/class/powercap/intel-rapl:0/name", "package-0");
    tree.write("sys/class/powercap/intel-rapl:0/energy_uj", "2500000");
    let text = textfile(&Watch::open(&tree.host()).unwrap().look(at(0)).unwrap());
    assert!(is_ours(&text));
    let labels = "{cpu=\"1\",cluster=\"package 0-1\",state=\"1\",name=\"haltpoll idle\"}";
    for line in [
        "# TYPE idlewise_cpuidle_entries_total counter",
        "idlewise_cpuidle_info{driver=\"fake_idle\",governor=\"menu\"} 1",
        &format!("idlewise_cpuidle_entries_total{labels} 7"),
        &format!("idlewise_cpuidle_residency_seconds_total{labels} 1.5"),
        &format!("idlewise_cpuidle_too_deep_total{labels} 2"),
        &format!("idlewise_cpuidle_too_shallow_total{labels} 3"),
        &format!("idlewise_cpuidle_rejected_total{labels} 4"),
        "idlewise_energy_joules_total{source=\"powercap\",meter=\"package-0\"} 2.5",
    ] {
        assert!(text.lines().any(|l| l == line), "no {line} in\n{text}");
    }
    assert!(text.contains("name=\"a \\\"b\\\" \\\\c\""));
    // Every family is announced once, and every sample belongs to one that was.
    let types: Vec<&str> = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")).collect();
    for sample in text.lines().filter(|l| !l.starts_with('#')) {
        let name = sample.split('{').next().unwrap();
        assert_eq!(types.iter().filter(|t| t.split(' ').next() == Some(name)).count(), 1, "{sample}");
    }
}

#[test]
fn a_machine_without_idle_states_says_that_there_is_nothing_to_watch() {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("sys/devices/system/cpu/cpu0")).unwrap();
    let error = Watch::open(&Host::below(tree.path())).unwrap_err();
    assert!(matches!(&error, LiveError::Lacks { why } if why.contains("nothing to watch")), "{error}");
    let error = Watch::open(&Host::below(Path::new("/nowhere"))).unwrap_err();
    assert!(error.to_string().contains("/nowhere/sys/devices/system/cpu"), "{error}");
    let tree = Tree::new(2);
    let mut watch = Watch::open(&tree.host()).unwrap();
    (0..2).for_each(|c| {
        fs::remove_dir_all(tree.path().join(format!("sys/devices/system/cpu/cpu{c}/cpuidle"))).unwrap();
    });
    assert!(watch.look(at(1)).unwrap_err().to_string().contains("any more"));
}

/// How long it takes is printed, not judged: `cargo test -p idlewise-live --release --test live watch:: -- --nocapture cost`.
#[test]
fn a_look_at_512_cpus_has_all_of_them_and_its_cost_is_shown() {
    let tree = Tree::new(512);
    let mut watch = Watch::open(&tree.host()).unwrap();
    let first = watch.look(at(0)).unwrap();
    for cpu in 0..512 {
        tree.counts(cpu, 3, [u64::from(cpu), 1_000_000, 0, 0, 0]);
    }
    #[expect(clippy::disallowed_methods, reason = "the time is shown only")]
    let began = std::time::Instant::now();
    let second = watch.look(at(1)).unwrap();
    let cost = began.elapsed();
    let s = Snapshot::between(&first, &second);
    eprintln!("a look at 512 CPUs with 4 states: {cost:?}");
    assert_eq!(s.cpus.len(), 512);
    assert_eq!(s.machine.wakeups_per_s, f64::from(511 * 512 / 2));
    assert_eq!(s.machine.states[3].time_pct, 100.0);
}

/// What `contrib/prometheus` has in `file`.
fn contributed(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/prometheus").join(file);
    fs::read_to_string(path).unwrap()
}

/// The metrics of idlewise that `text` names; not those that rules record, whose names have a level before them.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let starts = text.match_indices("idlewise_").filter(|(at, _)| {
        !text[..*at].ends_with(|c: char| c == ':' || c == '_' || c.is_ascii_alphanumeric())
    });
    let word = |at: usize| text[at..].split(|c: char| c != '_' && !c.is_ascii_alphanumeric()).next().unwrap();
    starts.map(|(at, _)| word(at).to_owned()).collect()
}

#[test]
fn rules_and_dashboard_ask_for_metrics_that_are_written_and_for_all_of_them() {
    let tree = Tree::new(2);
    for (file, value) in [
        ("powercap/intel-rapl:0/name", "package-0"),
        ("powercap/intel-rapl:0/energy_uj", "1"),
        ("hwmon/hwmon0/name", "ina3221"),
        ("hwmon/hwmon0/power1_input", "2500000"),
    ] {
        tree.write(&format!("sys/class/{file}"), value);
    }
    let text = textfile(&Watch::open(&tree.host()).unwrap().look(at(0)).unwrap());
    let types = text.lines().filter_map(|l| l.strip_prefix("# TYPE ")?.split(' ').next());
    let written: BTreeSet<String> = types.map(str::to_owned).collect();
    assert_eq!(written.len(), 9, "{written:?}");
    let dashboard: serde_json::Value = serde_json::from_str(&contributed("dashboard.json")).unwrap();
    let mut asked = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(x < 24 && taken.insert((x, y)), "{} lies over another panel", panel["title"]);
            }
        }
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let names = metrics_in(query);
            assert!(!names.is_empty() || query.contains("node_textfile_mtime_seconds"), "{query}");
            assert!(names.is_subset(&written), "{query}: written are {written:?}");
            asked.extend(names);
        }
    }
    assert_eq!(asked, written, "the dashboard shows all metrics");
    let rules = contributed("idlewise.rules.yml");
    let code = rules.lines().filter(|l| !l.trim_start().starts_with('#'));
    let names = metrics_in(&code.collect::<Vec<_>>().join("\n"));
    assert!(names.len() > 5 && names.is_subset(&written), "{names:?}");
    // What an alert asks of a rule is recorded, and each alert has a test.
    let recorded: Vec<&str> = rules.lines().filter_map(|l| l.trim().strip_prefix("- record: ")).collect();
    for word in rules.split_whitespace().filter(|w| w.starts_with("instance_")) {
        assert!(recorded.contains(&word), "no rule records {word}");
    }
    let tests = contributed("idlewise.rules.test.yml");
    for alert in rules.lines().filter_map(|l| l.trim().strip_prefix("- alert: ")) {
        assert!(tests.contains(&format!("alertname: {alert}")), "no test of {alert}");
    }
    for rule in recorded {
        assert!(tests.contains(rule), "no test of {rule}");
    }
}

#[test]
fn the_rules_pass_promtool() {
    let unpacked = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/promtool");
    let program = if unpacked.is_file() { unpacked.canonicalize().unwrap() } else { "promtool".into() };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/prometheus");
    for (what, file) in [("check", "idlewise.rules.yml"), ("test", "idlewise.rules.test.yml")] {
        let run =
            std::process::Command::new(&program).args([what, "rules", file]).current_dir(&folder).output();
        let Ok(out) = run else {
            println!("skipped: no promtool (Debian's package prometheus, or `make prometheus`)");
            return;
        };
        assert!(
            out.status.success(),
            "{}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        );
    }
}
