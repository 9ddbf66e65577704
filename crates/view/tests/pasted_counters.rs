// SPDX-License-Identifier: GPL-2.0-only
//! Are counters read in the forms in which people paste them, each as what it is of: which machine, kernel, state, time?

use std::fs;
use std::path::PathBuf;

use idlewise_checkout::shared;
use idlewise_machine::diff::{DiffReport, DiffRequest, Meaning, StatePart, diff};
use idlewise_model::NoteId;
use idlewise_platform::{Platform, SysfsDump};
use idlewise_recording::RecordingOptions;
use idlewise_recording::placement::Per;
use idlewise_report::Format;
use idlewise_study::info::info;
use idlewise_view as view;

/// The result of `diff` on files with these texts, and what a terminal shows of it, with one space where there are several.
pub(crate) fn read(texts: &[&str], meaning: Option<Meaning>) -> Result<(DiffReport, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..texts.len()).map(|n| folder.path().join(format!("{n}.txt"))).collect();
    paths.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).unwrap());
    run(&paths, meaning)
}

fn run(paths: &[PathBuf], meaning: Option<Meaning>) -> Result<(DiffReport, String), String> {
    let request = DiffRequest {
        before: paths[0].clone(),
        after: paths.get(1).cloned(),
        meaning,
        ..DiffRequest::default()
    };
    let report = diff(&request).map_err(|e| e.to_string())?;
    let text = view::diff(&report, Per::All).render(Format::Table, &report).unwrap();
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.lines().all(|l| l.chars().count() <= 78), "{text}");
    Ok((report, squeezed))
}

pub(crate) fn done(texts: &[&str]) -> (DiffReport, String) {
    read(texts, None).unwrap()
}

/// A case of the shared folder; nothing where it is not there.
fn case(files: &[&str]) -> Option<(DiffReport, String)> {
    let paths: Vec<PathBuf> = files.iter().map(|f| shared().join("cases").join(f)).collect();
    if paths.iter().all(|p| p.is_file()) {
        return Some(run(&paths, None).unwrap());
    }
    eprintln!("skipped: no {} (IDLEWISE_SHARED, else ../shared)", files[0]);
    None
}

/// States of CPU 0 as `grep -r .` prints them: number, name, latency, residency; each with the counters `times` as many.
pub(crate) fn dump(states: &[(usize, &str, u64, u64)], times: u64) -> String {
    let line = |(n, name, latency, residency): &(usize, &str, u64, u64)| {
        let p = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{n}");
        let [usage, time, above, below] = [100, 5000, 10, 20].map(|count| count * times);
        format!(
            "{p}/name:{name}\n{p}/latency:{latency}\n{p}/residency:{residency}\n{p}/usage:{usage}\n{p}/time:{time}\n\
             {p}/above:{above}\n{p}/below:{below}\n{p}/rejected:0\n"
        )
    };
    states.iter().map(line).collect()
}

pub(crate) const ACPI: [(usize, &str, u64, u64); 3] =
    [(0, "POLL", 0, 0), (1, "C1_ACPI", 1, 1), (2, "C2_ACPI", 127, 381)];
pub(crate) const INTEL: [(usize, &str, u64, u64); 3] =
    [(0, "POLL", 0, 0), (1, "C1", 1, 1), (2, "C6", 220, 600)];

pub(crate) fn states(report: &DiffReport) -> &[StatePart] {
    &report.runs[0].all.states
}

pub(crate) fn usages(report: &DiffReport) -> Vec<Option<u64>> {
    states(report).iter().map(|s| s.usage).collect()
}

#[test]
fn other_states_or_drivers_or_hosts_are_two_runs() {
    let (acpi, intel) = (dump(&ACPI, 1), dump(&INTEL, 3));
    let (r, text) = done(&[&acpi, &intel]);
    assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2));
    assert!(text.contains("because the tables of idle states differ"), "{text}");
    assert!(text.contains("only in A: 1 C1_ACPI (1/1 us), 2 C2_ACPI (127/381 us)"), "{text}");
    assert!(text.contains("only in B: 1 C1 (1/1 us), 2 C6 (220/600 us)"), "{text}");
    // The first state is in both.
    assert!(text.contains("0 POLL % of usage 33.33 33.33"), "{text}");
    let pairs = r.runs[0].all.paired(&r.runs[1].all);
    assert_eq!(pairs.iter().filter(|(a, b)| a.is_some() && b.is_some()).count(), 1);
    // Subtracted they are not, even if asked for.
    let refused = read(&[&acpi, &intel], Some(Meaning::Looks)).unwrap_err();
    assert!(refused.contains("tables of idle states differ"), "{refused}");
    // One name, other numbers.
    let other = [ACPI[0], ACPI[1], (2, "C2_ACPI", 200, 600)];
    assert_eq!(done(&[&acpi, &dump(&other, 3)]).0.runs.len(), 2);
    // The driver, the host of a prompt, the kernel of `uname`, the machine's folder.
    let driver = |name: &str, times| format!("cpuidle/current_driver:{name}\n{}", dump(&INTEL, times));
    let host = |name: &str, times| format!("[root@{name} ~]# grep -r . /sys\n{}", dump(&INTEL, times));
    let uname = |release: &str, times| format!("Linux box {release} #1 SMP\n{}", dump(&INTEL, times));
    let folder = |name: &str, times| dump(&INTEL, times).replace("/sys/", &format!("{name}/sys/"));
    for of in [&driver as &dyn Fn(&str, u64) -> String, &host, &uname, &folder] {
        let (r, text) = done(&[&of("6.1-a", 1), &of("6.6-b", 3)]);
        assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2), "{text}");
        assert!(text.contains("machines or kernels differ"), "{text}");
        let (r, _) = done(&[&of("6.1-a", 1), &of("6.1-a", 3)]);
        assert_eq!((r.meaning, usages(&r)), (Meaning::Looks, vec![Some(200); 3]));
    }
}

#[test]
fn states_are_paired_by_name_and_numbers_wherever_they_stand() {
    let more = [(0, "POLL", 0, 0), (1, "C1", 1, 1), (2, "C1E", 2, 4), (3, "C6", 220, 600)];
    let (_, text) = read(&[&dump(&INTEL, 1), &dump(&more, 1)], Some(Meaning::Runs)).unwrap();
    assert!(text.contains("2/3 C6 % of usage 33.33 25.00"), "{text}");
    assert!(text.contains("only in B: 2 C1E (2/4 us)") && !text.contains("only in A"), "{text}");
}

#[test]
fn dumps_of_several_folders_are_several_snapshots_or_machines() {
    let at = |folder: &str, times| dump(&INTEL, times).replace("/sys/", &format!("./{folder}/sys/"));
    let (r, text) = done(&[&(at("vanilla/iter-0", 1) + &at("vanilla/iter-1", 7))]);
    assert_eq!(usages(&r), [Some(600); 3]);
    assert!(text.contains("vanilla/iter-0 to vanilla/iter-1"), "{text}");
    // Each interval of three.
    let (r, _) = done(&[&(at("run1", 1) + &at("run2", 3) + &at("run3", 8))]);
    assert_eq!(r.runs.iter().map(|r| r.all.states[0].usage).collect::<Vec<_>>(), [Some(200), Some(500)]);
    // Two machines with two snapshots each, and interleaved.
    let (a, b) = ((at("old", 1), at("old", 2)), (at("x", 1), at("y", 9)));
    let text = at("vanilla/before", 1)
        + &at("patched/before", 5)
        + &at("vanilla/after", 2)
        + &at("patched/after", 8);
    let (r, text) = done(&[&text]);
    assert_eq!(r.meaning, Meaning::Runs, "{text}");
    assert_eq!(r.runs.iter().map(|r| r.all.states[1].usage).collect::<Vec<_>>(), [Some(100), Some(300)]);
    assert!(text.contains("vanilla/before to vanilla/after"), "{text}");
    // Machines that nobody says to be one are no two times of one.
    let (r, _) = done(&[&(b.0 + &b.1)]);
    assert_eq!((r.meaning, r.runs.len(), usages(&r)), (Meaning::Runs, 2, vec![Some(100); 3]));
    // The same twice in one folder is before and after.
    assert_eq!(usages(&done(&[&(a.0 + &a.1)]).0), [Some(100); 3]);
    if let Some((r, text)) = case(&["diff-two-runs-by-folder/dumps.txt"]) {
        assert!(usages(&r).iter().all(|n| *n == Some(6000)), "{text}");
        assert!(text.contains("iter-0") && text.contains("iter-1"), "{text}");
    }
    if let Some((r, text)) = case(&["diff-two-kernels/acpi_idle.txt", "diff-two-kernels/intel_idle.txt"]) {
        assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2), "{text}");
        assert!(text.contains("only in A: 1 C1_ACPI (1/1 us), 2 C2_ACPI (127/381 us)"), "{text}");
    }
}

#[test]
fn counters_that_are_not_there_are_unknown() {
    let only = |files: &[&str], times| -> String {
        let text = dump(&INTEL, times);
        let lines = text.lines().filter(|l| files.iter().any(|f| l.contains(&format!("/{f}:"))));
        lines.map(|l| format!("{l}\n")).collect()
    };
    let (r, text) = done(&[&only(&["above", "below"], 2)]);
    assert!(states(&r).iter().all(|s| (s.usage, s.time_us, s.idle_pct) == (None, None, None)), "{text}");
    assert!(text.contains("2 state2 ? ? ? 20 40") && text.contains("all ? ? ? 60 120"), "{text}");
    assert!(text.contains("does not have usage, time, rejected"), "{text}");
    assert!(r.notes.iter().any(|n| n.id == NoteId::CountersMissing));
    let (r, text) = done(&[&only(&["usage"], 1), &only(&["usage"], 3)]);
    assert_eq!(usages(&r), [Some(200); 3]);
    assert!(text.contains("1 state1 200 ? ? ? ?") && text.contains("all 600 ? ? ? ?"), "{text}");
    // A counter that only one of two files has has no difference; names, latencies and `disable` alone have none at all.
    let (_, text) = done(&[&only(&["usage"], 1), &only(&["usage", "time"], 3)]);
    assert!(text.contains("all 600 ? ? ? ?"), "{text}");
    let (_, text) = done(&[&only(&["name", "latency"], 1)]);
    assert!(text.contains("2 C6 ? ? ? ? ?"), "{text}");
    let csv = view::diff(&r, Per::All).render(Format::Csv, &r).unwrap();
    assert!(csv.contains(",all,1,state1,200,,,,,,,"), "{csv}");
    if let Some((_, text)) = case(&["diff-missing-counters/above-below.txt"]) {
        assert!(text.contains("4 state4 ? ? ? 1284 321"), "{text}");
    }
    if let Some((_, text)) =
        case(&["diff-missing-counters/usage-before.txt", "diff-missing-counters/usage-after.txt"])
    {
        assert!(text.contains("4 state4 1500 ? ? ? ?"), "{text}");
    }
}

#[test]
fn a_state_has_the_number_of_sysfs() {
    let (r, text) = done(&[&dump(&[(3, "C3", 350, 700)], 1)]);
    assert_eq!(states(&r)[0].state, Some(3));
    assert!(text.contains("3 C3 100") && text.contains("does not have states 0, 1, 2"), "{text}");
    let (r, _) = done(&[&dump(&[(1, "C1", 1, 1), (3, "C3", 350, 700)], 1)]);
    assert_eq!(states(&r).iter().map(|s| s.state).collect::<Vec<_>>(), [Some(1), Some(3)]);
    let csv = view::diff(&r, Per::All).render(Format::Csv, &r).unwrap();
    assert!(csv.contains(",all,3,C3,100,"), "{csv}");
    if let Some((r, text)) = case(&["diff-state-number/state3.txt"]) {
        assert!(text.contains("3 C3 9000 3.600") && states(&r)[0].state == Some(3), "{text}");
    }
}

#[test]
fn lines_of_a_state_that_are_missing_make_no_other_table() {
    let without = |state: &str| -> String {
        dump(&INTEL, 3).lines().filter(|l| !l.contains(state)).map(|l| format!("{l}\n")).collect()
    };
    let (r, text) = done(&[&dump(&INTEL, 1), &without("state1")]);
    assert_eq!((r.meaning, usages(&r)), (Meaning::Looks, vec![Some(200), Some(200)]), "{text}");
    assert!(text.contains("does not have state 1; shares are those among the others"), "{text}");
    // The last one may be one that the other machine does not have.
    assert_eq!(done(&[&dump(&INTEL, 1), &without("state2")]).0.meaning, Meaning::Runs);
    // A line that is missing in the last state does not end the text.
    let (r, text) = done(&[&without("state2/time")]);
    assert!(!text.contains("the text ends"), "{text}");
    assert_eq!(r.runs[0].all.states.len(), 3);
}

#[test]
fn one_damaged_line_is_left_out() {
    let good = dump(&INTEL, 1);
    let (r, text) =
        done(&[&(good.clone() + "/sys/devices/system/cpu/cpu0/cpuidle/state1/s2idle/usage:: 0\n")]);
    assert_eq!(usages(&r), [Some(100); 3]);
    assert!(text.contains(":25: cpu0 state1/s2idle/usage is \": 0\"") && text.contains("left out"), "{text}");
    // What is damaged is not known, and all else is.
    let (r, text) = done(&[&good.replacen("usage:100", "usage:1OO", 1)]);
    assert_eq!(usages(&r), [None, Some(100), Some(100)]);
    assert!(text.contains("0 POLL ? 0.005"), "{text}");
    let (_, text) = done(&[&good.replace("rejected:0", "rejected:-")]);
    assert!(text.contains("left out") && text.contains("all 300 0.015"), "{text}");
    if let Some((_, text)) = case(&["diff-one-damaged-line/dump.txt"]) {
        assert!(text.contains("dump.txt:24:") && text.contains("1 cpu-sleep 5000 1.000"), "{text}");
    }
}

#[test]
fn a_line_names_its_file_and_value_in_many_ways() {
    let (plain, _) = done(&[&dump(&INTEL, 1)]);
    let form = |of: &dyn Fn(&str, &str) -> String| -> String {
        dump(&INTEL, 1).lines().map(|l| l.split_once(':').map(|(p, v)| of(p, v) + "\n").unwrap()).collect()
    };
    type Form<'a> = &'a dyn Fn(&str, &str) -> String;
    let forms: [Form<'_>; 9] = [
        &|p, v| format!("{p}:1:{v}"),
        &|p, v| format!("{p} = {v}"),
        &|p, v| format!("{p}={v}"),
        &|p, v| format!("{p} {v}"),
        &|p, v| format!("{p}: {v}"),
        &|p, v| format!("> {p}:\t{v}\r"),
        &|p, v| format!("==> {p} <==\n{v}\n"),
        &|p, v| format!("# cat {p}\n{v}"),
        &|p, v| format!(".{}:1:{v}", p.strip_prefix("/sys/devices/system/cpu/cpu0/cpuidle").unwrap()),
    ];
    for of in forms {
        let text = form(of);
        let (r, shown) = done(&[&text]);
        assert_eq!(states(&r), states(&plain), "{text}\n{shown}");
    }
    // A shell's pattern, before and after.
    let cat = |file: &str, values: &str| format!("$ cat cpu0/cpuidle/state*/{file}\n{values}\n");
    let (r, _) = done(&[&(cat("usage", "10\n20\n30") + &cat("usage", "11\n22\n33"))]);
    assert_eq!(usages(&r), [Some(1), Some(2), Some(3)]);
    // Prose is no value.
    let (r, _) =
        done(&[&("See /sys/devices/system/cpu/cpu0/cpuidle/state0/usage for more.\n".to_owned()
            + &dump(&INTEL, 1))]);
    assert_eq!(usages(&r), [Some(100); 3]);
    if let Some((r, text)) = case(&["diff-line-numbers/dump.txt"]) {
        let too_deep: Vec<_> = states(&r).iter().map(|s| s.above_pct).collect();
        assert_eq!(too_deep, [Some(0.0), Some(10.0), Some(20.0), Some(30.0)], "{text}");
    }
}

/// `cpupower idle-info` of these CPUs; each count `times` as many.
pub(crate) fn idle_info(cpus: &[u32], residency: bool, times: u64) -> String {
    let mut text = "CPUidle driver: acpi_idle\nCPUidle governor: teo\n".to_owned();
    for cpu in cpus {
        text +=
            &format!("analyzing CPU {cpu}:\n\nNumber of idle states: 3\nAvailable idle states: POLL C1 C2\n");
        for (name, latency, usage) in [("POLL", 0, 10), ("C1", 1, 200), ("C2 (DISABLED) ", 350, 40)] {
            text += &format!("{name}:\nFlags/Description: ACPI {name}\nLatency: {latency}\n");
            if residency {
                text += &format!("Residency: {}\n", latency * 2);
            }
            text += &format!("Usage: {}\nDuration: {}\n", usage * times, usage * times * 1000);
        }
        text.push('\n');
    }
    text
}

#[test]
fn idle_info_of_cpupower_is_read() {
    let (r, text) = done(&[&idle_info(&[0, 3], false, 1)]);
    assert_eq!(usages(&r), [Some(20), Some(400), Some(80)]);
    assert_eq!(
        (r.runs[0].driver.as_deref(), r.runs[0].governor.as_deref()),
        (Some("acpi_idle"), Some("teo"))
    );
    assert_eq!(r.runs[0].cpus.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["cpu 0", "cpu 3"]);
    assert_eq!(
        states(&r).iter().map(|s| s.disabled).collect::<Vec<_>>(),
        [Some(false), Some(false), Some(true)]
    );
    assert!(
        text.contains("state 2 C2 is disabled") && text.contains("does not have above, below, rejected"),
        "{text}"
    );
    assert!(text.contains("2 C2 80 0.080 16.00 ? ?"), "{text}");
    // Twice in one file, and in two.
    let (before, after) = (idle_info(&[0], true, 1), idle_info(&[0], true, 4));
    assert_eq!(usages(&done(&[&(before.clone() + &after)]).0), [Some(30), Some(600), Some(120)]);
    assert_eq!(usages(&done(&[&before, &after]).0), [Some(30), Some(600), Some(120)]);
    // One is of a machine, the other shows too little for it.
    let platform = Platform::from_sysfs_dump(&before, "x.txt").unwrap();
    assert_eq!(platform.clusters[0].table.states()[2].target_residency_ns, 700_000);
    assert!(platform.clusters[0].table.states()[2].disabled);
    let without = idle_info(&[0], false, 1);
    assert!(Platform::from_sysfs_dump(&without, "x.txt").unwrap_err().to_string().contains("no `residency`"));
    let dump = SysfsDump::of_any(&without, "x.txt").unwrap();
    let shown = view::states("x.txt", &dump, "why").render(Format::Table, &()).unwrap();
    assert!(shown.contains("350 us") && shown.contains("disabled") && shown.contains('?'), "{shown}");
    if let Some((r, text)) = case(&["cpupower-idle-info/idle-info.txt"]) {
        assert_eq!(usages(&r), [2400, 60_000, 95_000, 167_000].map(Some), "{text}");
        let times: Vec<_> = states(&r).iter().map(|s| s.time_us).collect();
        assert_eq!(times, [90_000, 11_000_000, 163_000_000, 2_160_000_000].map(Some));
        assert!(text.contains("state 3 C3_ACPI is disabled"), "{text}");
        assert!(text.contains("3 C3_ACPI 167000 2160.000 92.54 ? ?"), "{text}");
    }
}

pub(crate) const TURBOSTAT: &str = "turbostat version 2024.07.26 - Len Brown <lenb@kernel.org>\n\
    Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tIRQ\tPOLL-\tPOLL\tPOLL+\tC1-\tC1\tC1+\tC6-\tC6\tC6+\tPOLL%\tC1%\tC6%\tCPU%c1\tCPU%c6\tPkg%pc6\tPkgWatt\n\
    -\t-\t60\t3.00\t2000\t800\t0\t4\t2\t10\t100\t30\t60\t300\t0\t0.00\t7.00\t90.00\t8.00\t89.00\t11.50\t4.25\n\
    0\t0\t80\t4.00\t2000\t500\t0\t3\t1\t6\t60\t20\t40\t200\t0\t0.00\t6.00\t90.00\t7.00\t89.00\t11.50\t4.25\n\
    0\t1\t40\t2.00\t2000\t300\t0\t1\t1\t4\t40\t10\t20\t100\t0\t0.00\t8.00\t90.00\n";

#[test]
fn logs_of_turbostat_are_read() {
    let (r, text) = done(&[TURBOSTAT]);
    assert_eq!((r.meaning, usages(&r)), (Meaning::Looks, vec![Some(4), Some(100), Some(300)]));
    let names: Vec<_> = states(&r).iter().map(|s| (s.state, s.name.as_str())).collect();
    assert_eq!(names, [(None, "POLL"), (None, "C1"), (None, "C6")]);
    // `-` is too deep, `+` too shallow.
    assert_eq!((states(&r)[2].above, states(&r)[1].below), (Some(60), Some(30)));
    assert_eq!(r.runs[0].cpus[1].states[1].usage, Some(40));
    assert!(
        text.contains("CPU%c6 89") && text.contains("PkgWatt 4.25") && text.contains("Pkg%pc6 11.5"),
        "{text}"
    );
    // How long it was is not shown: shares of time are, among the idle states.
    assert_eq!((states(&r)[2].time_us, r.runs[0].all.time_us), (None, None));
    assert!(text.contains("C6 300 ? 92.78 20.00 0.00"), "{text}");
    assert!(
        text.contains("does not show exit latency and target residency, the length of an interval"),
        "{text}"
    );
    // With a command's time; two intervals; two logs.
    let (r, _) = done(&[&(TURBOSTAT.to_owned() + "10.000000 sec\n")]);
    assert_eq!((r.runs[0].seconds, states(&r)[2].time_us), (Some(10.0), Some(18_000_000)));
    let rows = TURBOSTAT.split_once('\n').unwrap().1;
    let twice = TURBOSTAT.to_owned() + &rows.replace("\t300\t", "\t500\t");
    let (r, _) = done(&[&twice]);
    assert_eq!(r.runs.iter().map(|r| r.all.states[2].usage).collect::<Vec<_>>(), [Some(300), Some(500)]);
    let (r, text) = done(&[TURBOSTAT, &twice]);
    assert_eq!((r.meaning, r.runs[1].all.states[2].usage), (Meaning::Runs, Some(800)));
    assert!(text.contains("C6 % of idle 92.78 92.78"), "{text}");
    // Without counts, as newer versions do by default; summaries alone.
    let (r, text) = done(&[
        "Avg_MHz\tBusy%\tC1%\tC6%\tPkgWatt\n60\t3.00\t7.00\t90.00\t4.25\n70\t4.00\t6.00\t90.00\t5.25\n",
    ]);
    assert_eq!((r.runs.len(), r.runs[0].all.usage, r.runs[1].all.states.len()), (2, None, 2), "{text}");
    assert!(text.contains("C1 ? ? 7.22 ? ?"), "{text}");
    // How long limits of power held is no idle state.
    let (r, _) = done(&["Avg_MHz\tBusy%\tC1%\tC6%\tPKG_%\tRAM_%\n60\t3.00\t7.00\t90.00\t40.00\t1.00\n"]);
    assert_eq!(states(&r).iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["C1", "C6"]);
    // Hardware's residencies are no states of the kernel's.
    assert!(read(&["CPU\tBusy%\tCPU%c1\tCPU%c6\n-\t3.00\t7.00\t90.00\n"], None).is_err());
}

#[test]
fn a_log_that_is_cut_off_or_lacks_a_cpu_at_times_is_said_to() {
    let rows = TURBOSTAT.split_once('\n').unwrap().1;
    let without_cpu_1 = rows.rsplit_once("0\t1\t").unwrap().0;
    let log = |more: &str| format!("{TURBOSTAT}{rows}{more}");
    // In the row of a CPU, behind one, in that of all.
    for cut in [rows.len() - 40, without_cpu_1.len(), without_cpu_1.len() - 150] {
        let (r, text) = done(&[TURBOSTAT, &log(&rows[..cut])]);
        let b = &r.runs[1];
        assert_eq!((b.all.states[2].usage, b.cpus.len()), (Some(600), 2), "{cut}: {text}");
        assert_eq!(b.cpus[1].states[2].usage, Some(200), "{cut}: {text}");
        assert!(text.contains("the text ends within an interval, which is left out"), "{cut}: {text}");
    }
    let (r, text) = done(&[TURBOSTAT, &log(&format!("{without_cpu_1}{rows}"))]);
    assert_eq!((r.runs[1].all.states[2].usage, r.runs[1].cpus.len()), (Some(1200), 1), "{text}");
    assert!(text.contains("CPU 1 is in 3 of 4 intervals: not shown by itself"), "{text}");
    // Whose rows they are is hidden: they are in that of all.
    let hidden = "Node\tBusy%\tC1\tC6\tC1%\tC6%\n-\t3.00\t100\t300\t7.00\t90.00\n-1\t4.00\t60\t200\t6.00\t90.00\n\
                  -1\t2.00\t40\t100\t8.00\t90.00\n";
    let (r, text) = done(&[hidden]);
    assert_eq!((r.runs.len(), usages(&r)), (1, vec![Some(100), Some(300)]), "{text}");
}

#[test]
fn cpupower_monitor_and_powertop_are_read() {
    let monitor = "              | Mperf              || Idle_Stats\n PKG|CORE| CPU| C0   | Cx   | Freq || POLL | C1   | C6\n\
        \x20  0|   0|   0|  3,00| 97,00|  2000||  0,00|  7,00| 90,00\n   0|   1|   1|  1.00| 99.00|  2000|| -0.00|  9.00| 90.00\n";
    let (r, text) = done(&[monitor]);
    assert_eq!(r.runs[0].cpus.len(), 2, "{text}");
    assert!(text.contains("C1 ? ? 8.16 ? ?") && text.contains("C6 ? ? 91.84 ? ?"), "{text}");
    assert!(text.contains("cpupower monitor does not show usage, above, below, exit latency"), "{text}");
    let alone = "    | Idle_Stats\n CPU| POLL | C1\n   0|  0.00| 50.00\n   4|  0.00| 70.00\n./load took 2.00000 seconds and exited with status 0\n";
    let (r, _) = done(&[alone]);
    assert_eq!(r.runs[0].cpus[1].name, "cpu 4");
    assert_eq!((states(&r)[1].time_us, r.runs[0].seconds), (Some(2_400_000), Some(2.0)));
    let powertop = "____\n *  *  *   Processor Idle State Report   *  *  *\n\nPackage;0\nC2 (pc2);4.1%\n;\nCore;0\nC1 (cc1);3.0%\n;\n;CPU 0;;CPU 1;\n\
        C0 active;1.5%;;2.5%;\nPOLL;0.0%;0.0 ms;0.0%;0.0 ms\nC1;10.0%;0.4 ms;20.0%;0.5 ms\nC6;88.5%;3.1 ms;77.5%;4.0 ms\n\
        ____\n *  *  *   Processor Frequency Report   *  *  *\nPackage;0\n;CPU 0;CPU 1\nIdle;90.0%;80.0%\n";
    let (r, text) = done(&[powertop]);
    assert_eq!(
        states(&r).iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        ["POLL", "C1", "C6"],
        "{text}"
    );
    let shares = |cpu: usize| r.runs[0].cpus[cpu].states[1].idle_pct.unwrap();
    assert!((shares(0) - 10.152).abs() < 0.001 && (shares(1) - 20.513).abs() < 0.001, "{text}");
    assert!(text.contains("powertop does not show usage"), "{text}");
}

/// A field of a message of protobuf.
fn field(number: u64, body: &[u8]) -> Vec<u8> {
    [varint(number << 3 | 2), varint(body.len() as u64), body.to_vec()].concat()
}

fn varint(mut n: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
    out
}

/// Perfetto's packet of `linux.sys_stats` with the time in C1 and C8 of each CPU.
fn sys_stats(at_ns: u64, cpus: &[(u64, [u64; 2])]) -> Vec<u8> {
    let cpu = |(cpu, times): &(u64, [u64; 2])| {
        let state = |(name, us): (&str, u64)| {
            field(2, &[field(1, name.as_bytes()), varint(2 << 3), varint(us)].concat())
        };
        field(16, &[[8].to_vec(), varint(*cpu), state(("C1", times[0])), state(("C8", times[1]))].concat())
    };
    let stats: Vec<u8> = cpus.iter().flat_map(cpu).collect();
    field(1, &[field(7, &stats), varint(8 << 3), varint(at_ns)].concat())
}

#[test]
fn idle_times_that_perfetto_sampled_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pftrace");
    let samples = [(1, 500), (21, 1400), (61, 2250)];
    let packet = |(n, (c1, c8)): (usize, &(u64, u64))| {
        let cpus = [0, 5].map(|cpu| (cpu, [c1 * 1000, c8 * 1000]));
        sys_stats(1_000_000_000 * (n as u64 + 1), &cpus)
    };
    let trace: Vec<u8> = samples.iter().enumerate().flat_map(packet).collect();
    fs::write(&path, &trace).unwrap();
    let (r, text) = run(std::slice::from_ref(&path), None).unwrap();
    let times = |run: usize, state: usize| r.runs[run].cpus[1].states[state].time_us.unwrap();
    assert_eq!(
        [times(0, 0), times(0, 1), times(1, 0), times(1, 1)],
        [20_000, 900_000, 40_000, 850_000],
        "{text}"
    );
    assert_eq!((r.runs[0].seconds, states(&r)[0].state), (Some(1.0), None));
    assert!(text.contains("C8 ? 1.800 97.83 ? ?") && text.contains("does not have usage"), "{text}");
    let seen = info(&path, &RecordingOptions::default(), &[]).unwrap();
    let shown = view::info(&seen).render(Format::Table, &seen).unwrap();
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("sys_stats: the kernel's time in each idle state, 3 samples"), "{shown}");
    // One sample is since the start; samples of other counters have a name.
    fs::write(&path, sys_stats(1, &[(0, [7, 8])])).unwrap();
    let (r, _) = run(std::slice::from_ref(&path), None).unwrap();
    assert_eq!((r.runs[0].basis, states(&r)[1].time_us), ("counters since boot", Some(8)));
    fs::write(
        &path,
        [sys_stats(1, &[(0, [7, 8])]), field(1, &field(7, &[8, 1])), field(1, &field(9, &[]))].concat(),
    )
    .unwrap();
    let seen = info(&path, &RecordingOptions::default(), &[]).unwrap();
    let shown = view::info(&seen).render(Format::Table, &seen).unwrap();
    assert!(shown.contains("process_stats (1 times), sys_stats (2 times)"), "{shown}");
    if let Some((r, text)) = case(&["perfetto-cpuidle-counters/trace.pftrace"]) {
        let times: Vec<_> =
            r.runs.iter().flat_map(|r| &r.cpus[0].states).map(|s| s.time_us.unwrap()).collect();
        assert_eq!(times, [20_000, 900_000, 40_000, 850_000], "{text}");
    }
}

#[test]
fn info_names_what_is_no_trace_and_who_reads_it() {
    let tree = "/dts-v1/; / { s: cpu-sleep { entry-latency-us = <1>; exit-latency-us = <2>; min-residency-us = <9>; }; };";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.txt");
    for (text, words) in [(TURBOSTAT, "`diff LOG` shows it"), (tree, "`platform show` takes it")] {
        fs::write(&path, text).unwrap();
        let refused = info(&path, &RecordingOptions::default(), &[]).unwrap_err().to_string();
        assert!(refused.contains(words), "{refused}");
    }
}

/// What `cat state*/*` prints of one state of each CPU, with these times of use.
fn values(usages: &[u64]) -> String {
    let state = |n: &u64| format!("1\n2\nMWAIT 0x00\n0\n2\nC1\n0\n4\n{}\n{n}\n", n * 100);
    usages.iter().map(state).collect()
}

#[test]
fn bare_values_of_one_file_are_two_snapshots_only_where_they_can_be() {
    let what = |usages: &[u64]| {
        let (report, text) = done(&[&values(usages)]);
        (report.runs[0].basis, text)
    };
    let (both, said) = what(&[3000, 6000, 15_000, 27_000]);
    assert_eq!(both, "two snapshots");
    assert!(said.contains("--cpus with 4 CPUs says that it is one"), "{said}");
    for usages in [&[6000, 3000, 15_000, 2000][..], &[1, 2, 3], &[7]] {
        let (one, said) = what(usages);
        assert_eq!(one, "counters since boot", "{said}");
        assert!(said.contains(&format!("all {}", usages.iter().sum::<u64>())), "{said}");
    }
}

#[test]
fn packed_logs_are_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let text = values(&[5, 15]);
    let packed = folder.path().join("values.txt.zst");
    fs::write(&packed, zstd::bulk::compress(text.as_bytes(), 3).unwrap()).unwrap();
    assert_eq!(run(&[packed], None).unwrap().1, done(&[&text]).1.replace("0.txt", "values.txt.zst"));
}
