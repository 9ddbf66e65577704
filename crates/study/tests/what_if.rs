// SPDX-License-Identifier: GPL-2.0-only
//! Is a recording replayed with its own ticks, and with others only where these are asked for?

use std::path::Path;

use idlewise_recording::CommandError;
use idlewise_recording::{RecordingOptions, ReplaySetup};
use idlewise_study::replay::{ReplayReport, ReplayRequest, replay};

fn mixed(platform: &str, hz: Option<u32>) -> Result<ReplayReport, CommandError> {
    let folder = tempfile::tempdir().unwrap();
    let bare = folder.path().join("bare.dat");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat"), &bare).unwrap();
    let recording = RecordingOptions {
        recorded_on: Some(platform.to_owned()),
        kernel_governor: Some("menu".to_owned()),
        hz,
        ..RecordingOptions::default()
    };
    let request = ReplayRequest {
        traces: vec![bare],
        setup: ReplaySetup { recording, platform: Some("skylake-sp".to_owned()), ..ReplaySetup::default() },
        governors: vec!["menu".to_owned()],
        ..ReplayRequest::default()
    };
    replay(&request, &|_, _| ())
}

fn grid(report: &ReplayReport) -> (String, u64, u64) {
    let input = report.traces[0].head.inputs.iter().find(|i| i.name == "tick grid").unwrap();
    (input.how.clone(), input.recorded, input.assumed)
}

#[test]
fn the_recorded_ticks_count_whatever_machine_is_named() {
    for platform in ["kvm-guest", "skylake-sp", "rk3399"] {
        let (how, recorded, assumed) = grid(&mixed(platform, None).unwrap());
        assert_eq!(how, "HZ 250, from the tick timer's expiries");
        assert!(recorded > 0 && assumed == 0);
    }
}

#[test]
fn other_ticks_are_asked_for_and_the_result_says_so() {
    let [recorded, same, asked] = [None, Some(250), Some(1000)].map(|hz| mixed("kvm-guest", hz).unwrap());
    let wakeups = |r: &ReplayReport| r.traces[0].governors[0].score.wakeups;
    assert_eq!(wakeups(&recorded), wakeups(&same));
    assert!(wakeups(&asked) > wakeups(&recorded), "a kept tick comes four times as often");
    let (how, known, assumed) = grid(&asked);
    assert_eq!(
        how,
        "HZ 1000, given by --hz; of the recording itself: HZ 250, from the tick timer's expiries"
    );
    assert!(known == 0 && assumed > 0);
    assert!(asked.traces[0].head.notes[0].starts_with("what if: "), "{:?}", asked.traces[0].head.notes);
    assert_eq!(asked.traces[0].fidelity, recorded.traces[0].fidelity, "the kernel had its own ticks");
    assert!(!mixed("kvm-guest", Some(7)).unwrap_err().to_string().is_empty());
    assert!(mixed("kvm-guest", Some(0)).is_err() && mixed("kvm-guest", Some(u32::MAX)).is_err());
}
