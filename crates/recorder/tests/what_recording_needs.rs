// SPDX-License-Identifier: GPL-2.0-only
//! Does a machine that cannot be recorded say what it lacks?

use std::fs;

use idlewise_live::tracefs::{Instance, Tracefs};
use idlewise_live::{Host, LiveError};

fn machine(clocks: Option<&str>) -> (tempfile::TempDir, Host) {
    let root = tempfile::tempdir().unwrap();
    let host = Host::below(root.path());
    if let Some(clocks) = clocks {
        fs::create_dir_all(host.tracefs()).unwrap();
        fs::write(host.tracefs().join("trace_clock"), clocks).unwrap();
    }
    (root, host)
}

fn refusal(host: &Host) -> String {
    match Tracefs::of(host) {
        Err(LiveError::Lacks { why }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn no_tracing_file_system() {
    let (_root, host) = machine(None);
    let why = refusal(&host);
    assert!(why.contains("mount -t tracefs") && why.contains("idlewise replay"), "{why}");
}

#[test]
fn no_clock_that_timers_expire_by() {
    let (_root, host) = machine(Some("[local] global counter\n"));
    let why = refusal(&host);
    assert!(why.contains("local") && why.contains("`mono`"), "{why}");
    let (_root, host) = machine(Some("[local] global mono mono_raw\n"));
    assert!(Tracefs::of(&host).is_ok());
}

#[test]
fn an_instance_that_cannot_be_made_names_its_place() {
    let (_root, host) = machine(Some("[mono]\n"));
    let path = Tracefs::of(&host).unwrap().own_instance();
    let why = Instance::make(path, 1024).unwrap_err().to_string();
    assert!(why.contains("instances/idlewise-"), "{why}");
}
