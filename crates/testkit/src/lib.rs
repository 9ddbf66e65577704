// SPDX-License-Identifier: GPL-2.0-only
//! What the tests of several crates share: where real recordings are, and requests in short.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail loudly, and says what it skips"
)]

pub mod kernel_trees;

use std::path::{Path, PathBuf};

use idlewise_recording::{CommandError, Recording, RecordingOptions, ReplaySetup};
use idlewise_study::replay::{Per, ReplayReport, ReplayRequest, replay};

/// A file below the folder of recordings that are not part of the project; says so where it is missing.
pub fn recording(name: &str) -> Option<PathBuf> {
    let path = idlewise_checkout::shared().join("traces").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no {name} in the folder of recordings (IDLEWISE_SHARED, else ../shared)");
    None
}

/// Half a second of timers under menu of Linux 7.3.4 itself on a boot lab's guest of two CPUs of an RK3399, unpacked below `folder`:
/// what governors were given and chose, and entries and exits.
pub fn kernels_own_menu(folder: &Path) -> PathBuf {
    let packed = idlewise_checkout::root().join("tests/data/lab/menu-7.3-timer.txt.xz");
    let trace = folder.join("menu.txt");
    let mut unpacked = std::fs::File::create(&trace).unwrap();
    let packed = liblzma::read::XzDecoder::new(std::fs::File::open(packed).unwrap());
    std::io::copy(&mut { packed }, &mut unpacked).unwrap();
    trace
}

/// The machine of that recording.
pub fn guest_of_it() -> idlewise_platform::Platform {
    idlewise_machine::boot::guest(&idlewise_platform::find("rk3399").unwrap(), false)
}

/// What is known of a recording: its machine, and its governor where one is given.
pub fn known(platform: &str, governor: &str) -> RecordingOptions {
    RecordingOptions {
        recorded_on: Some(platform.to_owned()),
        kernel_governor: (!governor.is_empty()).then(|| governor.to_owned()),
        ..RecordingOptions::default()
    }
}

/// Decisions of menu in a guest with Linux 6.18, those of CPU 0 at the times of the first idle entries of `sleeploop.dat`.
///
/// # Panics
/// If a file of the tree is missing.
pub fn decisions_of_sleeploop() -> String {
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(tree.join("crates/view/tests/inputs/menu.csv")).unwrap();
    let recording = open(&tree.join("tests/data/sleeploop.dat"), "kvm-guest", "menu");
    let mut entries = recording.tape.cpus[0].pieces.to_vec().unwrap().into_iter();
    let moved = |row: &str| {
        let Some(("0", rest)) = row.split_once(',') else { return row.to_owned() + "\n" };
        let (_, cells) = rest.split_once(',').unwrap();
        format!("0,{},{cells}\n", entries.next().unwrap().start_ns)
    };
    table.lines().map(moved).collect()
}

pub fn open(path: &Path, platform: &str, governor: &str) -> Recording {
    Recording::open(path, &known(platform, governor)).unwrap()
}

/// On the machine that was recorded.
pub fn setup(platform: &str, governor: &str) -> ReplaySetup {
    ReplaySetup { recording: known(platform, governor), seed: 1, ..ReplaySetup::default() }
}

/// Replay on the machine that was recorded.
pub fn request(traces: &[&Path], platform: &str, governor: &str, candidates: &[&str]) -> ReplayRequest {
    ReplayRequest {
        traces: traces.iter().map(|p| p.to_path_buf()).collect(),
        setup: setup(platform, governor),
        governors: candidates.iter().map(|g| (*g).to_owned()).collect(),
        per: Per::Cpu,
        ..ReplayRequest::default()
    }
}

pub fn run(request: &ReplayRequest) -> ReplayReport {
    replay(request, &|_, _| ()).unwrap()
}

/// The words of the error that `request` must give.
pub fn refused(request: &ReplayRequest) -> String {
    error_text(replay(request, &|_, _| ()))
}

pub fn error_text<T>(result: Result<T, CommandError>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(e) => e.to_string(),
    }
}
