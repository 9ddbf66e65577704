// SPDX-License-Identifier: GPL-2.0-only
//! Does `idlewise record` tell what the running kernel counted, and leave the machine as it was, also when it is killed?
//! On a machine made of files, and on the real kernel where this test may trace it.

#![allow(clippy::disallowed_methods, reason = "how long a real machine takes is what is asked")]

use crate::common;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::killed::{guard_of, kill};
use crate::schemas::fits;
use common::{Machine, Need, idlewise, on_every_machine, words};
use idlewise_live::Host;
use idlewise_live::tracefs::Tracefs;

const SLEEPS: &str =
    "end=$(($(date +%s%N) + 1000000000)); while [ $(date +%s%N) -lt $end ]; do sleep 0.004; done";

fn record(machine: &Machine, args: &[&str]) -> Output {
    for _ in 0..20 {
        machine.wait_for_others();
        let output = machine.idlewise("record").args(args).output().unwrap();
        if !words(&output.stderr).contains("another session") {
            return output;
        }
    }
    unreachable!("somebody else has changed the machine for minutes")
}

#[test]
fn a_second_of_sleeps_is_what_the_kernel_counted() {
    on_every_machine(&[Need::Tracing], a_second_of_sleeps);
}

fn a_second_of_sleeps(machine: &Machine) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sleeps.dat");
    machine.wait_for_others();
    let before = machine.state();
    let reports = tempfile::tempdir().unwrap();
    let report = reports.path().join("report.json");
    let command = format!("echo heard; {SLEEPS}; exit 3");
    let (to, json) = (path.to_str().unwrap(), report.to_str().unwrap());
    let output = record(machine, &["-o", to, "--json", json, "--", "sh", "-c", &command]);
    let said = words(&output.stderr);
    println!("{said}");
    assert_eq!((output.status.code(), words(&output.stdout).as_str()), (Some(3), "heard\n"), "{said}");
    fits(&serde_json::from_slice(&fs::read(&report).unwrap()).unwrap());
    assert_eq!(machine.instances(), [""; 0]);
    assert_eq!(machine.state(), before);
    assert!(!folder.path().join("sleeps.dat.parts").exists());
    assert!(said.contains("none lost"), "{said}");
    // It is one file.
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["sleeps.dat"]);
    // It is not overwritten, unless one wants to.
    let again = record(machine, &["-o", path.to_str().unwrap(), "-s", "0.1"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(words(&again.stderr).contains("sleeps.dat: exists"));
    let other = folder.path().join("other.dat");
    for _ in 0..2 {
        let forced = record(machine, &["-o", other.to_str().unwrap(), "-s", "0.1", "--force"]);
        assert_eq!(forced.status.code(), Some(0), "{}", words(&forced.stderr));
    }
    // Nor is one written that a side-car would speak for.
    let beside = other.with_extension("toml");
    fs::write(&beside, "platform = \"pixel6\"\n").unwrap();
    let another = other.with_extension("data").display().to_string();
    let refused = record(machine, &["-o", &another, "-s", "0.1"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(words(&refused.stderr).contains("would describe the new recording"));
    let forced = record(machine, &["-o", &another, "-s", "0.1", "--force"]);
    assert_eq!((forced.status.code(), beside.exists()), (Some(0), false), "{}", words(&forced.stderr));
    if let Some(files) = machine.files() {
        assert!(said.contains(&format!(" {} events", files.events())), "{said}");
        return;
    }
    if !said.contains("usable: ") || said.contains("CPU 0     not usable") {
        println!(
            "skipped: a recording beside the kernel's counters: CPU 0 was never idle, or tracing hides it"
        );
        return;
    }
    assert!(said.contains("as the kernel counted"), "{said}");
    // Wherever it is copied, it knows its machine; and trace-cmd reads it.
    let elsewhere = tempfile::tempdir().unwrap();
    let path = {
        let copy = elsewhere.path().join("copy.dat");
        fs::copy(&path, &copy).unwrap();
        copy
    };
    if let Ok(output) = Command::new("trace-cmd").arg("report").arg("-i").arg(&path).output() {
        let said = words(&output.stderr);
        assert!(output.status.success() && !said.contains("option"), "{said}");
        assert!(words(&output.stdout).contains("cpu_idle"));
    }
    for (command, wanted) in
        [("score", "usage, above, below and rejected are those of the trace"), ("replay", "fidelity")]
    {
        let output = idlewise().arg(command).arg("-v").arg(&path).output().unwrap();
        let text = words(&output.stdout);
        assert!(
            output.status.success() && text.contains(wanted),
            "{command}: {text}{}",
            words(&output.stderr)
        );
    }
}

#[test]
fn what_recording_costs_can_be_measured_with_the_inputs_and_without() {
    on_every_machine(&[Need::Tracing], costs);
}

fn costs(machine: &Machine) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cost.dat");
    let before = machine.state();
    // BPF programs are the running kernel's only.
    for inputs in [None, Some("--inputs")].into_iter().take(if machine.is_this() { 2 } else { 1 }) {
        let common = ["--overhead", "2", "-o", path.to_str().unwrap()];
        let command = ["--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do sleep 0.002; done"];
        let args: Vec<&str> = common.into_iter().chain(inputs).chain(command).collect();
        let output = record(machine, &args);
        let said = words(&output.stderr);
        if inputs.is_some() && !output.status.success() {
            assert!(
                ["bpf(2)", "BTF", "inputs cannot", "no CPU has idle states"].iter().any(|w| said.contains(w)),
                "{said}"
            );
            println!("skipped: the governor's inputs by BPF: {}", said.trim());
            continue;
        }
        assert!(output.status.success() && said.contains("runs      8, in blocks of four"), "{said}");
        assert_eq!((machine.instances().len(), machine.state() == before), (0, true), "{said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing of it is kept");
    }
}

#[test]
fn on_a_quiet_machine_every_choice_is_proved_by_its_inputs() {
    let Some(machine) = Machine::this(&[Need::Tracing]) else { return };
    let machine = &machine;
    const ENOUGH: u64 = 300;
    let sleeps = SLEEPS.replace("1000000000", "2000000000");
    machine.wait_for_others();
    let before = machine.state();
    for _ in 0..3 {
        let folder = tempfile::tempdir().unwrap();
        let [path, json] = ["sleeps.dat", "report.json"].map(|name| folder.path().join(name));
        let (to, report) = (path.to_str().unwrap(), json.to_str().unwrap());
        let output = record(machine, &["--inputs", "--json", report, "-o", to, "--", "sh", "-c", &sleeps]);
        let said = words(&output.stderr);
        if !output.status.success()
            && ["bpf(2)", "BTF", "inputs cannot", "no CPU has idle states"].iter().any(|w| said.contains(w))
        {
            println!("skipped: the governor's inputs by BPF: {}", said.trim());
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");
            return;
        }
        assert!(output.status.success(), "{said}");
        assert!(said.contains("inputs    sleeps.inputs.csv: "), "{said}");
        assert_eq!((machine.instances(), machine.state()), (vec![], before.clone()));
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        fits(&report);
        let inputs = &report["inputs"];
        let decided = inputs["counts"]["entered"].as_u64().unwrap();
        if decided < ENOUGH || inputs["unproven"].is_string() || inputs["counts"]["dropped"] != 0 {
            println!("once more: {decided} decisions; {inputs}");
            continue;
        }
        let output = idlewise().args(["replay", "-v", "--governor", "shallow"]).arg(&path).output().unwrap();
        let text = words(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let proved = text.split_once("makes the kernel's choices: ").map(|(_, rest)| rest);
        let Some(proved) = proved.filter(|rest| !rest.starts_with("0 of")) else {
            println!(
                "skipped: the proof of this kernel's choices: no CPU can be replayed, or no such governor here: {text}{}",
                words(&output.stderr)
            );
            return;
        };
        println!("{decided} decisions: {}", proved.split(')').next().unwrap());
        assert!(output.status.success(), "{text}{}", words(&output.stderr));
        assert!(text.starts_with("parity ") && proved.contains("(100.00 %)"), "{text}");
        return;
    }
    println!("skipped: the proof of this kernel's choices: it was too busy to be idle {ENOUGH} times in 2 s");
}

#[test]
fn trace_cmd_sees_the_same_events() {
    on_every_machine(&[Need::Tracing], as_trace_cmd);
}

fn as_trace_cmd(machine: &Machine) {
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped: recordings read by trace-cmd: it is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for form in [&["--plain"][..], &[]] {
        let path = folder.path().join(format!("{}.dat", form.len()));
        let output = record(machine, &[&["-s", "0.5", "-o", path.to_str().unwrap()], form].concat());
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
    let Some(machine) = Machine::this(&[Need::Tracing]) else { return };
    let machine = &machine;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("small.dat");
    let this = env!("CARGO_BIN_EXE_idlewise");
    // Four bursts, of which the buffers hold one and a half.
    let bursts = format!("for i in 1 2 3 4; do {this} record --play-messages; sleep 0.3; done");
    let output = record(machine, &["-b", "16", "-o", path.to_str().unwrap(), "--", "sh", "-c", &bursts]);
    let said = words(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}");
    let (before, _) = said.split_once(" events").unwrap();
    let events: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let cpus = fs::read_dir(machine.host().tracefs().join("per_cpu")).unwrap().count() as u64;
    // Switches and wakeups take more than 30 bytes.
    assert!(events > cpus * (16 << 20) / 30, "{events} events may have fitted into the buffers");
    assert!(said.contains("none lost"), "{said}");
}

/// `IDLEWISE_KILLS` tells how many.
#[test]
fn killed_at_any_moment_it_leaves_nothing_behind() {
    on_every_machine(&[Need::Tracing], killed);
}

fn killed(machine: &Machine) {
    let kills = std::env::var("IDLEWISE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(16);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.dat");
    let arguments = ["--force", "-s", "0.2", "-o", path.to_str().unwrap()];
    machine.wait_for_others();
    let before = machine.state();
    let start = Instant::now();
    assert!(record(machine, &arguments).status.success());
    let whole = start.elapsed();
    let (mut slowest, mut found) = (Duration::ZERO, 0);
    for n in 0u32..kills {
        machine.wait_for_others();
        let mut child = machine.idlewise("record").args(arguments).stderr(Stdio::null()).spawn().unwrap();
        // Spread over the whole run, in steps that never meet it in the same place twice.
        let part = (f64::from(n) * 0.618_033_988_749_895).fract();
        sleep(whole.mul_f64(part));
        let made = machine.instances().contains(&format!("idlewise-{}", child.id()));
        found += u32::from(made);
        child.kill().unwrap();
        child.wait().unwrap();
        let killed = Instant::now();
        // The instance goes, then the note of it.
        while machine.state() != before {
            let late = killed.elapsed() >= Duration::from_secs(5);
            assert!(!late, "kill {n}: {:?} is not {before:?}", machine.state());
            sleep(Duration::from_millis(2));
        }
        slowest = slowest.max(if made { killed.elapsed() } else { Duration::ZERO });
    }
    println!("{kills} kills, {found} with an instance in place; the last one was gone after {slowest:?}");
    assert!(found > 0);
    // The next one begins as if nothing had been.
    let output = record(machine, &arguments);
    assert!(output.status.success(), "{}", words(&output.stderr));
}

#[test]
fn what_a_killed_recording_had_seen_is_kept_and_its_command_ends() {
    let Some(machine) = Machine::this(&[Need::Tracing]) else { return };
    let machine = &machine;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("killed.dat");
    let parts = folder.path().join("killed.dat.parts");
    let number = folder.path().join("pid");
    machine.wait_for_others();
    let before = machine.state();
    // Before pages are moved by the clock, and after; and without the guard, which moves the rest: they are moved every 5 s.
    for (seconds, lost_s, guarded) in [(1, 0.1, true), (7, 0.1, true), (7, 6.0, false)] {
        // With the guard its children end, too.
        let sleeps = if guarded { "sleep 1000; exit" } else { "exec sleep 1000" };
        let command = format!("echo $$ > {}; {sleeps}", number.display());
        let mut child = machine
            .idlewise("record")
            .args(["-o", path.to_str().unwrap(), "--", "sh", "-c", &command])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_secs(seconds));
        while !number.exists() {
            sleep(Duration::from_millis(10));
        }
        sleep(Duration::from_millis(500));
        // Its first number, s: the trace's clock, where the machine was never suspended.
        let uptime = fs::read_to_string("/proc/uptime").unwrap();
        let uptime: f64 = uptime.split(' ').next().unwrap().parse().unwrap();
        if !guarded {
            kill(guard_of(child.id()).unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let shell = fs::read_to_string(&number).unwrap();
        let killed = Instant::now();
        if !guarded {
            // Nobody ends the command, and the next session puts the machine back.
            kill(shell.trim().parse().unwrap());
            machine.wait_for_others();
        }
        while machine.state() != before || Path::new("/proc").join(shell.trim()).exists() {
            assert!(killed.elapsed() < Duration::from_secs(10), "{:?} is not {before:?}", machine.state());
            sleep(Duration::from_millis(2));
        }
        let output = idlewise().args(["info", "--format", "json"]).arg(&parts).output().unwrap();
        assert!(output.status.success(), "{}", words(&output.stderr));
        let info: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let until = (info["first_ns"].as_u64().unwrap() + info["span_ns"].as_u64().unwrap()) as f64 / 1e9;
        assert!(until > uptime - lost_s, "recorded until {until} s, killed at {uptime} s");
        fs::remove_dir_all(&parts).unwrap();
        fs::remove_file(&number).unwrap();
    }
}

/// The first Ctrl-C ends the recording, the second one its writing.
#[test]
fn ctrl_c_while_it_is_written_leaves_the_parts_and_no_file() {
    let Some(machine) = Machine::this(&[Need::Tracing]) else { return };
    let machine = &machine;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.dat");
    let this = env!("CARGO_BIN_EXE_idlewise");
    let bursts = format!("for i in 1 2 3 4; do {this} record --play-messages; done");
    machine.wait_for_others();
    let before = machine.state();
    let mut child = machine
        .idlewise("record")
        .args(["-o", path.to_str().unwrap(), "--", "sh", "-c", &bursts])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name());
        names.filter(|n| n.to_string_lossy().starts_with(".tmp")).count()
    };
    while begun() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
        sleep(Duration::from_millis(1));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((begun(), path.exists(), machine.state() == before), (0, false, true));
    let parts = folder.path().join("written.dat.parts");
    let output = idlewise().arg("info").arg(&parts).output().unwrap();
    assert!(output.status.success(), "{}", words(&output.stderr));
}

#[test]
fn without_root_it_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = idlewise();
    command.args(["record", "-o"]).arg(folder.path().join("x.dat"));
    if Tracefs::of(&Host::below(Path::new("/"))).is_ok() {
        command.uid(65534);
    }
    let Ok(output) = command.output() else {
        println!("skipped: record without root: nobody else may run the program here");
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

#[test]
fn what_is_too_short_to_be_measured_is_unknown() {
    on_every_machine(&[Need::Tracing], |machine| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("short.dat");
        let output =
            record(machine, &["--overhead", "1", "-o", path.to_str().unwrap(), "--", "sleep", "0.1"]);
        let said = words(&output.stderr);
        assert!(output.status.success() && !said.contains("NaN"), "{said}");
        assert!(said.contains("runs      4, in blocks of four"), "{said}");
        let line = said.lines().find(|l| l.starts_with("CPU time")).unwrap();
        assert!(
            !line.contains("0.000 s [0.000 .. 0.000] without") || line.contains("? % (too short"),
            "{said}"
        );
    });
}

#[test]
fn a_cpu_that_is_offline_is_named() {
    let machine = Machine::stand_in(4);
    machine.files().unwrap().write("sys/devices/system/cpu/online", "0,2\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.dat");
    let online = machine.path("sys/devices/system/cpu/online").display().to_string();
    let output = record(&machine, &["-o", path.to_str().unwrap(), "-s", "0.1"]);
    let said = words(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("CPUs 1,3 were offline: nothing of them is recorded"), "{said}");
    // One goes and another comes while the command runs.
    let changes = format!("echo 0-1 > {online}");
    let args = ["-o", path.to_str().unwrap(), "--force", "--", "sh", "-c", &changes];
    let said = words(&record(&machine, &args).stderr);
    for wanted in ["CPU 3 was offline", "CPU 2 went offline meanwhile", "CPU 1 came online meanwhile"] {
        assert!(said.contains(wanted), "no {wanted:?} in {said}");
    }
    let described = fs::read(&path).unwrap();
    let wanted = b"CPU 3 was offline";
    assert!(described.windows(wanted.len()).any(|w| w == wanted), "the recording does not say it");
}

#[test]
fn what_is_captured_is_its_owners_alone_until_it_is_written() {
    on_every_machine(&[Need::Tracing], |machine| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.dat");
        let parts = folder.path().join("x.dat.parts");
        let look = format!("umask 0; stat -c %a {0} {0}/kallsyms", parts.display());
        let output = record(machine, &["-o", path.to_str().unwrap(), "--", "sh", "-c", &look]);
        assert_eq!(words(&output.stdout), "700\n600\n", "{}", words(&output.stderr));
    });
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is_recorded() {
    let machine = Machine::stand_in(1);
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let refused = |args: &[&str], word: &str| {
        let touch = ["--", "touch", mark.to_str().unwrap()];
        let output = record(&machine, &[args, &touch].concat());
        let said = words(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(word) && !mark.exists(), "{args:?}: {said}");
    };
    refused(&["-o", &at("none/x.dat")], "directory does not exist");
    refused(&["-o", &at("x.dat"), "--json", &at("none/x.json")], "directory does not exist");
    // Of a kind that even root cannot write to.
    refused(&["-o", &at("x.dat"), "--json", "/proc/x.json"], "nothing can be written there");
    refused(&["-o", "/proc/x.dat"], "nothing can be written there");
}

#[test]
fn the_configuration_for_a_phone_needs_no_root_and_its_device() {
    let run = |arguments: &[&str]| {
        let output = idlewise().arg("record").args(arguments).output().unwrap();
        (output.status.code(), words(&output.stdout), words(&output.stderr))
    };
    let (code, text, said) =
        run(&["--perfetto-config", "--platform", "pixel6", "--seconds", "30", "--buffer", "8"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
    for line in [
        "pixel6: 8 CPUs, 30 s",
        "duration_ms: 30000",
        "buffer_size_kb: 8192",
        "ftrace_events: \"power/cpu_idle\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    for (arguments, why) in [
        (&["--perfetto-config"][..], "--platform"),
        (&["--platform", "pixel6"], "--perfetto-config"),
        (&["--perfetto-config", "--platform", "pixel66"], "pixel6"),
        (&["--perfetto-config", "--platform", "pixel6", "-o", "x.dat"], "--output"),
        (&["--perfetto-config", "--platform", "pixel6", "--", "true"], "COMMAND"),
    ] {
        let (code, text, said) = run(arguments);
        assert!(code == Some(2) && text.is_empty() && said.contains(why), "{arguments:?}: {said}");
    }
}

#[test]
fn a_trace_of_perfetto_without_idle_events_names_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("it.txt");
    let event = |at: u32| {
        format!("  a-7  [000] d..1  10.{at:06}: sched_waking: comm=b pid=8 prio=120 target_cpu=000\n")
    };
    fs::write(&text, format!("# tracer: nop\n{}{}", event(1), event(2))).unwrap();
    let run = |arguments: &[&str]| idlewise().args(arguments).current_dir(folder.path()).output().unwrap();
    let converted = run(&["convert", "it.txt", "-o", "it.perfetto-trace"]);
    assert!(converted.status.success(), "{}", words(&converted.stderr));
    let said =
        |file: &str| words(&run(&["replay", file, "--recorded-on", "pixel6", "--governor", "menu"]).stderr);
    let of_perfetto = said("it.perfetto-trace");
    assert!(
        of_perfetto.contains("no cpu_idle events")
            && of_perfetto.contains("record --perfetto-config --platform"),
        "{of_perfetto}"
    );
    assert!(!said("it.txt").contains("perfetto"), "other recorders have no such configuration");
}

#[test]
fn a_recording_of_a_guest_names_its_hosts_part_once() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let mixed = data.join("mixed.dat");
    let said = |arguments: &[&str], file: &Path| {
        let output = idlewise().args(arguments).arg(file).output().unwrap();
        assert!(output.status.success(), "{}", words(&output.stderr));
        words(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for arguments in [&["info"][..], &["score", "-v"], &["replay", "--governor", "menu", "-v"]] {
        let text = said(arguments, &mixed);
        assert_eq!(text.matches("recorded in a guest of KVM").count(), 1, "{arguments:?}: {text}");
        assert!(text.contains("kvm:kvm_halt_poll_ns"), "{text}");
    }
    // What the recorder says of the machine decides: its driver, or its hypervisor.
    let folder = tempfile::tempdir().unwrap();
    let (copy, sidecar) = (folder.path().join("mixed.dat"), folder.path().join("mixed.toml"));
    fs::copy(&mixed, &copy).unwrap();
    for (made, expected) in [
        ("driver = \"intel_idle\"", None),
        ("driver = \"intel_idle\"\nhypervisor = \"Xen\"", Some("recorded in a guest of Xen, which")),
        ("hypervisor = \"\"", Some("recorded in a guest, which")),
    ] {
        fs::write(&sidecar, format!("platform = \"kvm-guest\"\ngovernor = \"menu\"\n[made]\n{made}\n"))
            .unwrap();
        let text = said(&["info"], &copy);
        assert_eq!(text.contains("recorded in a guest"), expected.is_some(), "{text}");
        assert!(expected.is_none_or(|words| text.contains(words)), "{text}");
    }
}

#[test]
fn without_a_cpuidle_driver_it_says_what_can_still_be_learnt() {
    let machine = Machine::stand_in(2);
    let cpus = machine.path("sys/devices/system/cpu");
    fs::write(cpus.join("cpuidle/current_driver"), "none\n").unwrap();
    for cpu in 0..2 {
        fs::remove_dir_all(cpus.join(format!("cpu{cpu}/cpuidle"))).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("it.dat");
    let output = record(&machine, &["-o", to.to_str().unwrap(), "-s", "0.2"]);
    let said = words(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("no cpuidle driver: no governor is asked") && said.contains("HLT or MWAIT"),
        "{said}"
    );
    let names_one = words(&output.stderr).lines().any(|l| l.starts_with("governor "));
    assert!(!names_one, "the kernel's default governor is not asked: {said}");
    let shown =
        "what it shows: when each CPU was idle, what ended that, and which timer was next (on CPUs 0-1)";
    assert!(
        said.contains(shown) && said.contains("it.dat --recorded-on kvm-guest --platform skylake-sp"),
        "{said}"
    );
}

#[test]
fn a_guest_is_known_by_what_its_kernel_shows() {
    let of = |files: &[(&str, &str)]| {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Host::below(tree.path()).hypervisor()
    };
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    let bare = [
        (clocks, "tsc hpet acpi_pm \n"),
        ("proc/cpuinfo", "flags\t\t: fpu vme\nmodel name : a hypervisor\n"),
    ];
    assert_eq!(of(&bare), None);
    assert_eq!(of(&[(clocks, "tsc kvm-clock \n")]), Some("KVM"));
    assert_eq!(of(&[("sys/hypervisor/type", "xen\n"), (clocks, "xen tsc\n")]), Some("Xen"));
    assert_eq!(of(&[(clocks, "hyperv_clocksource_tsc_page acpi_pm\n")]), Some("Hyper-V"));
    assert_eq!(of(&[("sys/class/dmi/id/sys_vendor", "QEMU\n"), (clocks, "arch_sys_counter\n")]), Some("KVM"));
    let emulated = [("sys/class/dmi/id/sys_vendor", "QEMU\n"), (clocks, "tsc acpi_pm\n")];
    assert_eq!(of(&emulated), Some("QEMU"), "x86 without KVM's clock");
    assert_eq!(of(&[("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n")]), Some(""), "nobody says which");
    assert_eq!(of(&[]), None);
}
