// SPDX-License-Identifier: GPL-2.0-only
//! Is a mailed dump of `/sys/devices/system/cpu` read as the machine it came from?

use std::fmt::Write as _;
use std::path::PathBuf;

use idlewise_platform::{
    EnergyGrade, EntryKind, Origin, Platform, PlatformError, SysfsDump, SysfsState, cpu_list, diff,
};

fn shared(path: &str) -> Option<PathBuf> {
    let file = idlewise_checkout::shared().join(path);
    if !file.exists() {
        eprintln!("skipped: {path} is not here (set IDLEWISE_SHARED)");
        return None;
    }
    Some(file)
}

/// Two CPUs with `POLL`, `haltpoll idle`, and counters that depend on `run`.
fn dump(prefix: &str, run: u64) -> String {
    let mut text = String::new();
    for cpu in 0..2 {
        for (state, name, us) in [(0, "POLL", 0), (1, "haltpoll idle", 1)] {
            let p = format!("{prefix}cpu{cpu}/cpuidle/state{state}");
            let usage = 100 + run * 10 + state;
            let _ = writeln!(
                text,
                "{p}/above:0\n{p}/below:{run}\n{p}/desc:a: b\n{p}/disable:0\n{p}/latency:{us}\n{p}/name:{name}\n\
                 {p}/power:4294967295\n{p}/rejected:0\n{p}/residency:{us}\n{p}/time:{}\n{p}/usage:{usage}",
                usage * 7
            );
        }
    }
    text
}

#[test]
fn texts_of_a_state_are_no_longer_than_the_kernels() {
    for (from, to, words) in [
        (
            "name:haltpoll idle".to_owned(),
            "n".repeat(90),
            "state1: its `name` has 90 bytes, a kernel's at most 15",
        ),
        ("desc:a: b".to_owned(), "d".repeat(32), "its `desc` has 32 bytes, a kernel's at most 31"),
    ] {
        let key = from.split(':').next().unwrap();
        let text = dump("/sys/devices/system/cpu/", 1).replace(&from, &format!("{key}:{to}"));
        let said = Platform::from_sysfs_dump(&text, "d.txt").unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn counters_beyond_any_machine_s_are_left_out() {
    for file in ["usage", "time", "above", "below", "rejected", "s2idle/usage", "s2idle/time"] {
        let damaged = |n: u64| {
            let line = format!("/sys/devices/system/cpu/cpu0/cpuidle/state2/{file}:{n}\n");
            let text = dump("/sys/devices/system/cpu/", 1) + &line;
            let [one] = &SysfsDump::parse(&text, "d.txt").unwrap()[..] else { panic!("one dump") };
            let state = one.cpus[&Some(0)][&2].clone();
            (state == SysfsState::default(), one.damaged.clone())
        };
        let (unknown, said) = damaged(u64::MAX);
        let [said] = &said[..] else { panic!("{said:?}") };
        assert!(unknown && said.place == "d.txt:45", "{said:?}");
        let what = format!("cpu0 state2/{file} is 18446744073709551615, expected 1125899906842624 at most");
        assert_eq!(said.what, what);
        assert!(damaged((1 << 50) + 1).0);
        assert_eq!(damaged(1 << 50), (false, Vec::new()));
    }
}

#[test]
fn a_state_that_was_only_ever_refused_is_never_entered() {
    let dump = |usage: [u64; 2], rejected: u64, s2idle: u64, residency: u64| {
        let mut text = String::new();
        for (cpu, usage) in usage.iter().enumerate() {
            for (state, us, usage, rejected) in [(0, 1, 50, 0), (1, residency, *usage, rejected)] {
                let p = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}");
                let _ = writeln!(
                    text,
                    "{p}/latency:1\n{p}/name:S{state}\n{p}/residency:{us}\n{p}/usage:{usage}\n{p}/rejected:{rejected}\n\
                     {p}/s2idle/usage:{s2idle}"
                );
            }
        }
        let p = Platform::from_sysfs_dump(&text, "d.txt").unwrap();
        let c = &p.clusters[0];
        assert_eq!(c.info[0].entry, EntryKind::Normal);
        (c.info[1].entry, c.table.refused(), c.table.disabled_by_default(), p)
    };
    let never = 4_294_967_295;
    let kind = |d: (EntryKind, u16, u16, Platform)| (d.0, d.1, d.2);
    assert_eq!(kind(dump([0, 0], 7, 0, 900)), (EntryKind::Refused, 0b10, 0));
    assert_eq!(kind(dump([0, 1], 7, 0, 900)), (EntryKind::Normal, 0, 0), "CPU 1 was in it once");
    assert_eq!(kind(dump([0, 0], 0, 0, 900)), (EntryKind::Normal, 0, 0), "nobody asked for it yet");
    assert_eq!(
        kind(dump([0, 0], 0, 3, 900)),
        (EntryKind::Normal, 0, 0),
        "asleep once, and no timer is that far"
    );
    assert_eq!(
        kind(dump([0, 0], 7, 0, never)),
        (EntryKind::Refused, 0b10, 0),
        "it is on: no flag says otherwise"
    );
    assert_eq!(kind(dump([0, 0], 0, 3, never)), (EntryKind::Normal, 0, 0));
    assert_eq!(kind(dump([5, 5], 7, 3, never)), (EntryKind::Normal, 0, 0));
    for d in [dump([0, 0], 7, 0, 900), dump([0, 0], 7, 0, never)] {
        assert!(d.3.notes.iter().any(|n| n.contains("state1 S1")), "{:?}", d.3.notes);
        let again = Platform::from_toml(&d.3.to_toml(), "again.toml").unwrap();
        assert_eq!(again.clusters, d.3.clusters, "a platform file keeps it");
    }
}

#[test]
fn the_recorded_mt8196_has_eight_cpus_in_three_clusters() {
    let Some(file) = shared("traces/mt8196/sysfs_mainline_tick_wakeups_before.txt") else { return };
    let text = std::fs::read_to_string(&file).unwrap();
    let p = Platform::from_sysfs_dump(&text, "before.txt").unwrap();
    let cpus: Vec<_> = p.clusters.iter().map(|c| cpu_list(&c.cpus)).collect();
    assert_eq!(cpus, ["0-3", "4-6", "7"]);
    assert_eq!(p.origin, Origin::SysfsDump(PathBuf::from("before.txt")));
    let shipped = idlewise_platform::find("mt8196").unwrap();
    for (a, b) in p.clusters.iter().zip(&shipped.clusters) {
        assert_eq!((&a.table, &a.cpus, &a.energy), (&b.table, &b.cpus, &b.energy));
    }
    let c = &p.clusters[0];
    assert_eq!(c.table.states()[2].target_residency_ns, 6_710_000);
    assert_eq!(c.table.states()[3].target_residency_ns, 3_600_000_000_000);
    assert!(c.info[3].never && c.energy.grade == EnergyGrade::DerivedFromBreakEven);
    let weights: Vec<_> = c.energy.states.iter().map(|s| s.power_uw).collect();
    assert_eq!(weights, [1000, 224, 50, 50], "the state that never pays takes no part");
    assert!(p.notes.contains(&"cpuidle driver: psci_idle".to_string()), "{:?}", p.notes);
}

#[test]
fn counters_before_and_after_a_run_are_subtracted() {
    let before = "traces/mt8196/sysfs_mainline_tick_wakeups_before.txt";
    let (Some(before), Some(after)) = (shared(before), shared(&before.replace("before", "after"))) else {
        return;
    };
    let read = |f: PathBuf| {
        let text = std::fs::read_to_string(f).unwrap();
        SysfsDump::parse(&text, "x").unwrap()[0].counters()
    };
    let (before, after) = (read(before), read(after));
    let d = diff(&before, &after).unwrap();
    assert!(d.notes.is_empty());
    let s = d.counters.cpus[&0][0];
    assert_eq!((s.usage, s.time_us), (Some(29_719 - 28_062), Some(8_504_080 - 7_760_518)));
    assert_eq!(d.counters.cpus[&0][1].above, Some(4467 - 4122));
    let error = diff(&after, &before).unwrap_err().to_string();
    assert_eq!(
        error,
        "cpu0 state0: `usage` goes back from 29719 to 28062; are the dumps swapped, or was the machine rebooted between them?"
    );
}

#[test]
fn any_leading_folders_quoting_and_layout_give_the_same_machine() {
    let plain = Platform::from_sysfs_dump(&dump("/sys/devices/system/cpu/", 0), "d.txt").unwrap();
    assert_eq!(plain.cpu_count(), 2);
    assert_eq!(plain.clusters.len(), 1);
    assert_eq!(plain.clusters[0].table.states()[1].name, "haltpoll idle");
    assert!(plain.clusters[0].table.states()[0].polling);
    assert_eq!(plain.clusters[0].info[0].desc, "a: b");
    let quoted: String = dump("./", 0).lines().map(|l| format!("> > {l}\r\n")).collect();
    let relative = dump("", 0);
    let saved: String = dump("/sys/devices/system/cpu/", 0).lines().map(|l| format!("a.txt:{l}\n")).collect();
    let piped = |l: &str| l.split_once(':').map(|(p, v)| format!("ro|{p}|{v}\n")).unwrap();
    let piped: String = dump("/sys/devices/system/cpu/", 0).lines().map(piped).collect();
    let tail = |l: &str| l.split_once(':').map(|(p, v)| format!("==> {p} <==\n{v}\n\n")).unwrap();
    let tail: String = dump("/sys/devices/system/cpu/", 0).lines().map(tail).collect();
    for text in [quoted, relative, saved, piped, tail] {
        assert_eq!(Platform::from_sysfs_dump(&text, "d.txt").as_ref(), Ok(&plain), "{text}");
    }
    let inside: String = dump("", 0)
        .lines()
        .filter_map(|l| l.strip_prefix("cpu0/cpuidle/"))
        .map(|l| format!("{l}\n"))
        .collect();
    let p = Platform::from_sysfs_dump(&inside, "d.txt").unwrap();
    assert!(p.any_cpu());
    assert_eq!(p.clusters[0].table, plain.clusters[0].table);
}

#[test]
fn a_file_with_two_looks_gives_both() {
    let text =
        dump("/sys/devices/system/cpu/", 1) + "\nafter the run:\n" + &dump("/sys/devices/system/cpu/", 4);
    let looks = SysfsDump::parse(&text, "d.txt").unwrap();
    assert_eq!(looks.len(), 2);
    let d = diff(&looks[0].counters(), &looks[1].counters()).unwrap();
    assert_eq!((d.counters.cpus[&1][1].usage, d.counters.cpus[&1][1].time_us), (Some(30), Some(210)));
    assert_eq!(d.counters.cpus[&1][1].below, Some(3));
    assert_eq!(d.counters.cpus[&1][1].s2idle_usage, None);
    let p = Platform::from_sysfs_dump(&text, "d.txt").unwrap();
    assert!(p.notes.iter().any(|n| n.contains("2 snapshots")));
}

#[test]
fn capacities_split_and_join_clusters_and_missing_cpus_are_named() {
    let mut text = String::new();
    for cpu in [0, 1, 2, 5] {
        let p = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state0");
        let _ = writeln!(text, "{p}/name:WFI\n{p}/latency:1\n{p}/residency:1\n{p}/disable:0");
        let capacity = if cpu == 1 { 1024 } else { 446 };
        let _ = writeln!(text, "/sys/devices/system/cpu/cpu{cpu}/cpu_capacity:{capacity}");
    }
    let p = Platform::from_sysfs_dump(&text, "d.txt").unwrap();
    let clusters: Vec<_> = p.clusters.iter().map(|c| (c.name.clone(), c.capacity)).collect();
    assert_eq!(clusters, [("cpu0,2,5".to_string(), 446), ("cpu1".to_string(), 1024)]);
    assert!(
        p.notes.contains(&"no idle states for CPUs 3-4 (offline, or left out)".to_string()),
        "{:?}",
        p.notes
    );
}

#[test]
fn states_switched_off_are_off() {
    let text = dump("", 0).replace("cpu1/cpuidle/state1/disable:0", "cpu1/cpuidle/state1/disable:1");
    let p = Platform::from_sysfs_dump(&text, "d.txt").unwrap();
    assert_eq!(p.clusters.len(), 2);
    assert_eq!(p.cluster_of(1).unwrap().table.disabled_by_default(), 0b10);
    let looks = [SysfsDump::parse(&dump("", 0), "a").unwrap(), SysfsDump::parse(&text, "b").unwrap()];
    let d = diff(&looks[0][0].counters(), &looks[1][0].counters()).unwrap();
    assert_eq!(d.notes, ["cpu1 state1: `disable` went from 0 to 1 between the dumps"]);
}

#[test]
fn a_dump_that_cannot_be_used_says_why() {
    let says = |text: &str| Platform::from_sysfs_dump(text, "d.txt").unwrap_err().to_string();
    let how = "record it with: grep -r . /sys/devices/system/cpu/cpu*/cpuidle";
    let good = dump("", 0);
    assert_eq!(says(""), format!("d.txt: the file is empty; {how}"));
    assert_eq!(
        says("Hello,\nthe numbers are attached.\n\u{0}\u{1}:\u{2}"),
        format!(
            "d.txt: no line is about an idle state (expected lines such as .../cpu0/cpuidle/state1/latency:10, or cpupower idle-info); {how}"
        )
    );
    let cut = good.split("cpu1/cpuidle/state1/residency").next().unwrap();
    assert_eq!(says(cut), format!("d.txt: cpu1: state1 has no `residency`; is the dump complete? {how}"));
    let hole: String =
        good.lines().filter(|l| !l.contains("cpu1/cpuidle/state0")).map(|l| format!("{l}\n")).collect();
    assert_eq!(
        says(&hole),
        format!("d.txt: cpu1: state0 is missing, state1 is there; is the dump complete? {how}")
    );
    assert_eq!(
        says(&good.replacen("latency:1", "latency:fast", 1)),
        format!(
            "d.txt:16: cpu0 state1/latency is \"fast\", expected a whole number; the line is damaged; {how}"
        )
    );
    assert_eq!(
        says(&good.replacen("latency:1", "latency:-1", 1)),
        format!(
            "d.txt:16: cpu0 state1/latency is \"-1\", expected a whole number; the line is damaged; {how}"
        )
    );
    assert_eq!(
        says(&good.replacen("residency:1", "residency:5000000000", 1)),
        format!(
            "d.txt: cpu0: state1/residency is 5000000000, more than the kernel's 32 bits of us; is the dump complete? {how}"
        )
    );
    assert_eq!(
        says(&good.replacen("residency:0", "residency:7", 1)),
        format!(
            "d.txt: cpu0: state 1 (haltpoll idle): target residency 1000 ns is below the previous state's 7000 ns; list states from shallow to deep; is the dump complete? {how}"
        )
    );
    assert_eq!(
        says(&good.replace("cpu1/", "cpu99999999/")),
        format!("d.txt: cpu99999999: no machine has it; {how}")
    );
}

#[test]
fn a_cpu_whose_last_states_are_missing_is_pointed_out() {
    let cut = dump("", 0);
    let cut = cut.split("cpu1/cpuidle/state1").next().unwrap();
    let p = Platform::from_sysfs_dump(cut, "d.txt").unwrap();
    let found: Vec<_> = p.check().into_iter().map(|f| f.message).collect();
    assert!(
        found.contains(&"has only the first states of cpu0: was the dump cut short?".to_string()),
        "{found:?}"
    );
}

#[test]
fn thirty_five_real_machines_are_read() {
    let Some(file) = shared("traces/sysfs/idle_states_35_machines.csv") else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let mut dumps: std::collections::BTreeMap<&str, String> = std::collections::BTreeMap::new();
    for row in text.lines().skip(1) {
        let f: Vec<&str> = row.rsplitn(13, ',').collect();
        let (above, below, rejected, usage, time) = (f[2], f[1], f[0], f[4], f[3]);
        let (state, name, desc, latency, residency, disable) = (f[10], f[9], f[8], f[7], f[6], f[5]);
        let p = format!("/sys/devices/system/cpu/cpu0/cpuidle/state{state}");
        let out = dumps.entry(row.split(',').next().unwrap()).or_default();
        let _ = writeln!(
            out,
            "{p}/name:{name}\n{p}/desc:{desc}\n{p}/latency:{latency}\n{p}/residency:{residency}\n{p}/disable:{disable}\n\
             {p}/usage:{usage}\n{p}/time:{time}\n{p}/above:{above}\n{p}/below:{below}\n{p}/rejected:{rejected}"
        );
    }
    assert!(dumps.len() >= 34);
    for (machine, text) in dumps {
        let p = Platform::from_sysfs_dump(&text, machine).unwrap_or_else(|e| panic!("{e}"));
        assert!(p.clusters[0].table.states()[0].polling, "{machine}");
        let again = Platform::from_toml(&p.to_toml(), machine).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.clusters, p.clusters, "{machine}");
    }
}

#[test]
fn a_damaged_dump_never_panics() {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below.max(1) as u64) as usize
    };
    let good = dump("/sys/devices/system/cpu/", 3);
    let junk =
        [b"4294967295".as_slice(), b"99999999999999999999999", b"/", b"state", b":", b"\0", b"cpu", b"\n"];
    for _ in 0..3000 {
        let mut bytes = good.as_bytes().to_vec();
        for _ in 0..=next(3) {
            let at = next(bytes.len());
            match next(3) {
                0 => bytes.truncate(at),
                1 => bytes[at] = next(256) as u8,
                _ => drop(bytes.splice(at..at, junk[next(junk.len())].iter().copied())),
            }
            if bytes.is_empty() {
                break;
            }
        }
        match Platform::from_sysfs_dump(&String::from_utf8_lossy(&bytes), "d.txt") {
            Ok(p) => drop(p.check()),
            Err(e) => assert!(matches!(e, PlatformError::Dump { .. }), "{e:?}"),
        }
    }
}
