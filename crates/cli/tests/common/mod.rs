// SPDX-License-Identifier: GPL-2.0-only
//! The machine that the tests run on, where they may switch its governors.

#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use idlewise_live::{Host, Journal};

const CPUS: &str = "/sys/devices/system/cpu";

/// One test at a time has the machine.
static MACHINE: Mutex<()> = Mutex::new(());

pub(crate) fn idlewise() -> Command {
    Command::new(env!("CARGO_BIN_EXE_idlewise"))
}

/// The machine for this test, or nothing, and why is said.
pub(crate) fn machine() -> Option<MutexGuard<'static, ()>> {
    let guard = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let available = fs::read_to_string(format!("{CPUS}/cpuidle/available_governors")).unwrap_or_default();
    let skip = |why: &str| {
        eprintln!("skipped: {why}");
        None
    };
    if !available.contains("menu") || !available.contains("haltpoll") {
        return skip("this kernel does not offer the governors menu and haltpoll");
    }
    if fs::OpenOptions::new().write(true).open(format!("{CPUS}/cpuidle/current_governor")).is_err() {
        return skip("switching governors needs root");
    }
    // What a session before left, or one that is at work.
    match Journal::open_guarded_by(&Host::below(Path::new("/")), None) {
        Ok(_) => Some(guard),
        Err(why) => skip(&why.to_string()),
    }
}

/// Everything that a session may change.
pub(crate) fn state() -> BTreeMap<PathBuf, String> {
    let mut files = vec![
        PathBuf::from(CPUS).join("cpuidle/current_governor"),
        PathBuf::from("/sys/module/haltpoll/parameters/guest_halt_poll_ns"),
    ];
    for cpu in 0..64 {
        for state in 0..10 {
            files.push(PathBuf::from(format!("{CPUS}/cpu{cpu}/cpuidle/state{state}/disable")));
        }
    }
    let read = |f: PathBuf| fs::read_to_string(&f).ok().map(|text| (f, text));
    let mut out: BTreeMap<PathBuf, String> = files.into_iter().filter_map(read).collect();
    let limit = fs::File::open("/dev/cpu_dma_latency").and_then(|mut f| {
        let mut bytes = [0; 4];
        std::io::Read::read_exact(&mut f, &mut bytes).map(|()| format!("{bytes:?}"))
    });
    out.insert("limit".into(), limit.unwrap_or_default());
    out.insert("journal".into(), Path::new("/run/idlewise/journal").exists().to_string());
    let instances = fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
    let mut names: Vec<PathBuf> = instances.map(|e| e.path()).collect();
    names.sort();
    out.insert("instances".into(), format!("{names:?}"));
    out
}
