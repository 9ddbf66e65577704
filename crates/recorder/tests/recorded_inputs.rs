// SPDX-License-Identifier: GPL-2.0-only
//! Do our governors make the choices of the running kernel's when they get its inputs? Skipped where that cannot be
//! recorded.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use idlewise_conform::decision_table::drive;
use idlewise_live::Host;
use idlewise_recorder::bpf::{RecorderOptions, Spool};

use crate::mixed;

/// The kernel's governor with its parameters, as ours are named; nothing where we have no such.
fn spec(governor: &str) -> Option<String> {
    match governor {
        "menu" | "ladder" => Some(governor.to_owned()),
        "haltpoll" => {
            let folder = Path::new("/sys/module/haltpoll/parameters");
            let window = fs::read_to_string(folder.join("guest_halt_poll_ns")).ok()?;
            Some(format!("haltpoll:guest_halt_poll_ns={}", window.trim()))
        }
        _ => None,
    }
}

/// The CPUs of which a file of decisions has any: on a busy machine a CPU may never be idle.
fn cpus_of(path: &Path) -> BTreeSet<u32> {
    let mut rows = csv::Reader::from_path(path).unwrap();
    let column = rows.headers().unwrap().iter().position(|name| name == "cpu").unwrap();
    rows.records().map(|row| row.unwrap()[column].parse().unwrap()).collect()
}

#[test]
fn the_running_kernels_choices_are_made_again() {
    let driver = fs::read_to_string("/sys/devices/system/cpu/cpuidle/current_driver").unwrap_or_default();
    if driver.trim() != "haltpoll" {
        println!("skipped: the CPUs' idle states are not those of platform kvm-guest");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("inputs.csv");
    let spool = match Spool::start(&Host::below(Path::new("/")), RecorderOptions::default(), &path) {
        Ok(spool) => spool,
        Err(e) => {
            println!("skipped: {e}");
            return;
        }
    };
    mixed::run(&mixed::GENTLE, Duration::from_secs(2) / mixed::GENTLE.len() as u32, folder.path());
    let recorded = spool.stop().unwrap();
    let Some(governor) = spec(&recorded.governor) else {
        println!("skipped: there is no {} of ours", recorded.governor);
        return;
    };
    let machine = idlewise_platform::find("kvm-guest").unwrap();
    let with_decisions = cpus_of(&path);
    if with_decisions.is_empty() {
        println!("skipped: no CPU of this machine was idle while its choices were recorded");
        return;
    }
    let mut seen = 0;
    for cpu in with_decisions {
        let result = drive(&governor.parse().unwrap(), &path, &machine, cpu).unwrap();
        println!("{governor}, CPU {cpu}: {result:?}");
        assert_eq!((result.diverging(), result.other_poll_limit), (0, 0), "CPU {cpu}: {:#?}", result.first);
        seen += result.decisions + result.unknown_state;
    }
    assert_eq!(seen, recorded.counts.entered);
}
