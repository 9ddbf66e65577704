// SPDX-License-Identifier: GPL-2.0-only
//! A package with a power limit in a tree of files, which draws more than that while a test runs.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

const ZONE: &str = "sys/class/powercap/intel-rapl:0";

/// Adds package 0 with a PL1 of 20 mW over 10 ms to the machine below `root`; it draws nothing.
pub(crate) fn add_package(root: &Path) {
    let zone = root.join(ZONE);
    fs::create_dir_all(&zone).unwrap();
    for (file, value) in [
        ("name", "package-0"),
        ("energy_uj", "0"),
        ("max_energy_range_uj", "262143328850"),
        ("constraint_0_name", "long_term"),
        ("constraint_0_power_limit_uw", "20000"),
        ("constraint_0_time_window_us", "10000"),
    ] {
        fs::write(zone.join(file), format!("{value}\n")).unwrap();
    }
}

/// Runs `test` while the package draws up to 10 W, hundreds of times its limit, so that it is above on a busy machine, too.
pub(crate) fn while_it_draws<T>(root: &Path, test: impl FnOnce() -> T) -> T {
    let (energy, new) = (root.join(ZONE).join("energy_uj"), root.join("new"));
    let stop = AtomicBool::new(false);
    scope(|scope| {
        scope.spawn(|| {
            let mut uj = 0;
            while !stop.load(Ordering::SeqCst) {
                uj += 50_000;
                fs::write(&new, format!("{uj}\n")).unwrap();
                fs::rename(&new, &energy).unwrap();
                sleep(Duration::from_millis(5));
            }
        });
        let result = test();
        stop.store(true, Ordering::SeqCst);
        result
    })
}
