// SPDX-License-Identifier: GPL-2.0-only
//! The governor that the kernel ran, led through the tapes of its own recording.

use std::cmp::Reverse;

use idlewise_governor::{Governor, GovernorError, Loader};
use idlewise_model::{CpuTape, NotKnown, NoteId, TapeCpu};
use idlewise_report::percent_of;

use crate::agreement::Agreement;
use crate::decision::Source;
use crate::follower::follow;
use crate::tape_decisions::TapeDecisions;
use idlewise_recording::kernel_governor::KernelGovernor;
use idlewise_recording::{CommandError, FidelityHead, Recording};

/// How far the governor that the kernel ran makes the kernel's choices on the machine that was recorded; or why that is
/// not known. `governor` is [`Recording::kernels_governor`].
pub fn kernels_own(
    recording: &Recording,
    governor: &Result<Governor, NotKnown>,
) -> Result<Result<FidelityHead, NotKnown>, CommandError> {
    if !recording.tells_states()? {
        let why = "not known: without cpu_idle events the recording does not show the kernel's choices";
        return Ok(Err(NotKnown::because(NoteId::NoIdleEvents, why)));
    }
    let governor = match governor {
        Ok(governor) => governor,
        Err(why) => return Ok(Err(why.about("not known: "))),
    };
    let by_data = matches!(recording.governor, KernelGovernor::Recorded(_));
    match governor.run(|loader| followed(loader, recording, &recording.tape.cpus)) {
        Ok(sum) => Ok(Ok(head(&governor.label(), &sum))),
        Err(GovernorError::IdlePeriods(e)) => Err(e.into()),
        // A name with a parameter that there is not, in a recording, is no reason to leave the rest undone.
        Err(e) if by_data || governor.is_foreign() && e.is_misbehaviour() => {
            Ok(Err(NotKnown::because(NoteId::GovernorFailed, format!("not known: {e}"))))
        }
        Err(e) => Err(e.into()),
    }
}

/// The kernel's governor led through the tapes of all CPUs, `tapes`: those of `recording`, or as they may have been.
pub(crate) fn followed(
    loader: &Loader<'_>,
    recording: &Recording,
    tapes: &[CpuTape],
) -> Result<Agreement, GovernorError> {
    let mut sum = Agreement::new(Source::Tape);
    let since = recording.decisions.since();
    for cpu in tapes.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(cluster) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let since_ns = since.get(&cpu.cpu).copied();
        sum.merge(follow(loader, &TapeDecisions::new(cpu, cluster, since_ns)?)?);
    }
    Ok(sum)
}

/// As shares, for the head of a report.
fn head(governor: &str, a: &Agreement) -> FidelityHead {
    let percent = |part: u64, whole: u64| (whole > 0).then(|| percent_of(part, whole));
    let mut partings: Vec<(String, u64)> =
        a.reasons.iter().map(|(kind, n)| (kind.describe().to_owned(), *n)).collect();
    partings.sort_by_key(|p| Reverse(p.1));
    FidelityHead {
        governor: governor.to_owned(),
        decisions: a.decisions,
        same_state_pct: percent(a.decisions - a.other_state, a.decisions),
        tick_known: a.tick_known,
        same_tick_pct: percent(a.tick_known - a.other_tick, a.tick_known),
        unknown_memory: a.unknown_state,
        partings,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use idlewise_governor::Offered;
    use idlewise_model::{Piece, PieceStore, Pieces};

    use super::*;
    use idlewise_recording::RecordingOptions;

    /// One idle period in a block; can be read up to the middle.
    #[derive(Debug)]
    struct Failing(Vec<Piece>);

    impl PieceStore for Failing {
        fn periods(&self) -> usize {
            self.0.len()
        }

        fn blocks(&self) -> usize {
            self.0.len()
        }

        fn read(&self, n: usize) -> io::Result<Vec<Piece>> {
            if n >= self.0.len() / 2 {
                return Err(io::Error::other("a worn disk"));
            }
            Ok(vec![self.0[n]])
        }
    }

    #[test]
    fn idle_periods_that_cannot_be_read_are_an_error() {
        let told = |e: CommandError| e.to_string().contains("a worn disk");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
        // A governor that the recording names is data: that it cannot be had is no error, but this is one.
        for kernel_governor in [Some("menu".to_owned()), None] {
            let options = RecordingOptions { kernel_governor, ..RecordingOptions::default() };
            let mut recording = Recording::open(&path, &options).unwrap();
            let governor = recording.kernels_governor(&Offered::nothing()).unwrap();
            assert!(kernels_own(&recording, &governor).unwrap().is_ok());
            for cpu in &mut recording.tape.cpus {
                cpu.pieces = Pieces::stored(Failing(cpu.pieces.to_vec().unwrap()));
            }
            assert!(kernels_own(&recording, &governor).is_err_and(told));
            assert!(recording.tape_bytes().is_err_and(told));
        }
    }
}
