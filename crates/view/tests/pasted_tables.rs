// SPDX-License-Identifier: GPL-2.0-only
//! Are tables that were cut, encoded, broken or damaged on their way read as what they were, or refused with the reason?

use crate::pasted_counters::{done, read, usages};

/// A table of turbostat with these rows, of a machine whose CPUs have two states.
fn table(rows: &[&str]) -> String {
    let head = "Core\tCPU\tAvg_MHz\tBusy%\tBzy_MHz\tPOLL\tC1\tC6\tPOLL%\tC1%\tC6%\tCPU%c1\tPkgTmp\tTotl%C0\tPkgWatt\n";
    rows.iter().fold(head.to_owned(), |text, row| text + row + "\n")
}

const ALL: &str = "-\t-\t60\t1.60\t3800\t3\t40\t900\t0.00\t1.00\t97.40\t2.00\t40\t30.00\t12.50";
const CPU_0: &str = "0\t0\t90\t2.40\t3800\t2\t10\t500\t0.00\t0.60\t97.00\t2.00\t40\t30.00\t12.50";
const CPU_1: &str = "1\t1\t30\t0.80\t3800\t1\t30\t400\t0.00\t1.40\t97.80\t2.00";

#[test]
fn a_row_of_all_cpus_counts_only_where_all_are_there() {
    let (r, text) = done(&[&table(&[ALL, CPU_0, CPU_1])]);
    assert_eq!(usages(&r), [Some(3), Some(40), Some(900)], "{text}");
    assert!(!text.contains("more than the CPUs"), "{text}");
    let (r, text) = done(&[&table(&[ALL, CPU_0])]);
    assert_eq!(usages(&r), [Some(2), Some(10), Some(500)], "{text}");
    assert!(text.contains("the row of all CPUs counts more than the CPUs that the text has"), "{text}");
    // Nothing of all together: the busy time of each CPU's own row counts.
    let busy = "0\t0\t2000\t58.00\t3800\t0\t10\t500\t0.00\t14.00\t28.00\t14.00\t40\t30.00\t12.50";
    let (r, text) = done(&[&table(&[busy])]);
    assert_eq!(r.runs[0].all.usage, Some(510), "{text}");
    assert!(text.contains("shares among the idle states"), "{text}");
}

#[test]
fn a_missing_tab_moves_no_value_under_another_column() {
    let whole = table(&[ALL, CPU_0, CPU_1]);
    // Between two names, between two values with two places, between two zeros.
    let names = whole.replace("Totl%C0\tPkgWatt", "Totl%C0PkgWatt");
    let values = whole.replace("30.00\t12.50", "30.0012.50");
    let (expected, _) = done(&[&whole]);
    for text in [&names, &values, &names.replace("30.00\t12.50", "30.0012.50")] {
        let (r, shown) = done(&[text]);
        assert_eq!(
            (&r.runs[0].all, &r.runs[0].cpus),
            (&expected.runs[0].all, &expected.runs[0].cpus),
            "{shown}"
        );
        assert!(shown.contains("Totl%C0 30.00, PkgWatt 12.50"), "{shown}");
    }
    let zeros = table(&["0\t0\t2\t0.10\t3800\t00\t5\t0.00\t0.00\t99.90\t2.00"]);
    assert_eq!(usages(&done(&[&zeros]).0), [Some(0), Some(0), Some(5)]);
    // 10 and 500 as one number: what stands under the counts is none, and the row is left out.
    let damaged = CPU_0.replace("10\t500", "10500");
    let (r, text) = done(&[&table(&[&damaged, CPU_1])]);
    assert_eq!((r.runs[0].cpus.len(), usages(&r)), (1, vec![Some(1), Some(30), Some(400)]), "{text}");
    assert!(text.contains("rows of CPUs that do not fit the columns, and are left out: 1"), "{text}");
}

#[test]
fn numbers_around_a_table_are_no_rows() {
    let table = table(&[ALL, CPU_0, CPU_1]);
    let (expected, _) = done(&[&table]);
    let (r, text) = done(&[&format!("{table}# echo 2000000 > max\n2000000\n2 3\n16 8\n")]);
    assert_eq!((r.runs.len(), r.runs[0].cpus.len()), (1, 2), "{text}");
    assert_eq!(r.runs[0].all, expected.runs[0].all);
}

#[test]
fn tables_of_two_machines_are_not_one() {
    let table = table(&[ALL, CPU_0, CPU_1]);
    let refused =
        read(&[&format!("root@ash:~# cat a\n{table}root@elm:~# cat b\n{table}")], None).unwrap_err();
    assert!(refused.contains("tables of several machines: ash, elm"), "{refused}");
    let (r, text) = done(&[&format!("root@ash:~# cat a\n{table}root@ash:~# cat b\n{table}")]);
    assert_eq!(r.runs.len(), 2, "{text}");
    // Another call may be on another machine: its CPUs are not added.
    let call = |driver: &str, cpu: u32, states: &[&str]| {
        let head = format!("CPUidle driver: {driver}\nCPUidle governor: menu\nanalyzing CPU {cpu}:\n\n");
        let count = format!("Number of idle states: {}\n", states.len());
        let state =
            |name: &&str| format!("{name}:\nFlags/Description: X\nLatency: 1\nUsage: 100\nDuration: 5000\n");
        head + &count + &states.iter().map(state).collect::<String>()
    };
    let two = call("intel_idle", 12, &["POLL", "C1", "C6"]) + &call("acpi_idle", 9, &["POLL", "C1", "C2"]);
    let (r, text) = done(&[&two]);
    assert_eq!(r.runs.len(), 2, "{text}");
    assert!(text.contains("A machine 1, counters since boot, 1 CPU, driver intel_idle"), "{text}");
    let same = call("acpi_idle", 3, &["POLL", "C1"]) + &call("acpi_idle", 30, &["POLL", "C1"]);
    assert!(read(&[&same], None).unwrap_err().contains("no CPU in common"));
}

#[test]
fn what_a_mail_encoded_is_decoded() {
    let table = table(&[ALL, CPU_0, CPU_1]);
    let (expected, _) = done(&[&table]);
    // Every line goes on in the next one after 40 signs.
    let soft = |line: &str| {
        line.as_bytes().chunks(40).map(|c| str::from_utf8(c).unwrap()).collect::<Vec<_>>().join("=\n")
    };
    let mail: String = table.lines().map(|line| soft(&line.replace('=', "=3D")) + "\n").collect();
    let headers = "Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n";
    let spaces: String = table.lines().map(|line| format!("=C2=A0 {line}=20\n")).collect();
    for text in [mail.clone(), format!("{headers}{mail}"), spaces] {
        assert_eq!(done(&[&text]).0.runs[0].all, expected.runs[0].all, "{text}");
    }
    let info = "**CPUidle driver: intel_idle**\nanalyzing CPU 0:  \n\nNumber of idle states: 4\n> **POLL**:  \nFlags/Description: X\n\
                Latency: 0\nUsage: 5\nDuration: 10\n**C1**:\nFlags/Description: X\nLatency: 2\nUsage: 7\nDuration: 90\n...\n";
    let (r, text) = done(&[info]);
    assert_eq!(
        r.runs[0].all.states.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(),
        ["POLL", "C1"],
        "{text}"
    );
    assert!(text.contains("does not have states 2, 3; shares are those among the others"), "{text}");
}

#[test]
fn a_table_that_is_broken_at_no_width_is_joined() {
    let text = "turbostat -S\n\nBusy%   Bzy_MHz POLL\nC1      C6\nPOLL%   C1% \nC6% PkgWatt\n\n6.26 2200\n1300 155\n64 0.00\n\
                93.00 0.74\n8.00\n\n6.30 2200\n1301 156\n65 0.00\n93.00 0.70\n8.10\n";
    let (r, shown) = done(&[text]);
    assert_eq!(r.runs.len(), 2, "{shown}");
    assert_eq!(usages(&r), [Some(1300), Some(155), Some(64)], "{shown}");
    assert!(shown.contains("Busy% 6.260, Bzy_MHz 2200, PkgWatt 8.000"), "{shown}");
    // A name before each row, of the person who compares.
    let named =
        "\tAvg_MHz Busy% C1 C6 C1% C6%\ngood:\t12 0.66 5 7 10.00 89.30\nbad+p:\t10 0.55 6 8 9.00 90.40\n";
    let (r, shown) = done(&[named]);
    assert_eq!((r.runs.len(), usages(&r)), (2, vec![Some(5), Some(7)]), "{shown}");
}

#[test]
fn a_form_that_is_not_read_is_called_by_its_name() {
    for (text, why) in [
        (
            "CPUidle driver: none\nanalyzing CPU 11:\n\nCPU 11: No idle states\n",
            "CPUs that have no idle states",
        ),
        (
            "analyzing CPU 0:\n\nNumber of idle states: 2\nAvailable idle states: POLL C1\n",
            "without latencies and counts",
        ),
        ("core CPU %c0 GHz TSC %c1\n0 0 57.01 5.10 3.40 22.78\n", "an old turbostat"),
        ("Busy% Bzy_MHz CPU%c1\n6.26 2200 93.74\n", "turbostat without columns of idle states"),
        ("| C-state | min | max | avg | total | hits | over | under |\n", "a table of idlestat"),
        ("     Pkg(HW)  |   Core(HW) |   CPU(OS) 0\n", "the screen of powertop"),
    ] {
        let refused = read(&[text], None).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
}
