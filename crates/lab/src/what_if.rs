// SPDX-License-Identifier: GPL-2.0-only
//! `--hz`: what if the kernel that was recorded had ticked at another rate?

use idlewise_model::{Confidence, TickGrid};
use idlewise_replay::Workload;

use crate::simulate::bounds::HZ;
use crate::{LabError, Recording};

/// The input that says where the ticks lie, and how well that is known.
const TICK_GRID: &str = "tick grid";

/// Writes down in `recording` that it is replayed with `hz` ticks a second.
///
/// # Errors
/// [`LabError::Request`] where no kernel ticks so.
pub(crate) fn ask(recording: &mut Recording, hz: u32) -> Result<(), LabError> {
    if !HZ.contains(&hz) {
        let (least, most) = (HZ.start(), HZ.end());
        return Err(LabError::Request(format!(
            "{hz} ticks a second are asked for (--hz): Linux has {least} to {most}, mostly 100, 250, 300 or 1000"
        )));
    }
    recording.hz_asked = Some(hz);
    let tape = &mut recording.tape;
    for input in tape.inputs.iter_mut().filter(|i| i.name == TICK_GRID) {
        let all: u64 = input.counts.iter().sum();
        input.counts = [0; 4];
        input.counts[Confidence::Assumed as usize] = all;
        let recorded = std::mem::take(&mut input.how);
        input.how = format!("HZ {hz}, asked for by --hz; of the recording itself: {recorded}");
        tape.notes.insert(
            0,
            format!(
                "what if: the ticks of every result here are those of HZ {hz} (--hz), not the recorded ones"
            ),
        );
    }
    Ok(())
}

/// Gives `workload` ticks at `hz` a second; one of them lies where a tick was recorded.
pub(crate) fn with_hz(workload: Workload, hz: u32) -> Workload {
    let period_ns = TickGrid::period_of(hz);
    let grid = TickGrid { period_ns, phase_ns: workload.grid.phase_ns % period_ns };
    Workload { grid, ..workload }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::RecordingOptions;
    use crate::replay::{ReplayReport, ReplayRequest, replay};

    fn mixed(platform: &str, hz: Option<u32>) -> Result<ReplayReport, LabError> {
        let folder = tempfile::tempdir().unwrap();
        let bare = folder.path().join("bare.dat");
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat"), &bare)
            .unwrap();
        let recording = RecordingOptions {
            recorded_on: Some(platform.to_owned()),
            kernel_governor: Some("menu".to_owned()),
            hz,
            ..RecordingOptions::default()
        };
        let request = ReplayRequest {
            traces: vec![bare],
            recording,
            platform: Some("skylake-sp".to_owned()),
            governors: vec!["menu".to_owned()],
            ..ReplayRequest::default()
        };
        replay(&request, &|_, _| ())
    }

    fn grid(report: &ReplayReport) -> (String, u64, u64) {
        let input = report.traces[0].head.inputs.iter().find(|i| i.name == TICK_GRID).unwrap();
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
            "HZ 1000, asked for by --hz; of the recording itself: HZ 250, from the tick timer's expiries"
        );
        assert!(known == 0 && assumed > 0);
        assert!(asked.traces[0].head.notes[0].starts_with("what if: "), "{:?}", asked.traces[0].head.notes);
        assert_eq!(asked.traces[0].fidelity, recorded.traces[0].fidelity, "the kernel had its own ticks");
        assert!(!mixed("kvm-guest", Some(7)).unwrap_err().to_string().is_empty());
        assert!(mixed("kvm-guest", Some(0)).is_err() && mixed("kvm-guest", Some(u32::MAX)).is_err());
    }
}
