// SPDX-License-Identifier: GPL-2.0-only
//! Smallest inputs from public bug reports, each with the right answer, and relatives of each: the same in another form, or with
//! another right answer. The inputs are not part of the project.

use std::fs;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the files of a case, in which the command runs.
struct Case(TempDir);

impl Case {
    /// Nothing, and a plain message, where the cases are not there.
    fn of(name: &str) -> Option<Self> {
        let from = idlewise_checkout::shared().join("cases").join(name);
        let Ok(files) = fs::read_dir(&from) else {
            eprintln!("skipped: public bug reports ({} is not there)", from.display());
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let file = file.unwrap();
            fs::write(folder.path().join(file.file_name()), fs::read(file.path()).unwrap()).unwrap();
        }
        Some(Self(folder))
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.path().join(file)).unwrap()
    }

    fn put(&self, file: &str, content: impl AsRef<[u8]>) {
        let path = self.0.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes `file` with each line of `of` as `change` makes it.
    fn lines(&self, file: &str, of: &str, change: impl Fn(&str) -> String) {
        let text: String = self.text(of).lines().map(|line| change(line) + "\n").collect();
        self.put(file, text);
    }

    fn run(&self, command: &str) -> Output {
        let mut idlewise = Command::new(env!("CARGO_BIN_EXE_idlewise"));
        idlewise.args(command.split_whitespace()).current_dir(self.0.path()).output().unwrap()
    }

    /// Runs `command`, and gives what it prints with each run of blanks as one.
    fn said(&self, command: &str) -> String {
        let out = self.run(command);
        let error = String::from_utf8_lossy(&out.stderr);
        assert!(matches!(out.status.code(), Some(0 | 1)), "{command}: {:?}: {error}", out.status);
        one_line(&out.stdout)
    }

    /// All of `words` are in what `command` prints; those that begin with "no: " are not.
    fn says(&self, command: &str, words: &[&str]) {
        let said = self.said(command);
        for word in words {
            match word.strip_prefix("no: ") {
                Some(absent) => assert!(!said.contains(absent), "{command}: {absent:?} in {said}"),
                None => assert!(said.contains(word), "{command}: no {word:?} in {said}"),
            }
        }
    }
}

fn one_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Quotes a line and wraps it at a blank, as a mail program does.
fn mailed(line: &str, at: usize) -> String {
    let end = line.get(at..).and_then(|rest| rest.find(' ')).map_or(line.len(), |blank| at + blank);
    let (first, rest) = line.split_at(end);
    if rest.is_empty() { format!("> {first}") } else { format!("> {first} \n>{rest}") }
}

// ---- Counters.

#[test]
fn the_output_of_cpupower() {
    let Some(case) = Case::of("cpupower-idle-info") else { return };
    let right = [
        "0 POLL 2400 0.090 <0.01 ? ?",
        "1 C1_ACPI 60000 11.000 0.47 ? ?",
        "2 C2_ACPI 95000 163.000 6.98 ? ?",
        "3 C3_ACPI 167000 2160.000 92.54 ? ?",
        "state 3 C3_ACPI is disabled",
    ];
    case.says("diff idle-info.txt", &right);
    let table = ["2 C2_ACPI 127 us ?", "3 C3_ACPI 1.05 ms ? disabled"];
    case.says("platform show idle-info.txt", &table);
    // In a mail; with the residency that newer versions print; two CPUs.
    case.lines("quoted.txt", "idle-info.txt", |l| format!("> {l}"));
    case.says("diff quoted.txt", &right);
    case.lines("newer.txt", "idle-info.txt", |l| {
        let residency = match l {
            "Latency: 0" => "\nResidency: 0",
            "Latency: 1" => "\nResidency: 1",
            "Latency: 127" => "\nResidency: 381",
            "Latency: 1048" => "\nResidency: 3144",
            _ => "",
        };
        format!("{l}{residency}\r")
    });
    case.says("diff newer.txt", &right);
    case.says("platform show newer.txt", &["2 C2_ACPI 127 us 0 ns 381 us", "3 C3_ACPI 1.05 ms 0 ns 3.14 ms"]);
    let one = case.text("idle-info.txt");
    let states = one.split_once("analyzing CPU 0:").unwrap().1;
    case.put("two.txt", format!("{one}\nanalyzing CPU 1:{states}"));
    case.says("diff two.txt", &["2 CPUs", "190000 326.000", "334000 4320.000"]);
}

#[test]
fn counters_with_line_numbers() {
    let Some(case) = Case::of("diff-line-numbers") else { return };
    let right = ["0 POLL 9000 0.900 10.00 0.00 10.00", "3 C3 9000 3.600 40.00 30.00 10.00", "all 36000"];
    case.says("diff dump.txt", &right);
    // Printed by `grep` without -n; then quoted, with the whole path.
    case.lines("plain.txt", "dump.txt", |l| l.replacen(":1:", ":", 1));
    case.says("diff plain.txt", &right);
    let whole = |l: &str| format!("> {}", l.replacen("./", "/sys/devices/system/cpu/cpu3/cpuidle/", 1));
    case.lines("whole.txt", "dump.txt", whole);
    case.says("diff whole.txt", &right);
    // A file of several lines, as `cat -n` of what was saved numbers it.
    let text = case.text("plain.txt");
    let numbered: String = text.lines().enumerate().map(|(n, l)| format!("{}:{l}\n", n + 1)).collect();
    case.put("numbered.txt", numbered);
    case.says("diff numbered.txt", &right);
}

#[test]
fn counters_that_a_dump_lacks() {
    let Some(case) = Case::of("diff-missing-counters") else { return };
    case.says(
        "diff above-below.txt",
        &[
            "does not have usage, time, rejected",
            "4 state4 ? ? ? 1284 321",
            "all ? ? ? 3210 1605",
            "as counts",
        ],
    );
    case.says("diff usage-before.txt usage-after.txt", &["0 state0 1500 ? ? ? ?", "all 7500 ? ? ? ?"]);
    // Time alone; usage in one of two dumps.
    case.lines("time.txt", "usage-after.txt", |l| l.replace("usage", "time"));
    case.says("diff time.txt", &["does not have usage, above, below", "0 state0 ? 0.003 20.00 ? ?"]);
    let (before, after) = (case.text("usage-before.txt"), case.text("time.txt"));
    case.put("both.txt", format!("{before}{}", before.replace("usage", "time")));
    case.put("later.txt", after);
    case.says("diff both.txt later.txt", &["0 state0 ? 0.002", "all ? 0.007 100.00"]);
    // A zero that is there is one.
    case.lines("zero.txt", "usage-after.txt", |l| format!("{}:0", l.rsplit_once(':').unwrap().0));
    case.says("diff zero.txt", &["all 0 ? ? ? ?"]);
}

#[test]
fn a_damaged_line() {
    let Some(case) = Case::of("diff-one-damaged-line") else { return };
    let right = ["0 WFI 5000 0.500 33.33 0.00 10.00", "all 10000 1.500 100.00 5.00 10.00"];
    case.says("diff dump.txt", &[&right[..], &["dump.txt:24:", "left out"]].concat());
    // An unknown attribute; then a counter that is needed: `?`, not 0.
    case.put("odd.txt", case.text("dump.txt").replace("s2idle/usage", "s2idle/colour"));
    case.says("diff odd.txt", &right);
    case.lines("needed.txt", "dump.txt", |l| {
        if l.contains("state1/usage: 5000") { l.replace("5000", "5o00") } else { l.to_owned() }
    });
    case.says("diff needed.txt", &["needed.txt:22:", "1 cpu-sleep ?", "no: all 10000", "no: all 5000"]);
}

#[test]
fn a_state_has_its_own_number() {
    let Some(case) = Case::of("diff-state-number") else { return };
    case.says("diff state3.txt", &["3 C3 9000 3.600 100.00 30.00 10.00", "does not have states 0, 1, 2"]);
    let of = |n: u32| case.text("state3.txt").replace("state3", &format!("state{n}"));
    case.put("two.txt", of(1).replace(":C3", ":C1") + &of(3));
    case.says("diff two.txt", &["1 C1 9000", "3 C3 9000", "does not have states 0, 2"]);
    case.put("swapped.txt", of(9) + &of(2).replace(":C3", ":C2"));
    case.says("diff swapped.txt", &["2 C2 9000", "9 C3 9000"]);
    case.says("diff --format json state3.txt", &[r#""state": 3, "name": "C3""#]);
    case.says("diff --format csv state3.txt", &[",3,C3,"]);
}

#[test]
fn counters_of_two_kernels() {
    let Some(case) = Case::of("diff-two-kernels") else { return };
    let runs = "two runs, B against A";
    let right = [runs, "2 C2_ACPI (127/381 us)", "3 C6 (220/600 us)", "0 POLL % of usage 25.00 25.00"];
    case.says("diff acpi_idle.txt intel_idle.txt", &right);
    case.says("diff intel_idle.txt acpi_idle.txt", &[runs, "only in A: 1 C1 (1/1 us)"]);
    // The same names with other latencies; the same table with another driver.
    let acpi = case.text("acpi_idle.txt");
    case.put("later.txt", case.text("intel_idle.txt"));
    let latency =
        |l: &str| if l.contains("state2/latency") { l.replace(":127", ":90") } else { l.to_owned() };
    let counted = |l: &str| {
        let (key, value) = l.rsplit_once(':').unwrap();
        let more = ["usage", "time", "above", "below"].iter().any(|c| key.ends_with(c));
        if more { format!("{key}:{}", value.parse::<u64>().unwrap() * 3) } else { l.to_owned() }
    };
    case.lines("other.txt", "acpi_idle.txt", |l| counted(&latency(l)));
    case.says("diff acpi_idle.txt other.txt", &[runs, "2 C2_ACPI (127/381 us)", "2 C2_ACPI (90/381 us)"]);
    case.lines("same.txt", "acpi_idle.txt", counted);
    case.says("diff acpi_idle.txt same.txt", &["one snapshot each", "all 160000"]);
    let driver = |name: &str| format!("/sys/devices/system/cpu/cpuidle/current_driver:{name}\n");
    case.put("first.txt", driver("acpi_idle") + &acpi);
    case.put("second.txt", driver("intel_idle") + &case.text("same.txt"));
    case.says("diff first.txt second.txt", &[runs]);
}

#[test]
fn dumps_of_several_folders() {
    let Some(case) = Case::of("diff-two-runs-by-folder") else { return };
    let right = ["two snapshots", "0 POLL 6000 0.600", "all 30000 9.000"];
    case.says("diff dumps.txt", &[&right[..], &["vanilla/iter-0 to vanilla/iter-1"]].concat());
    // Folders that mean something else; in another order than their numbers; without folders.
    let dumps = case.text("dumps.txt");
    case.put("named.txt", dumps.replace("./vanilla/iter-0", "host-a").replace("./vanilla/iter-1", "host-b"));
    case.says("diff named.txt", &["host-a", "host-b", "no: all 60000"]);
    let (first, second): (Vec<&str>, Vec<&str>) = dumps.lines().partition(|l| l.contains("iter-0"));
    case.put("sorted.txt", [second.clone(), first.clone()].concat().join("\n"));
    case.says("diff sorted.txt", &right);
    let bare = |lines: &[&str]| {
        lines
            .iter()
            .map(|l| l.split_once("/sys").unwrap().1)
            .fold(String::new(), |out, l| out + "/sys" + l + "\n")
    };
    case.put("bare.txt", bare(&first) + &bare(&second));
    case.says("diff bare.txt", &right);
}

// ---- Text of traces.

#[test]
fn ftrace_text_in_json() {
    let Some(case) = Case::of("ftrace-text-inside-json") else { return };
    let right = ["4 events", "power:cpu_idle 4 100.0", "0 4 2 2 0"];
    case.says("info trace.json", &right);
    case.put("blank.json", format!("\n  {}", case.text("trace.json")));
    case.says("info blank.json", &right);
    let json: serde_json::Value = serde_json::from_str(&case.text("trace.json")).unwrap();
    case.put("pretty.json", serde_json::to_string_pretty(&json).unwrap());
    case.says("info pretty.json", &right);
    // With events of a browser before it.
    case.put("more.json", case.text("trace.json").replacen("[]", r#"[{"ph":"X","name":"a\nb","ts":1}]"#, 1));
    case.says("info more.json", &right);
    // None at all.
    case.put("none.json", r#"{"traceEvents": [{"ph":"X","name":"a","ts":1}]}"#);
    let none = case.run("info none.json");
    assert_eq!(none.status.code(), Some(2));
    assert!(one_line(&none.stderr).contains("systemTraceEvents"), "{}", one_line(&none.stderr));
}

#[test]
fn idle_states_of_a_device_tree() {
    let Some(case) = Case::of("idle-states-of-a-device-tree") else { return };
    let right = ["0 WFI 1.00 us", "1 cpu-retention 195 us 55.0 us 780 us", "timer-stop"];
    case.says("platform show board.dts", &[&right[..], &["CPUs 0-1"]].concat());
    // A fragment; decimal numbers, comments and a label elsewhere; wakeup-latency-us in place of both.
    let tree = case.text("board.dts");
    let states: Vec<&str> = tree.lines().filter(|l| !l.contains("cpu@")).collect();
    case.put("states.dtsi", states.join("\n"));
    case.says("platform show states.dtsi", &right[1..]);
    case.lines("spelled.dts", "board.dts", |l| {
        l.replace("<55>", "<0x37> /* 55 */").replace("local-timer-stop;", "local-timer-stop; // stops")
    });
    case.says("platform show spelled.dts", &right);
    let entry = |l: &str| !l.contains("entry-latency-us");
    let short: Vec<&str> = tree.lines().filter(|l| entry(l)).collect();
    case.put("wakeup.dts", short.join("\n").replace("exit-latency-us = <140>", "wakeup-latency-us = <300>"));
    case.says("platform show wakeup.dts", &["1 cpu-retention 300 us", "780 us"]);
}

#[test]
fn lines_without_a_task() {
    let Some(case) = Case::of("lines-that-begin-with-a-bracket") else { return };
    let events = ["6 events", "power:cpu_idle 2", "ipi:ipi_raise 1", "7 4 1 1"];
    case.says("info trace.txt", &events);
    let doomed = ["1 of 1 idle entry (100.00 %)", "46.0 us"];
    let score = |file: &str| case.says(&format!("score {file} --recorded-on ice-lake-sp -v"), &doomed);
    score("trace.txt");
    case.lines("tasks.txt", "trace.txt", |l| format!("<idle>-0 {l}"));
    score("tasks.txt");
    case.lines("quoted.txt", "trace.txt", |l| format!("> > {}\r", l.trim_start()));
    case.says("info quoted.txt", &events);
    score("quoted.txt");
    case.lines("numbered.txt", "trace.txt", |l| format!("17:{l}"));
    score("numbered.txt");
}

#[test]
fn lines_that_a_mail_program_wrapped() {
    let Some(case) = Case::of("lines-wrapped-by-mail") else { return };
    let right = ["all 2 50.00 0.00", "all 2 C1E 2 0.001 s 100.00 1 0", "2 of 2 misses", "differ on 2"];
    let score = |file: &str| case.says(&format!("score {file} --recorded-on ice-lake-sp -v"), &right[..2]);
    case.says("score trace.txt --recorded-on ice-lake-sp", &right[2..3]);
    score("trace.txt");
    let whole = case.text("trace.txt").replace(" \n", " ");
    case.put("whole.txt", &whole);
    score("whole.txt");
    for (file, at) in [("early.txt", 30), ("middle.txt", 45), ("late.txt", 52)] {
        case.lines(file, "whole.txt", |l| mailed(l, at));
        score(file);
    }
    // A timer's function on a line of its own.
    let ticks = Case::of("ticks-only-expiries").unwrap();
    ticks.put("wrapped.txt", ticks.text("trace.txt").replace(" function=", " \nfunction="));
    ticks.says("replay wrapped.txt --recorded-on rk3399 -g menu -v", &["tick grid: recorded (HZ 250"]);
}

#[test]
fn a_tick_that_a_task_left_stopped() {
    let Some(case) = Case::of("nohz-full-tick") else { return };
    let wakeups = |file: &str, wakeups: &str, tick: &str| {
        let command = format!("replay {file} --recorded-on skylake-sp -g menu,teo -v");
        case.says(&command, &[&format!("wakeups {wakeups} "), &format!("tick wakes {tick} ")]);
    };
    wakeups("trace.txt", "40", "0");
    // Started again before the first idle period.
    let trace = case.text("trace.txt");
    let mut after_stop = trace.lines().skip_while(|l| !l.contains("tick_stop"));
    let moved = after_stop.nth(1).unwrap();
    let again = moved.replace("100.040102", "100.040150").replace("=200000000000", "=100044000000");
    case.put("again.txt", trace.replacen(moved, &format!("{moved}\n{again}"), 1));
    wakeups("again.txt", "53", "14");
    // The tick's timer is not recorded, only that it was stopped.
    let kept: Vec<&str> =
        trace.lines().filter(|l| !(l.contains("hrtimer_start") && l.contains("tick_"))).collect();
    case.put("unarmed.txt", kept.join("\n"));
    wakeups("unarmed.txt", "40", "0");
    // Nothing says so but where its timer is armed.
    let moved: Vec<&str> = trace.lines().filter(|l| !l.contains("tick_stop")).collect();
    case.put("moved.txt", moved.join("\n"));
    wakeups("moved.txt", "40", "0");
}

#[test]
fn counters_of_a_perfetto_trace() {
    let Some(case) = Case::of("perfetto-cpuidle-counters") else { return };
    case.says("info trace.pftrace", &["sys_stats", "3 samples", "idlewise diff"]);
    case.says("diff trace.pftrace", &["C1 ? 0.040", "C8 ? 1.800", "C1 ? 0.080", "C8 ? 1.700"]);
    // Cut off within the last packet; one packet alone.
    let path = case.0.path().join("trace.pftrace");
    let bytes = fs::read(&path).unwrap();
    case.put("cut.pftrace", &bytes[..bytes.len() - 5]);
    case.says("diff cut.pftrace", &["C1 ? 0.040", "C8 ? 1.800", "no: C1 ? 0.080"]);
    let packet = usize::from(bytes[1]) + 2;
    case.put("one.pftrace", &bytes[..packet]);
    case.says("diff one.pftrace", &["since boot", "C8"]);
}

#[test]
fn pointers_that_a_kernel_does_not_print() {
    let Some(case) = Case::of("pointers-of-32-bit-kernels") else { return };
    let grid = |file: &str| {
        let command = format!("replay {file} --recorded-on skylake -g menu -v");
        case.says(&command, &["tick grid: recorded (HZ 250"]);
    };
    let events = ["36 events", "timer:hrtimer_expire_entry 12", "timer:hrtimer_start 12"];
    case.says("info trace.txt", &events);
    grid("trace.txt");
    for (file, pointer) in
        [("long.txt", "(____ptrval____)"), ("null.txt", "(null)"), ("number.txt", "c1aab004")]
    {
        case.put(file, case.text("trace.txt").replace("(ptrval)", pointer));
        case.says(&format!("info {file}"), &events);
        grid(file);
    }
}

#[test]
fn time_in_suspend_is_nobodys() {
    let Some(case) = Case::of("suspend-is-not-idle") else { return };
    let replay = |file: &str| format!("replay {file} --recorded-on pixel6 -g menu,shallow,oracle");
    let right = [
        "599.990 s in suspend",
        "no governor chooses there",
        "(0.269 s, 1 CPU)",
        "only 40 wakeups",
        "(+0.57 mW/CPU)",
    ];
    case.says(&replay("trace.txt"), &right);
    // To RAM, and with the steps in other words; the events of a device that suspends between.
    let trace = case.text("trace.txt");
    case.put("ram.txt", trace.replace("machine_suspend[1]", "machine_suspend[3]"));
    case.says(&replay("ram.txt"), &right);
    case.lines("fields.txt", "trace.txt", |l| {
        let Some((head, step)) = l.split_once("suspend_resume: ") else { return l.to_owned() };
        let (name, rest) = step.split_once('[').unwrap();
        let (value, rest) = rest.split_once(']').unwrap();
        let start = u32::from(rest.trim() == "begin");
        format!("{head}suspend_resume: action={name} val={value} start={start}")
    });
    case.says(&replay("fields.txt"), &right);
    // The task that suspends the machine has the CPU all the time: it did not run for ten minutes.
    let (mut steps, mut busy) = (0, Vec::new());
    for line in trace.lines() {
        steps += usize::from(line.contains("suspend_resume"));
        if !(1..6).contains(&steps) || !line.contains("sched_switch") {
            busy.push(line.replace(
                "        <idle>-0     [000] d..1   700.1",
                "          sh-300     [000] d..1   700.1",
            ));
        }
    }
    case.put("busy.txt", busy.join("\n"));
    case.says(&replay("busy.txt"), &["(0.2", "no: (600"]);
    // Nothing tells it: then that is said.
    let silent: Vec<&str> = trace.lines().filter(|l| !l.contains("suspend_resume")).collect();
    case.put("silent.txt", silent.join("\n"));
    case.says(&replay("silent.txt"), &["one idle period of 599.990 s", "of the CPU's idle time"]);
}

#[test]
fn ticks_are_known_by_what_they_run() {
    let Some(case) = Case::of("ticks-only-expiries") else { return };
    let grid = |file: &str, hz: u32| {
        for machine in ["skylake", "rk3399"] {
            let command = format!("replay {file} --recorded-on {machine} -g menu,teo -v");
            case.says(&command, &[&format!("tick grid: recorded (HZ {hz}"), "no: shows no ticks"]);
        }
    };
    grid("trace.txt", 250);
    case.put("older.txt", case.text("trace.txt").replace("tick_nohz_handler", "tick_sched_timer"));
    grid("older.txt", 250);
    case.put(
        "module.txt",
        case.text("trace.txt").replace("tick_nohz_handler", "tick_nohz_handler+0x0/0x190"),
    );
    grid("module.txt", 250);
    // Every third one is missing.
    let mut n = 0;
    let trace = case.text("trace.txt");
    let gaps: Vec<&str> = trace
        .lines()
        .filter(|l| {
            n += usize::from(l.contains("hrtimer_expire_entry"));
            !l.contains("hrtimer_expire_entry") || n % 3 > 0
        })
        .collect();
    case.put("gaps.txt", gaps.join("\n"));
    grid("gaps.txt", 250);
}

#[test]
fn lines_of_the_wakeup_tracer() {
    let Some(case) = Case::of("wakeup-tracer-lines") else { return };
    let right = ["7 events", "power:cpu_idle 4", "sched:sched_wakeup 2", "sched:sched_switch 1", "no: 94 "];
    case.says("info trace.txt", &right);
    case.put("other.txt", case.text("trace.txt").replace("wakeup_rt", "wakeup_dl"));
    case.says("info other.txt", &right);
    case.lines("quoted.txt", "trace.txt", |l| format!("> {l}"));
    case.says("info quoted.txt", &right);
    // The tracer's own two lines, without the events.
    case.put("own.txt", case.text("trace.txt").replace("cpu_idle: ", "# "));
    let own = case.run("info own.txt");
    assert!(!one_line(&own.stdout).contains("94:"), "{}", one_line(&own.stdout));
}

// ---- Too few.

#[test]
fn a_mean_of_one_wakeup() {
    let Some(case) = Case::of("simulate-one-wakeup") else { return };
    let simulate = |file: &str, more: &str| format!("simulate {file} -p rk3399 -g menu,teo {more}");
    let right = ["trust: poor (task a: only 1 wakeup in each run"];
    case.says(&simulate("load.json", "-s 4 -r 2"), &[right[0], "?"]);
    case.says(&simulate("load.json", "-s 4 -r 1"), &["trust: poor", "only 1 wakeup"]);
    // A task of another name; then one that wakes often.
    case.put("named.json", case.text("load.json").replace("\"a\"", "\"render\""));
    case.says(&simulate("named.json", "-s 4 -r 2"), &["task render: only 1 wakeup in each run"]);
    case.put("often.json", r#"{"tasks": {"a": {"cpus": [2], "run": 100, "timer": {"ref": "t", "period": 10000}}}, "global": {"calibration": 156, "duration": 4}}"#);
    case.says(&simulate("often.json", "-s 4 -r 2"), &["no: only 1 wakeup", "trust: fair"]);
}
