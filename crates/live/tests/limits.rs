// SPDX-License-Identifier: GPL-2.0-only
//! Is a machine at a limit when its counters say so, and not known to be where they do not?

use std::fs;
use std::time::Duration;

use idlewise_live::Host;
use idlewise_live::limits::{LimitWatch, Limiting};
use tempfile::TempDir;

struct Tree(TempDir);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        files.iter().for_each(|(path, text)| tree.write(path, text));
        tree
    }

    /// A zone with PL1 and PL2, as on the 6 W Chromebook.
    fn chromebook() -> Self {
        Self::new(&[
            ("sys/class/powercap/intel-rapl:0/name", "package-0"),
            ("sys/class/powercap/intel-rapl:0/enabled", "1"),
            ("sys/class/powercap/intel-rapl:0/energy_uj", "262143000000"),
            ("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850"),
            ("sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term"),
            ("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "6000000"),
            ("sys/class/powercap/intel-rapl:0/constraint_0_time_window_us", "27983872"),
            ("sys/class/powercap/intel-rapl:0/constraint_1_name", "short_term"),
            ("sys/class/powercap/intel-rapl:0/constraint_1_power_limit_uw", "12000000"),
            ("sys/class/powercap/intel-rapl:0/constraint_1_time_window_us", "976"),
            ("sys/class/powercap/intel-rapl:0/constraint_2_name", "peak_power"),
            ("sys/class/powercap/intel-rapl:0/constraint_2_power_limit_uw", "20000000"),
        ])
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn host(&self) -> Host {
        Host::below(self.0.path())
    }

    /// Raises the counter by so many uJ, past the end of its range.
    fn draw(&self, uj: u64) {
        let path = self.0.path().join("sys/class/powercap/intel-rapl:0/energy_uj");
        let now: u64 = fs::read_to_string(&path).unwrap().trim().parse().unwrap();
        fs::write(path, format!("{}\n", (now + uj) % 262_143_328_850)).unwrap();
    }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Spans of 5 s with these powers, W, after two minutes at the first of them.
fn spans(powers: &[f64]) -> Vec<Limiting> {
    let tree = Tree::chromebook();
    let mut watch = LimitWatch::begin(&tree.host(), at(0));
    tree.draw((powers[0] * 120e6) as u64);
    watch.end(at(120));
    let mut now = 120;
    let span = |w: &f64| {
        now += 5;
        tree.draw((w * 5e6) as u64);
        watch.end(at(now))
    };
    powers.iter().map(span).collect()
}

/// The samples of 5 s of two logs around the burst in which the 6 W Chromebook met its limit, W, the first at the average with
/// which the burst began (linux-pm, 2025-10-15 Senozhatsky, 41ecc6323d). It was limited in samples 20 to 24 of the first and 23 to
/// 26 of the second.
#[test]
fn a_machine_is_at_its_limit_in_the_samples_in_which_the_chromebook_was() {
    let acting = |powers: &[f64]| -> Vec<usize> {
        let spans = spans(powers);
        let found = spans.iter().enumerate().filter(|(_, s)| s.power[0].acting_pct > 0.0);
        found.map(|(i, _)| 16 + i).collect()
    };
    let base = [3.62, 9.49, 8.63, 9.07, 7.47, 5.67, 5.74, 5.67, 6.01, 2.81, 1.84, 1.86];
    assert_eq!(acting(&base), [20, 21, 22, 23, 24]);
    // Each end a sample earlier: a sample is a mean of 5 s.
    let revert = [3.17, 2.15, 6.26, 8.67, 8.22, 9.00, 8.62, 5.61, 5.81, 5.65, 5.50, 2.36];
    assert_eq!(acting(&revert), [22, 23, 24, 25]);
}

#[test]
fn an_average_is_an_interval_until_the_machine_was_watched_for_long_enough() {
    let tree = Tree::chromebook();
    let mut watch = LimitWatch::begin(&tree.host(), at(0));
    tree.draw(12_000_000);
    let first = watch.end(at(2));
    let pl1 = &first.power[0];
    assert_eq!((first.limited, pl1.mean_w, pl1.unknown_pct), (None, Some(6.0), 100.0), "{first:?}");
    let wide = |l: &Limiting| l.power[0].average_high_w.unwrap() - l.power[0].average_low_w.unwrap();
    assert!(
        wide(&first) > 5.0 && first.words()[0].starts_with("not known: watched for 2.000 s"),
        "{first:?}"
    );
    // PL2 forgets at once.
    assert_eq!((first.power[1].limit.as_str(), first.power[1].unknown_pct), ("PL2", 0.0));
    tree.draw(6_000_000 * 150);
    assert!(wide(&watch.end(at(152))) < 0.05);
    tree.draw(12_000_000);
    let last = watch.end(at(154));
    assert_eq!((last.limited, last.power[0].acting_pct), (Some(true), 100.0), "{last:?}");
    assert_eq!(last.power[0].acting_from_s.zip(last.power[0].acting_until_s), Some((0.0, 2.0)));
    assert!(last.verdict().starts_with("limited: package-0 PL1 for 100.0 % of 2.000 s"), "{last:?}");
    // What is far below a limit is not held by it, whatever was before.
    tree.draw(2_000_000);
    assert_eq!(watch.end(at(156)).limited, Some(false));
}

#[test]
fn limits_that_are_off_or_changed_are_seen() {
    let tree = Tree::chromebook();
    let mut watch = LimitWatch::begin(&tree.host(), at(0));
    tree.draw(1_000_000);
    watch.end(at(1));
    tree.write("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "1000000");
    tree.write("sys/class/powercap/intel-rapl:0/constraint_0_time_window_us", "100000");
    tree.draw(1_000_000);
    let lowered = watch.end(at(2));
    assert_eq!((lowered.limited, lowered.power[0].limit_w), (Some(true), 1.0), "{lowered:?}");
    tree.write("sys/class/powercap/intel-rapl:0/enabled", "0");
    let off = watch.end(at(3));
    assert_eq!((off.limited, off.power.len(), off.zones), (None, 0, 1), "{off:?}");
    assert!(off.verdict().starts_with("powercap shows no limit that is on"), "{}", off.verdict());
}

#[test]
fn what_cannot_be_read_is_not_known_and_what_is_not_there_is_said() {
    let tree = Tree::chromebook();
    fs::remove_file(tree.host().sys.join("class/powercap/intel-rapl:0/energy_uj")).unwrap();
    let mut watch = LimitWatch::begin(&tree.host(), at(0));
    let closed = watch.end(at(1));
    assert_eq!((closed.limited, closed.power[0].mean_w, closed.power[0].unknown_pct), (None, None, 100.0));
    assert!(closed.verdict().contains("root only"), "{}", closed.verdict());
    let guest = Tree::new(&[("sys/devices/system/cpu/online", "0-1")]);
    let mut watch = LimitWatch::begin(&guest.host(), at(0));
    assert!(!watch.sees_something());
    let nothing = watch.end(at(1));
    assert_eq!(nothing, Limiting { seconds: 1.0, ..Limiting::default() });
    assert!(nothing.verdict().starts_with("no powercap counters on this machine"), "{}", nothing.verdict());
}

#[test]
fn throttling_is_the_time_of_the_core_that_was_throttled_for_longest() {
    let file = |cpu: u32, name: &str| format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}");
    let tree = Tree::new(&[]);
    let set = |cpu, counts: [u64; 4]| {
        let names = [
            "core_throttle_count",
            "package_throttle_count",
            "core_throttle_total_time_ms",
            "package_throttle_total_time_ms",
        ];
        names.iter().zip(counts).for_each(|(name, n)| tree.write(&file(cpu, name), &n.to_string()));
    };
    set(0, [1, 5, 100, 40]);
    set(1, [2, 5, 200, 40]);
    tree.write("sys/devices/system/cpu/cpuidle/thermal_throttle/core_throttle_count", "none");
    let mut watch = LimitWatch::begin(&tree.host(), at(0));
    set(0, [2, 6, 150, 140]);
    set(1, [4, 6, 600, 140]);
    let hot = watch.end(at(2));
    let t = hot.throttling.as_ref().unwrap();
    assert_eq!((t.count, t.core_pct, t.package_pct), (5, Some(20.0), Some(5.0)));
    assert_eq!(hot.limited, Some(true));
    assert!(hot.verdict().contains("heat, throttled 5 times, core 20.0 % of the time"), "{}", hot.verdict());
    assert_eq!(watch.end(at(4)).throttling.unwrap().count, 0);
}

#[test]
fn a_processor_that_names_its_limit_is_believed_and_one_that_is_not_known_is_not_read() {
    for (model, address, bits, named) in [
        (158, 0x64f, 0x400_u64, vec!["PL1"]),
        (156, 0x64f, 0x0c, vec!["PL1", "PL2"]),
        (79, 0x690, 0x801, vec!["PROCHOT", "PL2"]),
        (158, 0x64f, 0x0400_0000, vec![]),
    ] {
        let tree = Tree::new(&[]);
        let cpuinfo =
            format!("vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: {model}\nmodel name\t: x\n");
        tree.write("proc/cpuinfo", &cpuinfo);
        tree.write("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0");
        let msr = tree.0.path().join("dev/cpu/0/msr");
        fs::create_dir_all(msr.parent().unwrap()).unwrap();
        let mut registers = vec![0; address];
        registers.extend(bits.to_le_bytes());
        fs::write(&msr, registers).unwrap();
        let found = LimitWatch::begin(&tree.host(), at(0)).end(at(1));
        let named: Vec<String> = named.into_iter().map(str::to_owned).collect();
        assert_eq!(
            (found.reasons.as_ref(), found.limited),
            (Some(&named), Some(!named.is_empty())),
            "{model}"
        );
        // One that cannot be read any more, and named nothing until then, is not known.
        let mut watch = LimitWatch::begin(&tree.host(), at(0));
        fs::File::create(&msr).unwrap();
        assert_eq!(watch.end(at(1)).reasons, (!named.is_empty()).then_some(named), "{model}");
        tree.write("proc/cpuinfo", &cpuinfo.replace(&format!(": {model}"), ": 1"));
        assert_eq!(LimitWatch::begin(&tree.host(), at(0)).end(at(1)).reasons, None);
    }
}
