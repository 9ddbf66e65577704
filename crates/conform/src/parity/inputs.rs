// SPDX-License-Identifier: GPL-2.0-only
//! Inputs that were recorded beside a trace.

use idlewise_governor::Governor;
use idlewise_platform::Platform;

use super::{Parity, ParityCounts};
use crate::truth::{LiveFile, TruthResult, lead};
use idlewise_recording::CommandError;
use idlewise_recording::sidecar::InputsBeside;

/// Feeds `governor`, which stands for the kernel's `name` if it can be had, with what the kernel's was told on every CPU of `machine`.
///
/// # Errors
/// [`CommandError`] when the table cannot be read, or the governor crashes.
pub(crate) fn of_inputs(
    inputs: &InputsBeside,
    name: &str,
    governor: Result<&Governor, &str>,
    machine: &Platform,
) -> Result<Parity, CommandError> {
    let mut parity = Parity {
        kernel_governor: name.to_owned(),
        governor: governor.map_or_else(|_| String::new(), Governor::label),
        recorded: 0,
        given_up: 0,
        refused: 0,
        table: Some(inputs.file.clone()),
        cpus: Vec::new(),
        result: Ok(ParityCounts::default()),
    };
    if !inputs.file.exists() {
        parity.result =
            Err(format!("{}, which the recording's description names, is not there", inputs.file.display()));
        return Ok(parity);
    }
    let all = LiveFile::read_all(&inputs.file, machine)?;
    parity.cpus = all.iter().map(|live| live.cpu).collect();
    parity.cpus.dedup();
    for row in all.iter().flat_map(|live| &live.rows) {
        parity.recorded += 1;
        parity.given_up += u64::from(row.given_up == Some(true));
        parity.refused += u64::from(row.rejected);
    }
    parity.result = match (&inputs.unproven, governor) {
        (Some(why), _) => Err(why.clone()),
        (None, Ok(governor)) => prove(governor, &all)?,
        (None, Err(why)) => Err(why.to_owned()),
    };
    Ok(parity)
}

fn prove(governor: &Governor, all: &[LiveFile<'_>]) -> Result<Result<ParityCounts, String>, CommandError> {
    let mut counts = ParityCounts::default();
    for live in all {
        match lead(governor, live) {
            Ok(of_cpu) => counts.add(of_cpu),
            Err(e) if governor.is_foreign() && e.is_misbehaviour() => return Ok(Err(e.to_string())),
            Err(e) => return Err(e.into()),
        }
    }
    Ok(Ok(counts))
}

impl ParityCounts {
    fn add(&mut self, of_cpu: TruthResult) {
        self.decisions += of_cpu.rows;
        self.same += of_cpu.rows - of_cpu.other;
        self.other_state += of_cpu.other_state;
        self.other_tick += of_cpu.other_tick;
        self.other_question += of_cpu.other_question;
        self.other_poll_limit += of_cpu.other_poll_limit;
        self.unknown_memory += of_cpu.unknown_memory;
        self.lines.extend(of_cpu.first);
    }
}
