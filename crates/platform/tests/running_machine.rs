// SPDX-License-Identifier: GPL-2.0-only
//! Is a machine described as its own `/sys`, `/proc` and `/boot` show it?

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use idlewise_platform::{Origin, Platform, PlatformError, Roots, SysfsDump, diff, find};

/// An empty tree of its own for each test.
fn tree(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    root
}

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

fn machine(root: &Path) {
    for cpu in 0..3 {
        let base = format!("sys/devices/system/cpu/cpu{cpu}");
        put(root, &format!("{base}/cpu_capacity"), if cpu < 2 { "446\n" } else { "1024\n" });
        for (state, name, latency, residency) in [(0, "WFI", 1, 1), (1, "off", 230, 2000)] {
            let s = format!("{base}/cpuidle/state{state}");
            put(root, &format!("{s}/name"), &format!("{name}\n"));
            put(root, &format!("{s}/latency"), &format!("{latency}\n"));
            put(root, &format!("{s}/residency"), &format!("{residency}\n"));
            put(root, &format!("{s}/disable"), "0\n");
            put(root, &format!("{s}/usage"), "7\n");
            put(root, &format!("{s}/s2idle/usage"), "3\n");
        }
    }
    put(root, "sys/devices/system/cpu/cpufreq/nothing", "");
    put(root, "sys/devices/system/cpu/cpuidle/current_driver", "psci_idle\n");
    put(root, "sys/devices/system/cpu/cpuidle/current_governor", "teo\n");
    put(root, "proc/sys/kernel/osrelease", "6.12.0-test\n");
}

#[test]
fn states_capacities_driver_and_governor_come_from_sysfs() {
    let root = tree("scan_sysfs");
    machine(&root);
    let p = Platform::scan(&Roots::below(&root)).unwrap();
    assert_eq!((p.id.as_str(), p.name.as_str()), ("running", "this machine (6.12.0-test)"));
    assert_eq!(p.origin, Origin::Running);
    let clusters: Vec<_> = p.clusters.iter().map(|c| (c.name.as_str(), c.capacity)).collect();
    assert_eq!(clusters, [("cpu0-1", 446), ("cpu2", 1024)]);
    assert_eq!(p.notes, ["cpuidle driver: psci_idle", "cpuidle governor: teo"]);
    assert_eq!(p.hz, None);
    assert_eq!(p.hz_note, "the kernel's configuration is not readable here");
}

#[test]
fn hz_comes_from_the_kernel_or_from_boot() {
    let root = tree("scan_hz");
    machine(&root);
    put(&root, "boot/config-6.12.0-test", "# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n");
    let p = Platform::scan(&Roots::below(&root)).unwrap();
    assert_eq!((p.hz, p.hz_note.as_str()), (Some(250), "from config-6.12.0-test"));
    let file = fs::File::create(root.join("proc/config.gz")).unwrap();
    let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    gz.write_all(b"CONFIG_HZ_1000=y\nCONFIG_HZ=1000\n").unwrap();
    gz.finish().unwrap();
    let p = Platform::scan(&Roots::below(&root)).unwrap();
    assert_eq!((p.hz, p.hz_note.as_str()), (Some(1000), "from the running kernel's configuration"));
}

#[test]
fn a_machine_without_idle_states_says_so() {
    let root = tree("scan_none");
    put(&root, "sys/devices/system/cpu/cpu0/online", "1\n");
    let error = Platform::scan(&Roots::below(&root)).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "no CPU has idle states: the kernel has no cpuidle driver here (common in virtual machines and containers); name a platform instead"
        ),
        "{error}"
    );
    let error = Platform::scan(&Roots::below(&root.join("nowhere"))).unwrap_err();
    assert!(matches!(error, PlatformError::Read { .. }));
}

#[test]
fn this_machine_is_described_or_declined_in_words() {
    match Platform::scan(&Roots::below(Path::new("/"))) {
        Ok(p) => assert_eq!(Platform::from_toml(&p.to_toml(), "x").unwrap().clusters, p.clusters),
        Err(e) => eprintln!("this machine: {e}"),
    }
}

#[test]
fn counters_can_be_read_twice_and_subtracted() {
    let root = tree("scan_counters");
    machine(&root);
    let before = SysfsDump::read(&root.join("sys")).unwrap().counters();
    put(&root, "sys/devices/system/cpu/cpu2/cpuidle/state1/usage", "12\n");
    let after = SysfsDump::read(&root.join("sys")).unwrap().counters();
    let d = diff(&before, &after).unwrap();
    assert_eq!((d.counters.cpus[&2][1].usage, d.counters.cpus[&1][1].usage), (Some(5), Some(0)));
    assert_eq!(before.cpus[&0][0].s2idle_usage, Some(3));
}

#[test]
fn files_are_found_by_path() {
    let root = tree("find_files");
    let at = |name: &str| root.join(name).display().to_string();
    put(
        &root,
        "dump.txt",
        "cpu0/cpuidle/state0/name:WFI\ncpu0/cpuidle/state0/latency:1\ncpu0/cpuidle/state0/residency:1\n",
    );
    let p = find(&at("dump.txt")).unwrap();
    assert_eq!((p.id.as_str(), &p.origin), ("dump", &Origin::SysfsDump(root.join("dump.txt"))));
    put(&root, "mine.toml", &p.to_toml());
    assert_eq!(find(&at("mine.toml")).unwrap().origin, Origin::File(root.join("mine.toml")));
    fs::write(root.join("trace.dat"), b"\x17\x08\x44tracing\0\xff").unwrap();
    let error = find(&at("trace.dat")).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "not a text file; expected a platform file (.toml) or the text of a sysfs dump or a device tree"
        ),
        "{error}"
    );
    assert!(matches!(find(&at("")), Err(PlatformError::Read { .. })));
}
