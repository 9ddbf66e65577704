// SPDX-License-Identifier: GPL-2.0-only
//! Does a replay prove the kernel's choices with the inputs that were recorded beside the trace?
//!
//! `inputs/menu.csv` is the beginning of a recording of `crates/recorder/examples/inputs.rs` on a KVM guest with Linux 6.18.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_conform::input_accuracy::{InputAccuracy, taped};
use idlewise_model::{Confidence, NEVER_NS};
use idlewise_recording::{Recording, RecordingOptions};
use idlewise_study::info::info;
use idlewise_study::replay::{ReplayRequest, replay};
use idlewise_testkit::decisions_of_sleeploop as table;
use idlewise_view as view;

/// A recording with a side-car that ends with `more`, and `table` beside it.
fn beside(folder: &Path, more: &str, table: Option<&str>) -> PathBuf {
    let path = folder.join("s.dat");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/sleeploop.dat");
    fs::copy(data, &path).unwrap();
    let head = "platform = \"kvm-guest\"\ngovernor = \"menu\"\n[inputs]\nfile = \"s.inputs.csv\"\n";
    fs::write(folder.join("s.toml"), format!("{head}{more}")).unwrap();
    if let Some(table) = table {
        fs::write(folder.join("s.inputs.csv"), table).unwrap();
    }
    path
}

fn of(path: PathBuf, kernel_governor: Option<&str>) -> idlewise_study::replay::ReplayReport {
    let mut request = ReplayRequest {
        traces: vec![path],
        governors: vec!["shallow".to_owned()],
        ..ReplayRequest::default()
    };
    request.setup.recording.kernel_governor = kernel_governor.map(str::to_owned);
    replay(&request, &|_, _| ()).unwrap()
}

#[test]
fn every_choice_is_made_again_and_it_is_said_first() {
    let folder = tempfile::tempdir().unwrap();
    let report = of(beside(folder.path(), "", Some(&table())), None);
    let p = &report.traces[0].parity[0];
    assert_eq!((p.kernel_governor.as_str(), p.governor.as_str()), ("menu", "menu"));
    assert_eq!((p.recorded, p.cpus.as_slice()), (80, &[0, 1][..]));
    let c = p.result.as_ref().unwrap();
    assert_eq!(c.decisions + c.unknown_state + p.given_up, 80);
    assert!(c.decisions > 50 && c.same == c.decisions && !p.is_broken(), "{:#?}", c.first);
    let first = &view::replay(&report).preamble[0];
    assert_eq!(first.label(), Some("parity"));
    let words = view::agreement(p);
    let told =
        format!("{0} of {0} (100.00 %), fed with the recorded inputs of CPUs 0-1 (s.inputs.csv)", c.same);
    assert!(words.contains(&told), "{words}");
}

#[test]
fn another_governor_or_an_altered_choice_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let report = of(beside(folder.path(), "", Some(&table())), Some("shallow"));
    assert!(report.traces[0].parity[0].is_broken());

    // The last line's keep or stop of the tick.
    let whole = table();
    let (before, last) = whole.trim_end().rsplit_once('\n').unwrap();
    let mut cells: Vec<&str> = last.split(',').collect();
    let at = whole.lines().next().unwrap().split(',').position(|c| c == "idle_calls_delta").unwrap();
    cells[at] = if cells[at] == "0" { "1" } else { "0" };
    let report = of(beside(folder.path(), "", Some(&format!("{before}\n{}\n", cells.join(",")))), None);
    let p = &report.traces[0].parity[0];
    let c = p.result.as_ref().unwrap();
    assert_eq!((c.decisions - c.same, c.other_tick, p.is_broken()), (1, 1, true));
    assert!(c.first[0].to_string().starts_with("line 81: "), "{:?}", c.first);
}

#[test]
fn what_cannot_be_proved_is_not_claimed() {
    let folder = tempfile::tempdir().unwrap();
    for (more, table, wanted) in [
        ("", None, "s.inputs.csv, which the recording's description names, is not there"),
        ("unproven = \"the governor changed\"\n", Some(table()), "the governor changed"),
    ] {
        let report = of(beside(folder.path(), more, table.as_deref()), None);
        let p = &report.traces[0].parity[0];
        assert!(p.result.as_ref().is_err_and(|why| why.why().contains(wanted)) && !p.is_broken(), "{p:?}");
    }
}

#[test]
fn a_table_that_was_renamed_with_its_recording_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let trace = beside(folder.path(), "", Some(&table()));
    let renamed = trace.with_file_name("t.dat");
    for (from, to) in [("s.dat", "t.dat"), ("s.toml", "t.toml"), ("s.inputs.csv", "t.inputs.csv")] {
        fs::rename(folder.path().join(from), folder.path().join(to)).unwrap();
    }
    let report = of(renamed, None);
    let p = &report.traces[0].parity[0];
    assert!(p.result.is_ok(), "{p:?}");
}

#[test]
fn after_a_gap_a_new_beginning_is_made() {
    let whole = table();
    let head: Vec<&str> = whole.lines().next().unwrap().split(',').collect();
    let end_of = ["exit_rel_ns", "residency_ns"].map(|name| head.iter().position(|h| *h == name).unwrap());
    // CPU 1, with its 20th row cut off and the next ten missing.
    let rows: Vec<&str> = whole.lines().skip(1).filter(|l| l.starts_with("1,")).collect();
    let at = (20..).find(|at| rows[*at].split(',').nth(2) == Some("0")).unwrap();
    let mut cells: Vec<&str> = rows[at].split(',').collect();
    end_of.iter().for_each(|i| cells[*i] = "");
    let cut = cells.join(",");
    let head = head.join(",");
    let lines = [&[head.as_str()], &rows[..at], &[cut.as_str()], &rows[at + 10..]].concat();
    let folder = tempfile::tempdir().unwrap();
    let report = of(beside(folder.path(), "", Some(&(lines.join("\n") + "\n"))), None);
    let p = &report.traces[0].parity[0];
    let c = p.result.as_ref().unwrap();
    assert_eq!((p.cpus.as_slice(), p.recorded), (&[1][..], rows.len() as u64 - 9));
    // The table has the state in which the governor goes on.
    assert!(c.same == c.decisions && c.unknown_state == 0, "{:?}", c.first);
}

/// The inputs of CPU 0's tape as if the kernel had recorded them, its first graded sleep length later by `late_ns` and the tick stopped
/// where it was not, at that entry.
fn table_of_the_tape(path: &Path, late_ns: i64) -> String {
    let recording = Recording::open(path, &RecordingOptions::default()).unwrap();
    let cpu = recording.tape.cpus.iter().find(|c| c.cpu == 0).unwrap();
    let inputs = taped(cpu, recording.machine.cluster_of(0).unwrap()).unwrap();
    let pieces = cpu.pieces.to_vec().unwrap();
    let wrong = pieces
        .iter()
        .zip(&inputs)
        .position(|(p, i)| p.timer_confidence() < Confidence::Bounded && i.sleep_length_ns < NEVER_NS / 2)
        .unwrap();
    let mut csv =
        "cpu,ts_entry_ns,state,idle_calls_delta,latency_req0,dis0,dis1,tick_stopped_before,n_switch_out,\
        got_tick_prev,prev_residency_ns,poll_time_limit_prev,idle_entry_rel,hrt_expires_next_rel,\
        menu_sleep_length_ns,exit_rel_ns,residency_ns,latency_limit_ns,delta_tick_ns\n"
            .to_owned();
    for (n, (piece, i)) in pieces.iter().zip(&inputs).enumerate() {
        let at_ns = piece.start_ns - 200;
        let late = if n == wrong { late_ns } else { 0 };
        let stopped = i.tick_stopped != (late != 0);
        csv += &format!(
            "0,{at_ns},1,0,0,0,0,{},1,0,1000,0,0,,{},1000,1000,{},{}\n",
            u8::from(stopped),
            i.sleep_length_ns.saturating_add(late),
            i.latency_limit_ns,
            i.delta_tick_ns
        );
    }
    csv
}

#[test]
fn wrong_inputs_of_the_tape_are_counted_with_their_grade() {
    let folder = tempfile::tempdir().unwrap();
    let path = beside(folder.path(), "", None);
    let wrong = |late_ns: i64| -> Vec<InputAccuracy> {
        let table = table_of_the_tape(&path, late_ns);
        fs::write(folder.path().join("s.inputs.csv"), table).unwrap();
        let there = info(&path, &RecordingOptions::default(), &[]).unwrap();
        let lines = view::info(&there).preamble;
        let said = lines.iter().any(|l| l.text().contains("1 of") && l.text().contains("are wrong"));
        assert_eq!(said, late_ns != 0);
        there.replayed.unwrap().true_inputs
    };
    let all_right = wrong(0);
    assert_eq!(all_right.len(), 4, "the table has neither utilisation nor iowait: {all_right:#?}");
    assert!(all_right.iter().all(|t| t.compared > 500 && t.same == t.compared && t.graded_wrong == 0));
    let later = wrong(1_000_000);
    let counts: Vec<u64> = later.iter().map(|t| t.graded_wrong).collect();
    assert_eq!(counts, [1, 0, 1, 0], "{later:#?}");
}

/// Guests that were idle, of which `idlewise record --inputs` has recorded all events of the scheduler, with `kernel.sched_schedstats` off.
#[test]
fn no_input_of_debians_kernels_is_wrong_that_is_graded_recorded_or_derived() {
    for (name, decisions) in [("6.1-idle-ladder", 162), ("6.12-idle-menu", 112), ("7.3-idle-ladder", 209)] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/data/debian/{name}.dat"));
        let there = info(&path, &RecordingOptions::default(), &[]).unwrap().replayed.unwrap();
        let [parity] = there.parity.as_slice() else { panic!("{name}: {:?}", there.parity) };
        let of_all = parity.result.as_ref().unwrap();
        assert_eq!((of_all.decisions, of_all.same), (decisions, decisions), "{name}: {:#?}", of_all.first);
        assert!(there.true_inputs.iter().any(|t| t.name == "iowait" && t.compared + 2 > decisions), "{name}");
        let wrong: Vec<_> = there.true_inputs.iter().filter(|t| t.graded_wrong > 0).collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
}
