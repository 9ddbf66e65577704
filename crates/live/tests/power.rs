// SPDX-License-Identifier: GPL-2.0-only
//! Are powercap, hwmon and a battery found and read as the kernel means them?

use std::fs;

use idlewise_live::Host;
use idlewise_live::power::{Meters, energy_uj};
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    put(&tree, files);
    tree
}

fn put(tree: &TempDir, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = tree.path().join("sys/class").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }
}

#[test]
fn a_counter_that_is_smaller_than_before_began_anew_at_its_range() {
    assert_eq!(energy_uj(10, 25, None), Some(15));
    assert_eq!(energy_uj(262_143_328_000, 1_000, Some(262_143_328_850)), Some(1_850));
    assert_eq!(energy_uj(25, 10, None), None, "set back, nobody knows from where");
    assert_eq!(energy_uj(25, 10, Some(20)), None, "the range is not its own");
    assert_eq!(energy_uj(u64::MAX, 3, Some(u64::MAX)), Some(3));
}

#[test]
fn zones_bear_the_names_of_what_they_are_part_of() {
    let tree = tree(&[
        ("powercap/intel-rapl/enabled", "1"),
        ("powercap/intel-rapl:0/name", "package-0"),
        ("powercap/intel-rapl:0/energy_uj", "90000000"),
        ("powercap/intel-rapl:0/max_energy_range_uj", "100000000"),
        ("powercap/intel-rapl:0:0/name", "core"),
        ("powercap/intel-rapl:0:0/energy_uj", "5000000"),
        ("powercap/intel-rapl-mmio:0/name", "package-0"),
        ("powercap/intel-rapl-mmio:0/energy_uj", "90000000"),
    ]);
    let meters = Meters::find(&Host::below(tree.path()));
    let names: Vec<&str> = meters.list.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["package-0", "package-0/core"]);
    let before = meters.read();
    put(
        &tree,
        &[("powercap/intel-rapl:0/energy_uj", "10000000"), ("powercap/intel-rapl:0:0/energy_uj", "4000000")],
    );
    let power = meters.between(&before, &meters.read(), 2.0);
    assert_eq!(power[0].watts, Some(10.0), "20 J through the end of its range");
    assert_eq!(power[1].watts, None, "no range, so it was set back");
    assert_eq!(meters.between(&before, &meters.read(), 0.0)[0].watts, None);
}

#[test]
fn sensors_and_batteries_are_read_in_their_units() {
    let tree = tree(&[
        ("hwmon/hwmon0/name", "ina3221"),
        ("hwmon/hwmon0/power1_input", "1500000"),
        ("hwmon/hwmon0/power1_average", "1"),
        ("hwmon/hwmon0/power1_label", "VDD_CPU"),
        ("hwmon/hwmon0/temp1_input", "45000"),
        ("hwmon/hwmon1/name", "amd_energy"),
        ("hwmon/hwmon1/energy1_input", "0"),
        ("power_supply/AC/type", "Mains"),
        ("power_supply/BAT0/type", "Battery"),
        ("power_supply/BAT0/status", "Discharging"),
        ("power_supply/BAT0/current_now", "-500000"),
        ("power_supply/BAT0/voltage_now", "4000000"),
        ("power_supply/mouse/type", "Battery"),
        ("power_supply/mouse/scope", "Device"),
    ]);
    let meters = Meters::find(&Host::below(tree.path()));
    let before = meters.read();
    put(&tree, &[("hwmon/hwmon1/energy1_input", "3000000")]);
    let shown: Vec<(String, Option<f64>)> =
        meters.between(&before, &meters.read(), 2.0).into_iter().map(|p| (p.name, p.watts)).collect();
    let expected = [("ina3221 VDD_CPU", Some(1.5)), ("amd_energy energy1", Some(1.5)), ("BAT0", Some(2.0))];
    assert_eq!(shown, expected.map(|(name, watts)| (name.to_string(), watts)));
    put(&tree, &[("power_supply/BAT0/status", "Charging")]);
    assert_eq!(meters.between(&before, &meters.read(), 2.0)[2].watts, None);
}

#[test]
fn a_machine_that_measures_nothing_has_no_meters() {
    assert_eq!(Meters::find(&Host::below(tree(&[]).path())), Meters::default());
}
