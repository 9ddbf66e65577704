// SPDX-License-Identifier: GPL-2.0-only
//! Are counters read right from texts that programs, mailers and accidents changed, and kept apart from those of another boot?

use idlewise_machine::diff::Meaning;
use idlewise_platform::Platform;

use crate::pasted_counters::{ACPI, INTEL, TURBOSTAT, done, dump, idle_info, read, states, usages};

/// The lines of `dump`, each behind `before`.
fn prefixed(before: &str, dump: &str) -> String {
    dump.lines().map(|l| format!("{before}{l}\n")).collect()
}

#[test]
fn hosts_that_a_program_names_are_two_runs() {
    let (a, b) = (dump(&INTEL, 1), dump(&INTEL, 3));
    let head = |form: &str, of: [&str; 2]| -> String {
        let of = of.map(|name| form.replace("HOST", name));
        format!("{}\n{a}{}\n{b}", of[0], of[1])
    };
    let heads = [
        "HOST | CHANGED | rc=0 >>",
        "---------------\nHOST\n---------------",
        "$ hostname; grep -r . /sys/devices/system/cpu/cpu*/cpuidle\nHOST",
        "me@laptop:~$ hostname\nHOST",
        "hostname\nHOST",
        "+ ssh HOST grep -r . /sys/devices/system/cpu/cpu*/cpuidle",
        "me@laptop:~$ ssh -p 22 root@HOST 'grep -r . /sys/devices/system/cpu/'",
        "$ adb -s HOST shell grep -r . /sys/devices/system/cpu",
        "[1] 15:12:57 [SUCCESS] HOST",
        "host: HOST",
        "/proc/sys/kernel/hostname:HOST",
    ];
    for form in heads {
        let (r, text) = done(&[&head(form, ["node17", "node18"])]);
        assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2), "{form}: {text}");
        assert!(
            text.contains("the machine is node17 in the first and node18 in the second"),
            "{form}: {text}"
        );
        let (r, text) = done(&[&head(form, ["node17", "node17"])]);
        assert_eq!((r.meaning, usages(&r)), (Meaning::Looks, vec![Some(200); 3]), "{form}: {text}");
    }
    for form in ["HOST: ", "[HOST] ", "HOST | ", "HOST\t", "HOST:"] {
        let of = |host: &str, dump: &str| prefixed(&form.replace("HOST", host), dump);
        let (one, other) = (of("node17", &a), of("node18", &b));
        let mixed: String = one.lines().zip(other.lines()).map(|(a, b)| format!("{a}\n{b}\n")).collect();
        for files in [&[one.as_str(), &other][..], &[&mixed]] {
            let (r, text) = done(files);
            assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2), "{form}: {text}");
            assert!(
                text.contains("the machine is node17 in the first and node18 in the second"),
                "{form}: {text}"
            );
        }
        assert_eq!(usages(&done(&[&one, &of("node17", &b)]).0), [Some(200); 3], "{form}");
    }
    // Times, numbers of lines and prose are no machines.
    for form in ["[   12.345] ", "12: ", "before: ", "I see in "] {
        let (r, text) = done(&[&prefixed(form, &a), &prefixed(form, &b)]);
        assert_eq!(usages(&r), [Some(200); 3], "{form}: {text}");
    }
    let (r, text) = done(&[&format!("we use ssh to reach cpu 3\n{a}ssh works\n{b}")]);
    assert_eq!(usages(&r), [Some(200); 3], "{text}");
}

#[test]
fn another_kernel_or_boot_is_two_runs() {
    let with = |line: &str, times| format!("{line}\n{}", dump(&INTEL, times));
    for (a, b, what) in [
        (
            "$ uname -r\n6.12.41",
            "$ uname -r\n6.13.0-rc1",
            "the kernel is 6.12.41 in the first and 6.13.0-rc1",
        ),
        ("6.12.41", "6.13.0-rc1", "machines or kernels differ"),
        (
            "/proc/version:Linux version 6.12.41 (x@y) #1 SMP",
            "/proc/version:Linux version 6.13.0 (x@y)",
            "kernels",
        ),
        ("kernel: 6.12.41", "kernel: 6.13.0", "machines or kernels differ"),
        (
            "/proc/sys/kernel/osrelease:6.12.41",
            "/proc/sys/kernel/osrelease:6.13.0",
            "machines or kernels differ",
        ),
        (
            "/proc/sys/kernel/random/boot_id:0a1b2c3d-0000-4000-8000-000000000001",
            "/proc/sys/kernel/random/boot_id:0a1b2c3d-0000-4000-8000-000000000002",
            "because the boots differ",
        ),
        (
            "/proc/uptime:300.12 580.00",
            "/proc/uptime:120.00 200.00",
            "the uptime is 300.12 s in the first and 120.00 s",
        ),
        (
            "$ cat /proc/uptime\n300.12 580.00",
            "$ cat /proc/uptime\n120.00 200.00",
            "because the boots differ",
        ),
        ("/proc/cmdline:BOOT_IMAGE=/vmlinuz quiet", "/proc/cmdline:BOOT_IMAGE=/vmlinuz", "command line"),
    ] {
        let behind = |line: &str, times| format!("{}{line}\n", dump(&INTEL, times));
        for texts in [[with(a, 1), with(b, 3)], [behind(a, 1), behind(b, 3)]] {
            let (r, text) = done(&[&texts[0], &texts[1]]);
            assert_eq!((r.meaning, r.runs[1].basis), (Meaning::Runs, "counters since boot"), "{a}: {text}");
            assert!(text.contains(what), "{a}: {text}");
        }
        let (r, text) = done(&[&(with(a, 1) + &with(b, 3))]);
        assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2), "{a}: {text}");
        assert_eq!(usages(&done(&[&with(a, 1), &with(a, 3)]).0), [Some(200); 3], "{a}");
    }
    // Uptime goes on; swapped files are said to be.
    let (first, later) = (with("/proc/uptime:100.00 180.00", 1), with("/proc/uptime:160.00 280.00", 3));
    assert_eq!(usages(&done(&[&first, &later]).0), [Some(200); 3]);
    assert!(read(&[&later, &first], None).unwrap_err().contains("are they swapped?"));
    // An address, an amount and two shares show neither kernel nor uptime.
    for (a, b) in [("10.0.0.1", "12.5 GB of 16.0"), ("5.00 94.00", "4.00 95.00")] {
        let (r, text) = done(&[&with(a, 1), &with(b, 3)]);
        assert_eq!(usages(&r), [Some(200); 3], "{text}");
    }
}

#[test]
fn marks_colours_and_complaints_are_passed_over() {
    let colour = |l: &str| {
        let (path, value) = l.split_once(':').unwrap();
        let of = |colour: &str, text: &str| format!("\u{1b}[{colour}m\u{1b}[K{text}\u{1b}[m\u{1b}[K");
        of("35", path) + &of("36", ":") + &of("01;31", value) + "\n"
    };
    let coloured = |text: String| text.lines().map(colour).collect::<String>();
    let (a, b) = (dump(&INTEL, 1), dump(&INTEL, 3));
    let path = "/sys/devices/system/cpu/cpu0/cpuidle/state1";
    for (a, b) in [
        (coloured(a.clone()), coloured(b.clone())),
        (format!("\u{feff}{a}"), format!("\u{feff}{b}")),
        (format!("grep: {path}/power: Permission denied\n{a}"), b.clone()),
        (
            a.clone(),
            format!("grep: {path}/usage: No such file or directory\n{b}cat: {path}/s2idle: Is a directory\n"),
        ),
        (format!("bash: {path}/usage: Permission denied\n{a}"), b.clone()),
    ] {
        let (r, text) = done(&[&a, &b]);
        assert_eq!((r.meaning, usages(&r)), (Meaning::Looks, vec![Some(200); 3]), "{text}");
        let p = Platform::from_sysfs_dump(&a, "x.txt").unwrap();
        assert_eq!(p.clusters[0].table.states().len(), 3);
    }
    let (r, _) = done(&[&format!("\u{feff}{TURBOSTAT}")]);
    assert_eq!(states(&r)[2].usage, Some(300));
}

#[test]
fn folders_are_in_the_order_of_their_numbers() {
    let at = |folder: &str, times| dump(&INTEL, times).replace("/sys/", &format!("./{folder}/sys/"));
    let (r, text) = done(&[&(at("iter-1", 1) + &at("iter-10", 9) + &at("iter-2", 3))]);
    assert_eq!(
        r.runs.iter().map(|r| r.all.states[0].usage).collect::<Vec<_>>(),
        [Some(200), Some(600)],
        "{text}"
    );
    assert!(text.contains("iter-1 to iter-2") && text.contains("iter-2 to iter-10"), "{text}");
    let (r, text) = done(&[&(at("after", 3) + &at("before", 1))]);
    assert_eq!(usages(&r), [Some(200); 3], "{text}");
}

#[test]
fn lines_with_a_colon_are_no_states_of_idle_info() {
    let (a, b) = (idle_info(&[0, 1], true, 1), idle_info(&[0, 1], true, 3));
    let (r, text) = done(&[&format!("before:\n{a}\nafter:\n{b}\nThanks:\nme\n")]);
    assert_eq!(usages(&r), [Some(40), Some(800), Some(160)], "{text}");
    // Hosts, as in dumps of sysfs.
    let (r, text) =
        done(&[&format!("[root@node17 ~]# cpupower idle-info\n{a}[root@node18 ~]# cpupower idle-info\n{b}")]);
    assert_eq!((r.meaning, r.runs.len()), (Meaning::Runs, 2), "{text}");
}

#[test]
fn of_two_forms_in_a_file_one_is_read_and_the_other_named() {
    let of_paths = dump(&INTEL, 1);
    let (r, text) = done(&[&(idle_info(&[0], false, 1) + &of_paths)]);
    assert_eq!(usages(&r), [Some(100); 3], "{text}");
    assert!(text.contains("what it holds of cpupower idle-info, too, is not read"), "{text}");
    let (r, text) = done(&[&(TURBOSTAT.to_owned() + &idle_info(&[0], false, 1))]);
    assert_eq!(usages(&r), [Some(10), Some(200), Some(40)], "{text}");
    assert!(text.contains("what it holds of turbostat, too, is not read"), "{text}");
    let two = dump(&INTEL, 1) + &dump(&ACPI, 1);
    let refused = Platform::from_sysfs_dump(&two, "x.txt").unwrap_err().to_string();
    assert!(
        refused.contains("state1 is C1 (1/1 us) in the first and C1_ACPI (1/1 us) in the second"),
        "{refused}"
    );
}

#[test]
fn states_that_turbostat_was_not_asked_for_are_not_known() {
    let (r, text) = done(&["CPU\tC6%\n-\t74.00\n0\t70.80\n1\t77.20\n"]);
    assert_eq!(
        (states(&r)[0].idle_pct, r.runs[0].cpus[0].states[0].idle_pct),
        (Some(74.0), Some(70.8)),
        "{text}"
    );
    assert!(text.contains("C6 ? ? 74.00 ? ? all ? ? ? ? ?"), "{text}");
    assert!(text.contains("not all idle states are shown, so that % idle are shares of all time"), "{text}");
    let (r, text) = done(&["CPU\tC6\tC6%\n-\t900\t74.00\n0\t400\t70.80\n1\t500\t77.20\n5.000000 sec\n"]);
    assert_eq!(
        (states(&r)[0].usage, r.runs[0].all.usage, r.runs[0].all.time_us),
        (Some(900), None, None),
        "{text}"
    );
    assert_eq!((states(&r)[0].usage_pct, states(&r)[0].time_us), (None, Some(7_400_000)), "{text}");
}

#[test]
fn lengths_of_intervals_and_decimal_commas_are_read() {
    let rows = TURBOSTAT.split_once('\n').unwrap().1;
    let both = format!("5.001234 sec\n{rows}4.500000 sec\n{rows}");
    let (r, text) = done(&[&both]);
    assert_eq!(r.runs.iter().map(|r| r.seconds).collect::<Vec<_>>(), [Some(5.001_234), Some(4.5)], "{text}");
    let (other, text) = done(&[&both.replace('.', ",")]);
    assert_eq!(other.runs, r.runs, "{text}");
    let monitor = "sleep took 5,00123 seconds and exited with status 0\n    | Idle_Stats\n CPU| POLL | C1\n   0|  0,00| 50,00\n";
    let (r, text) = done(&[monitor]);
    assert_eq!((r.runs[0].seconds, states(&r)[1].time_us), (Some(5.00123), Some(2_500_615)), "{text}");
}

#[test]
fn a_table_that_a_mailer_broke_is_joined_or_refused() {
    let rows = "usec  Time_Of_Day_Seconds  Package  Die  Node  Core  CPU  APIC  X2APIC  Avg_MHz  Busy%  C1ACPI  C2ACPI  \
                C3ACPI  C1ACPI%  C2ACPI%  C3ACPI%  PkgWatt\n\
                100  1700000000.5  -  -  -  -  -  -  -  40  1.5  100  200  300  1.00  7.50  90.00  6.1\n\
                90  1700000000.4  0  0  0  0  0  0  0  40  1.5  60  120  100  1.00  7.50  90.00  6.1\n\
                90  1700000000.5  0  0  0  1  1  2  2  40  1.5  40  80  200  1.00  7.50  90.00\n";
    let broken = |text: &str, width: usize| {
        let mut out = String::new();
        for line in text.lines() {
            let mut length = 0;
            for word in line.split_whitespace() {
                let gap = if length == 0 { "" } else { "  " };
                if length > 0 && length + gap.len() + word.len() > width {
                    out += "\n";
                    length = 0;
                } else {
                    out += gap;
                    length += gap.len();
                }
                out += word;
                length += word.len();
            }
            out += "\n";
        }
        out
    };
    let (whole, _) = done(&[rows]);
    for text in [broken(rows, 72), prefixed("> ", &broken(rows, 70)), format!("Here are the numbers\n{rows}")]
    {
        let (r, shown) = done(&[&text]);
        assert_eq!((r.runs.len(), r.runs[0].cpus.len()), (1, 2), "{text}\n{shown}");
        assert_eq!(r.runs[0].all, whole.runs[0].all, "{text}\n{shown}");
    }
    let damaged = broken(rows, 72).replace("7.50  90.00  6.1\n", "7.50  90.00  6.1  1  2  3\n");
    let refused = read(&[&damaged], None).unwrap_err();
    assert!(refused.contains("broken") && refused.contains("18 columns"), "{refused}");
}

/// The states of [`INTEL`] on these CPUs, each with the counters `times` as many.
fn on(cpus: &[(u32, u64)]) -> String {
    cpus.iter().map(|(cpu, times)| dump(&INTEL, *times).replace("cpu0", &format!("cpu{cpu}"))).collect()
}

#[test]
fn a_cpu_whose_counters_began_again_is_shown_since_then() {
    let (r, text) = done(&[&on(&[(0, 10), (1, 20)]), &on(&[(0, 13), (1, 2)])]);
    assert_eq!(r.meaning, Meaning::Looks, "{text}");
    let of = |cpu: usize| r.runs[0].cpus[cpu].usage;
    assert_eq!((of(0), of(1)), (Some(900), Some(600)), "{text}");
    assert!(
        text.contains("cpu1 state0: `usage` goes back from 2000 to 200: its counters began at 0 again"),
        "{text}"
    );
    // All of them: another boot.
    let (r, _) =
        done(&[&on(&[(0, 10), (1, 20)]), &(on(&[(0, 3), (1, 2)]).replace("usage:300", "usage:30000"))]);
    assert_eq!(r.meaning, Meaning::Runs);
}

#[test]
fn one_value_that_goes_back_a_little_or_begins_again_is_one_value() {
    let (a, b) = (on(&[(0, 10), (1, 20)]), on(&[(0, 13), (1, 22)]));
    let (r, text) = done(&[&a, &b.replacen("time:65000", "time:49900", 1)]);
    assert_eq!(
        (r.meaning, states(&r)[0].time_us, states(&r)[1].time_us),
        (Meaning::Looks, None, Some(25_000)),
        "{text}"
    );
    assert!(
        text.contains("cpu0 state0: `time` goes back from 50000 to 49900: its difference is not known"),
        "{text}"
    );
    // 32 bits.
    let (r, text) =
        done(&[&a.replacen("usage:1000", "usage:4294967000", 1), &b.replacen("usage:1300", "usage:704", 1)]);
    assert_eq!((r.meaning, r.runs[0].cpus[0].states[0].usage), (Meaning::Looks, Some(1000)), "{text}");
    assert!(text.contains("taken as a counter of 32 bits"), "{text}");
}

#[test]
fn a_dump_that_is_cut_off_is_read_as_far_as_it_goes() {
    let (a, b) = (on(&[(0, 1), (1, 1), (2, 1)]), on(&[(0, 3), (1, 3), (2, 3)]));
    let last = b.find("cpu2/cpuidle/state2").unwrap();
    for cut in [&b[..last + 3], &b[..last + 40], &b[..b.len() - 40]] {
        let (r, text) = done(&[&a, cut]);
        assert_eq!((r.meaning, usages(&r)), (Meaning::Looks, vec![Some(400); 3]), "{cut}\n{text}");
        assert!(text.contains("1.txt: the text ends within cpu2, which is left out"), "{cut}\n{text}");
    }
    // Within a number.
    let number = |text: &str| {
        text.lines().filter(|l| !l.contains("rejected")).map(|l| format!("{l}\n")).collect::<String>()
    };
    let (a, b) = (number(&on(&[(0, 40), (1, 40)])), number(&on(&[(0, 60), (1, 60)])));
    let (r, text) = done(&[&a, &b[..b.len() - 2]]);
    assert_eq!(usages(&r), [Some(2000); 3], "{text}");
    assert!(text.contains("the text ends there, perhaps within a number: cpu1 is left out"), "{text}");
    // The end of the last line is missing and nothing else.
    let (r, text) = done(&[&a, &b[..b.len() - 1]]);
    assert_eq!((usages(&r), text.contains("the text ends")), (vec![Some(4000); 3], false), "{text}");
}

#[test]
fn what_diff_prints_of_two_dumps_is_refused() {
    let (a, b) = (dump(&INTEL, 1), dump(&INTEL, 3));
    let lines = |sign: &str, of: &str| prefixed(sign, &of.lines().take(4).collect::<Vec<_>>().join("\n"));
    let unified = format!("--- a\n+++ b\n@@ -1,4 +1,4 @@\n{}{}", lines("-", &a), lines("+", &b));
    let normal = format!("1,4c1,4\n{}---\n{}", lines("< ", &a), lines("> ", &b));
    let side: String = a.lines().zip(b.lines()).map(|(a, b)| format!("{a}\t\t|\t{b}\n")).collect();
    for (text, program) in [(unified, "`diff -u`"), (normal, "`diff`"), (side, "`diff -y`")] {
        let refused = read(&[&text], None).unwrap_err();
        assert!(refused.contains(program) && refused.contains("give the two dumps themselves"), "{refused}");
    }
}

#[test]
fn a_form_that_is_not_read_is_refused_with_those_that_are() {
    for text in [
        "Pkg%pc2\tPkg%pc6\tPkgWatt\n5.00\t60.00\t6.10\n",
        "<html><h2>Processor Idle State Report</h2></html>\n",
    ] {
        let refused = read(&[text], None).unwrap_err();
        for form in [
            "grep -r",
            "cat state*/*",
            "cpupower idle-info",
            "cpupower monitor",
            "turbostat",
            "powertop --csv",
        ] {
            assert!(refused.contains(form), "{refused}");
        }
    }
}
