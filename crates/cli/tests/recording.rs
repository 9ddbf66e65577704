// SPDX-License-Identifier: GPL-2.0-only
//! Does `idlewise record` tell what the running kernel counted, and leave the machine as it was, also when it is killed?
//! Needs root and a tracing file system; says so where it has none of them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![allow(clippy::print_stdout, reason = "tests say what they skip and what they saw")]
#![allow(clippy::disallowed_methods, reason = "how long a real machine takes is what is asked")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use idlewise_live::tracefs::Tracefs;
use idlewise_live::{Host, Journal};

const SLEEPS: &str =
    "end=$(($(date +%s%N) + 1000000000)); while [ $(date +%s%N) -lt $end ]; do sleep 0.004; done";

/// One recording at a time; other programs that change the machine are waited for.
static MACHINE: Mutex<()> = Mutex::new(());

fn host() -> Host {
    Host::below(Path::new("/"))
}

/// Whether this machine can be recorded here.
fn can_record() -> bool {
    let why = match Tracefs::of(&host()) {
        Err(e) => e.to_string(),
        Ok(_) if !host().tracefs().join("instances").is_dir() => "no trace instances".to_owned(),
        Ok(_) => return true,
    };
    println!("skipped: {why}");
    false
}

fn idlewise() -> Command {
    Command::new(env!("CARGO_BIN_EXE_idlewise"))
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until nobody else changes the machine, and lets it go again.
fn wait_for_others() {
    let end = Instant::now() + Duration::from_secs(60);
    while Journal::open_guarded_by(&host(), None).is_err() && Instant::now() < end {
        sleep(Duration::from_millis(200));
    }
}

fn record(args: &[&str]) -> Output {
    for _ in 0..20 {
        wait_for_others();
        let output = idlewise().arg("record").args(args).output().unwrap();
        if !words(&output.stderr).contains("another session") {
            return output;
        }
    }
    unreachable!("somebody else has changed the machine for minutes")
}

fn instances() -> Vec<String> {
    let list = fs::read_dir(host().tracefs().join("instances")).unwrap();
    let names = list.map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|n| n.starts_with("idlewise-")).collect()
}

/// What a recording must not change.
fn machine() -> Vec<(PathBuf, Option<String>)> {
    let (tracing, idle) = (host().tracefs(), host().sys.join("devices/system/cpu/cpuidle"));
    let files =
        ["tracing_on", "current_tracer", "trace_clock", "buffer_size_kb", "set_event", "events/enable"];
    let mut all: Vec<PathBuf> = files.iter().map(|f| tracing.join(f)).collect();
    all.push(idle.join("current_governor"));
    all.into_iter().map(|p| (p.clone(), fs::read_to_string(p).ok())).collect()
}

#[test]
fn a_second_of_sleeps_is_what_the_kernel_counted() {
    let _one = MACHINE.lock();
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sleeps.dat");
    wait_for_others();
    let before = machine();
    let output =
        record(&["-o", path.to_str().unwrap(), "--", "sh", "-c", &format!("echo heard; {SLEEPS}; exit 3")]);
    let said = words(&output.stderr);
    println!("{said}");
    assert_eq!((output.status.code(), words(&output.stdout).as_str()), (Some(3), "heard\n"), "{said}");
    assert_eq!(instances(), [""; 0]);
    assert_eq!(machine(), before);
    assert!(!folder.path().join("sleeps.dat.parts").exists());
    assert!(said.contains("none lost"), "{said}");
    if !said.contains("usable: ") || said.contains("CPU 0     not usable") {
        println!("not compared: the machine was never idle");
        return;
    }
    assert!(said.contains("as the kernel counted"), "{said}");
    for (command, wanted) in
        [("score", "usage, above, below and rejected are the trace's"), ("replay", "fidelity")]
    {
        let output = idlewise().arg(command).arg(&path).output().unwrap();
        let text = words(&output.stdout);
        assert!(
            output.status.success() && text.contains(wanted),
            "{command}: {text}{}",
            words(&output.stderr)
        );
    }
    // It is not overwritten, unless one wants to.
    let again = record(&["-o", path.to_str().unwrap(), "-s", "0.1"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(words(&again.stderr).contains("sleeps.dat: exists"));
    let again = record(&["-o", path.to_str().unwrap(), "-s", "0.1", "--force"]);
    assert_eq!(again.status.code(), Some(0), "{}", words(&again.stderr));
}

#[test]
fn what_recording_costs_can_be_measured_with_the_inputs_and_without() {
    let _one = MACHINE.lock();
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cost.dat");
    let before = machine();
    for inputs in [None, Some("--inputs")] {
        let common = ["--overhead", "2", "-o", path.to_str().unwrap()];
        let command = ["--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.002; done"];
        let args: Vec<&str> = common.into_iter().chain(inputs).chain(command).collect();
        let output = record(&args);
        let said = words(&output.stderr);
        if inputs.is_some() && !output.status.success() {
            assert!(["bpf(2)", "BTF", "inputs cannot"].iter().any(|w| said.contains(w)), "{said}");
            println!("skipped: {said}");
            continue;
        }
        assert!(output.status.success() && said.contains("runs      8, in blocks of four"), "{said}");
        assert_eq!((instances().len(), machine() == before), (0, true), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing of it is kept");
    }
}

#[test]
fn with_its_inputs_every_choice_is_proved() {
    let _one = MACHINE.lock();
    if !can_record() {
        return;
    }
    const ENOUGH: u64 = 300;
    let sleeps = SLEEPS.replace("1000000000", "2000000000");
    wait_for_others();
    let before = machine();
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let [path, json] = ["sleeps.dat", "report.json"].map(|name| folder.path().join(name));
        let (to, report) = (path.to_str().unwrap(), json.to_str().unwrap());
        let output = record(&["--inputs", "--json", report, "-o", to, "--", "sh", "-c", &sleeps]);
        let said = words(&output.stderr);
        if !output.status.success() && ["bpf(2)", "BTF", "inputs cannot"].iter().any(|w| said.contains(w)) {
            println!("skipped: {said}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");
            return;
        }
        assert!(output.status.success(), "{said}");
        assert!(said.contains("inputs    sleeps.inputs.csv: "), "{said}");
        assert_eq!((instances(), machine()), (vec![], before.clone()));
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let inputs = &report["inputs"];
        let decided = inputs["counts"]["entered"].as_u64().unwrap();
        if decided < ENOUGH || inputs["unproven"].is_string() || inputs["counts"]["dropped"] != 0 {
            println!("once more: {decided} decisions; {inputs}");
            continue;
        }
        let output = idlewise().args(["replay", "--governor", "shallow"]).arg(&path).output().unwrap();
        let text = words(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let proved = text.split_once("makes the kernel's choices: ").map(|(_, rest)| rest);
        let Some(proved) = proved.filter(|rest| !rest.starts_with("0 of")) else {
            println!(
                "not judged: no CPU can be replayed, or no such governor here: {text}{}",
                words(&output.stderr)
            );
            return;
        };
        println!("{decided} decisions: {}", proved.split(')').next().unwrap());
        assert!(output.status.success(), "{text}{}", words(&output.stderr));
        assert!(text.starts_with("parity ") && proved.contains("(100.00 %)"), "{text}");
        return;
    }
    println!("not judged: the machine was too busy to be idle {ENOUGH} times in 2 s");
}

#[test]
fn trace_cmd_sees_the_same_events() {
    let _one = MACHINE.lock();
    if !can_record() {
        return;
    }
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped: no trace-cmd");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for form in [&["--plain"][..], &[]] {
        let path = folder.path().join(format!("{}.dat", form.len()));
        let output = record(&[&["-s", "0.5", "-o", path.to_str().unwrap()], form].concat());
        assert!(output.status.success(), "{}", words(&output.stderr));
        let report = Command::new("trace-cmd").arg("report").arg(&path).output().unwrap();
        assert_eq!(words(&report.stderr), "");
        let lines = words(&report.stdout).lines().filter(|l| l.starts_with(' ')).count();
        assert!(lines > 0);
        let said = words(&output.stderr);
        assert!(said.contains(&format!(" {lines} events")), "trace-cmd: {lines} events; {said}");
    }
}

#[test]
fn a_small_buffer_is_emptied_while_it_fills() {
    let _one = MACHINE.lock();
    if !can_record() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.dat");
    let this = env!("CARGO_BIN_EXE_idlewise");
    // Four bursts, of which the buffers hold one and a half.
    let bursts = format!("for i in 1 2 3 4; do {this} record --play-messages; sleep 0.3; done");
    let output = record(&["-b", "16", "-o", path.to_str().unwrap(), "--", "sh", "-c", &bursts]);
    let said = words(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}");
    let (before, _) = said.split_once(" events").unwrap();
    let events: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let cpus = fs::read_dir(host().tracefs().join("per_cpu")).unwrap().count() as u64;
    // Switches and wakeups take more than 30 bytes.
    assert!(events > cpus * (16 << 20) / 30, "{events} events may have fitted into the buffers");
    assert!(said.contains("none lost"), "{said}");
}

/// `IDLEWISE_KILLS` tells how many.
#[test]
fn killed_at_any_moment_it_leaves_nothing_behind() {
    let _one = MACHINE.lock();
    if !can_record() {
        return;
    }
    let kills = std::env::var("IDLEWISE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.dat");
    let arguments = ["record", "--force", "-s", "0.2", "-o", path.to_str().unwrap()];
    wait_for_others();
    let before = machine();
    let start = Instant::now();
    assert!(record(arguments.get(1..).unwrap()).status.success());
    let whole = start.elapsed();
    let (mut slowest, mut found) = (Duration::ZERO, 0);
    for n in 0u32..kills {
        wait_for_others();
        let mut child = idlewise().args(arguments).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the whole run, in steps that never meet it in the same place twice.
        let part = (f64::from(n) * 0.618_033_988_749_895).fract();
        sleep(whole.mul_f64(part));
        let made = instances().contains(&format!("idlewise-{}", child.id()));
        found += u32::from(made);
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        while !instances().is_empty() {
            assert!(killed.elapsed() < Duration::from_secs(5), "kill {n}: {:?} stay", instances());
            sleep(Duration::from_millis(2));
        }
        slowest = slowest.max(if made { killed.elapsed() } else { Duration::ZERO });
        assert_eq!(machine(), before, "kill {n}");
    }
    println!("{kills} kills, {found} with an instance in place; the last one was gone after {slowest:?}");
    assert!(found > 0);
    // The next one begins as if nothing had been.
    let output = record(arguments.get(1..).unwrap());
    assert!(output.status.success(), "{}", words(&output.stderr));
}

#[test]
fn without_root_it_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = idlewise();
    command.args(["record", "-o"]).arg(folder.path().join("x.dat"));
    if Tracefs::of(&host()).is_ok() {
        command.uid(65534);
    }
    let Ok(output) = command.output() else {
        println!("skipped: nobody else may run the program here");
        return;
    };
    let said = words(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        ["needs root", "no tracing file system", "even for root"].iter().any(|w| said.contains(w)),
        "{said}"
    );
    assert!(said.contains("can be replayed without it"), "{said}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
