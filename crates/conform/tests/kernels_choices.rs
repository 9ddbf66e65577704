// SPDX-License-Identifier: GPL-2.0-only
//! Replayed on what the kernel knew, does a governor make the kernel's own choices?

use std::io::Read as _;
use std::path::Path;
use std::{fs, slice};

use idlewise_checkout::root;
use idlewise_conform::Agreement;
use idlewise_conform::decision_table::drive;
use idlewise_testkit::{recording, request, run};

#[test]
fn menu_replayed_makes_the_choices_of_the_kernels_menu() {
    for (name, decisions, tick_pct) in [
        ("cyclictest_cpu0", 13_000, 99.9),
        ("rtapp60", 1_500, 99.0),
        ("sleeploop", 1_900, 99.0),
        ("idle_quiet", 380, 97.0),
    ] {
        let Some(path) = recording(&format!("kvm-guest/{name}.dat")) else { return };
        let report = run(&request(&[&path], "kvm-guest", "menu", &["menu"]));
        let f = report.traces[0].fidelity.clone().unwrap();
        assert_eq!(f.governor, "menu");
        assert!(f.decisions + f.unknown_memory > decisions, "{name}: {f:?}");
        assert!(f.unknown_memory * 20 < f.decisions, "{name}: {f:?}");
        assert!(f.same_state_pct.is_some_and(|pct| pct >= 99.9), "{name}: {f:?}");
        assert!(f.same_tick_pct.is_some_and(|pct| pct >= tick_pct), "{name}: {f:?}");
        assert_eq!(f.tick_known, f.decisions, "{name} has tick_stop events");
    }
}

#[test]
fn ladder_and_haltpoll_replayed_make_the_kernels_choices() {
    for (name, governor, decisions, state_pct, tick_pct) in [
        ("ladder_sleeploop", "ladder", 2_800, 99.9, 99.9),
        ("sleeploop_cpu0_haltpoll", "haltpoll:guest_halt_poll_ns=0", 3_300, 99.9, 99.9),
        // How long it halted decides whether the window grows, and a trace shows that a little too long.
        ("hp200_sleeploop", "haltpoll", 9_600, 99.0, 98.9),
    ] {
        let Some(path) = recording(&format!("kvm-guest/{name}.dat")) else { return };
        let report = run(&request(&[&path], "kvm-guest", governor, &[governor]));
        let f = report.traces[0].fidelity.clone().unwrap();
        assert!(f.decisions + f.unknown_memory > decisions, "{name}: {f:?}");
        assert!(
            f.same_state_pct.is_some_and(|pct| pct >= state_pct)
                && f.same_tick_pct.is_some_and(|pct| pct >= tick_pct),
            "{name}: {f:?}"
        );
    }
}

#[test]
fn another_governor_than_the_kernels_does_not() {
    // The comparison can fail: this one always stops the tick, the kernel's menu rarely did.
    let Some(path) = recording("kvm-guest/sleeploop.dat") else { return };
    let report = run(&request(&[&path], "kvm-guest", "deepest", &["menu"]));
    let f = report.traces[0].fidelity.clone().unwrap();
    assert!(f.same_tick_pct.is_some_and(|pct| pct < 90.0), "{f:?}");
    assert!(!f.partings.is_empty());
}

#[test]
fn a_governor_that_is_not_here_or_not_named_leaves_fidelity_open() {
    let Some(path) = recording("kvm-guest/idle_quiet.dat") else { return };
    for (governor, word) in [("", "--kernel-governor"), ("other:qcom-cpu-lpm", "qcom-cpu-lpm")] {
        let report = run(&request(&[&path], "kvm-guest", governor, &["menu"]));
        let why = report.traces[0].fidelity.clone().unwrap_err();
        assert!(why.why().contains(word), "{why}");
    }
}

#[test]
fn the_cpu_whose_idle_task_is_not_in_the_recording_is_left_out_with_the_reason() {
    let Some(path) = recording("kvm-guest/rtapp60.dat") else { return };
    let report = run(&request(&[&path], "kvm-guest", "menu", &["menu"]));
    let head = &report.traces[0].head;
    assert_eq!(head.cpus, [0]);
    let [left] = &head.left_out[..] else { panic!("{:?}", head.left_out) };
    assert_eq!(left.cpu, 1);
    assert!(
        left.why.contains("no idle events") && left.why.contains("switched to its idle task"),
        "{}",
        left.why
    );
    assert!(
        head.health.is_empty() || head.health.iter().all(|h| h.count <= 2),
        "edges only: {:?}",
        head.health
    );
}

#[test]
fn menu_with_the_kernels_true_inputs_makes_its_decisions() {
    let Some(path) = recording("kvm-guest/decisions/menu_b.cpu0.csv.xz") else { return };
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    let result = drive(&"menu".parse().unwrap(), &path, &machine, 0).unwrap();
    assert_eq!(result.decisions + result.unknown_state, 82_997, "every row of the file");
    assert!(result.unknown_state < 100, "{}", result.unknown_state);
    assert!(result.same_pct() >= 99.99, "{:.4} %: {:#?}", result.same_pct(), result.first);
    assert!(result.diverging() <= result.other_state + result.other_tick);
    assert!(result.next_to_aborted <= result.diverging());
    // And another governor does not.
    let other = drive(&"deepest".parse().unwrap(), &path, &machine, 0).unwrap();
    assert!(other.same_pct() < 90.0, "{:.4} %", other.same_pct());
}

#[test]
fn ladder_and_haltpoll_with_the_kernels_true_inputs_make_its_decisions() {
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    for (name, governor, rows) in [("ladder_b", "ladder", 67_431), ("haltpoll200_a", "haltpoll", 129_803)] {
        let Some(path) = recording(&format!("kvm-guest/decisions/{name}.cpu0.csv.xz")) else { return };
        let result = drive(&governor.parse().unwrap(), &path, &machine, 0).unwrap();
        assert_eq!(result.decisions + result.unknown_state, rows, "{name}: every row of the file");
        assert!(result.unknown_state < 10, "{name}: {}", result.unknown_state);
        assert!(result.same_pct() >= 99.99, "{name}: {:.4} %: {:#?}", result.same_pct(), result.first);
    }
}

/// The lines of a packed table, the head first.
fn lines(path: &Path) -> Vec<String> {
    let mut text = String::new();
    liblzma::read::XzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// A table of `rows` under `head`, driven.
fn driven(head: &str, rows: &[String], governor: &str) -> Agreement {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.csv");
    fs::write(&path, [slice::from_ref(&head.to_owned()), rows].concat().join("\n")).unwrap();
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    drive(&governor.parse().unwrap(), &path, &machine, 0).unwrap()
}

#[test]
fn a_table_with_the_governors_state_agrees_from_any_first_row_on() {
    let quiet = root().join("tests/data/kvm-guest/idle_quiet.truth.csv.xz");
    let lines_of_quiet = lines(&quiet);
    let (head, rows) = lines_of_quiet.split_first().unwrap();
    for first in 0..rows.len() - 1 {
        let result = driven(head, &rows[first..], "menu");
        assert_eq!(result.diverging(), 0, "from row {first}: {:#?}", result.first);
        // The first, and the next where the copies polled in the first or did not.
        assert!(result.unknown_state <= 2, "from row {first}: {}", result.unknown_state);
    }
    for (name, governor) in [("menu_b", "menu"), ("ladder_b", "ladder")] {
        let Some(path) = recording(&format!("kvm-guest/decisions/{name}.cpu0.csv.xz")) else { return };
        let mut lines = lines(&path);
        // As `record` writes them.
        for i in 0..2 {
            for count in ["promotion", "demotion"] {
                lines[0] =
                    lines[0].replace(&format!("ladder{i}_{count}_count"), &format!("ladder_{count}s{i}"));
            }
        }
        let (head, rows) = lines.split_first().unwrap();
        // Where the recorder changed the latency limit, a few rows have the one from before.
        let whole = driven(head, rows, governor);
        let (mut compared, mut differ, mut unknown) = (0, 0, 0);
        for part in rows.chunks(101) {
            let result = driven(head, part, governor);
            compared += result.decisions;
            differ += result.diverging() - result.next_to_aborted;
            unknown += result.unknown_state;
        }
        assert!(compared + unknown == rows.len() as u64 && unknown * 50 <= compared, "{name}: {unknown}");
        assert!(differ <= whole.diverging() && whole.diverging() < 8, "{name}: {differ} differ");
    }
}

#[test]
fn without_the_governors_state_no_choice_soon_after_the_first_row_counts_as_another() {
    let lines = lines(&root().join("tests/data/kvm-guest/idle_quiet.truth.csv.xz"));
    let (head, rows) = lines.split_first().unwrap();
    let head = head.replace("menu_bucket", "bucket");
    let mut unknown = 0;
    for first in 0..rows.len() - 50 {
        let result = driven(&head, &rows[first..first + 40], "menu");
        assert_eq!(result.diverging(), 0, "from row {first}: {:#?}", result.first);
        unknown += result.unknown_state;
    }
    assert!(unknown > 0);
    // Later ones do.
    assert!(driven(&head, rows, "shallow").diverging() > 0);
}

#[test]
fn decisions_of_a_cpu_or_file_that_is_not_there_are_refused_with_its_name() {
    let machine = idlewise_platform::find("mt8196").unwrap();
    let menu = "menu".parse().unwrap();
    let nowhere = std::path::Path::new("no-such-file.csv");
    let text = idlewise_testkit::error_text(drive(&menu, nowhere, &machine, 99));
    assert!(text.contains("mt8196") && text.contains("99"), "{text}");
    let text = idlewise_testkit::error_text(drive(&menu, nowhere, &machine, 0));
    assert!(text.contains("no-such-file.csv"), "{text}");
}

/// Of two tables that differ in `nr_iowait` only, menu of 6.1 has made the choices of the one: it divides its latency limit by the
/// tasks that wait for I/O.
#[test]
fn tasks_that_wait_for_io_are_read_from_a_table() {
    let machine = idlewise_platform::find("pixel6").unwrap();
    let deepest = machine.clusters[0].table.len() - 1;
    let same = |waiting: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let mut text = String::from(
            "cpu,ts_entry_ns,state,latency_req0,dis0,dis1,tick_stopped_before,idle_calls_delta,n_switch_out,got_tick_prev,\
             prev_residency_ns,poll_time_limit_prev,idle_entry_rel,hrt_expires_next_rel,menu_sleep_length_ns,menu_tick_wakeup,\
             exit_rel_ns,residency_ns,nr_iowait\n",
        );
        for i in 0..40_u64 {
            let start = 1_000_000_000 + i * 20_000_000;
            text += &format!(
                "0,{start},{deepest},0,0,0,0,1,1,0,10000000,0,-100,10000000,10000100,0,10000000,10000000,{waiting}\n"
            );
        }
        fs::write(&path, text).unwrap();
        drive(&"menu-6.1".parse().unwrap(), &path, &machine, 0).map_err(|e| e.to_string())
    };
    let [none, empty, many] = ["0", "", "60000"].map(|waiting| same(waiting).unwrap());
    assert!(none.decisions > 20, "{none:?}");
    assert_eq!((none.other_state, empty.other_state), (0, 0), "{:#?}", none.first);
    assert_eq!(many.other_state, many.decisions, "{many:?}");
    let why = same("-1").unwrap_err();
    assert!(why.contains("column nr_iowait: -1 is no number of tasks"), "{why}");
}
