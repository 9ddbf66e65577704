// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own governor, led through its own recording.

use idlewise_governor::{GovernorError, Loader, Offered};
use idlewise_idle::Hosted;
use idlewise_model::{TapeCpu, TickGrid};
use idlewise_replay::{Fidelity, fidelity};

use crate::parity::{Parity, of_inputs, of_steps};
use crate::recording::KernelGovernor;
use crate::{FidelityHead, LabError, Recording};

/// Governors that the kernel ran, fed with the true inputs of their decisions; nothing where the recording has none. What is
/// `offered` may be selected by names in it.
pub(crate) fn parities(recording: &Recording, offered: &Offered) -> Result<Vec<Parity>, LabError> {
    if recording.steps.governors.is_empty() && recording.inputs.is_none() {
        return Ok(Vec::new());
    }
    let governor = recording.kernels_governor(offered)?;
    let mut all = Vec::new();
    if let Some(inputs) = &recording.inputs {
        let name = recording.tape.source.governor.as_str();
        all.push(of_inputs(inputs, name, governor.as_ref().map_err(String::as_str), &recording.machine)?);
    }
    let usable = recording.tape.cpus.iter().find(|c| c.usable == TapeCpu::Usable);
    let period_ns = usable.map_or(TickGrid::period_of(250), |cpu| cpu.tick.period_ns);
    all.extend(of_steps(&recording.steps, &recording.machine, period_ns, governor.as_ref().ok(), offered)?);
    Ok(all)
}

/// How far the governor that the kernel ran makes the kernel's choices on the machine that was recorded; or why that is
/// not known. What is `offered` may be selected by a name in the recording.
pub(crate) fn kernels_own(
    recording: &Recording,
    offered: &Offered,
) -> Result<Result<FidelityHead, String>, LabError> {
    if !recording.tells_states() {
        return Ok(Err(
            "not known: without cpu_idle events the kernel's choices are not in the recording".into()
        ));
    }
    let governor = match recording.kernels_governor(offered)? {
        Ok(governor) => governor,
        Err(why) => return Ok(Err(format!("not known: {why}"))),
    };
    let by_data = matches!(recording.governor, KernelGovernor::Recorded(_));
    match governor.run(|loader| followed(loader, recording)) {
        Ok((_, Some(why))) => Err(LabError::Stays(why)),
        Ok((sum, None)) => Ok(Ok(FidelityHead::new(&governor.label(), &sum))),
        // A name with a parameter that there is not, in a recording, is no reason to leave the rest undone.
        Err(e) if by_data || governor.is_foreign() && e.is_misbehaviour() => {
            Ok(Err(format!("not known: {e}")))
        }
        Err(e) => Err(e.into()),
    }
}

/// Two copies of a governor are led through a recording. Tells also what kept it from being read to its end: a foreign
/// governor follows it in a process of its own.
fn followed(loader: &Loader<'_>, recording: &Recording) -> Result<(Fidelity, Option<String>), GovernorError> {
    let mut sum = Fidelity::default();
    let since = recording.steps.since();
    for cpu in recording.tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(place) = recording.machine.cluster_of(cpu.cpu) else { continue };
        let mut copies = [loader.load(cpu.tick.period_ns)?, loader.load(cpu.tick.period_ns)?];
        let mut hosted = Vec::new();
        for copy in &mut copies {
            let slot = copy.add_cpu(cpu.cpu, &place.table, place.capacity)?;
            hosted.push(Hosted::new(copy, slot));
        }
        if let [fresh, seasoned] = hosted.as_mut_slice() {
            let since_ns = since.get(&cpu.cpu).copied();
            sum.merge(&fidelity(cpu, &place.table, place.capacity, since_ns, fresh, seasoned));
        }
    }
    let failure = recording.tape.cpus.iter().find_map(|c| c.pieces.failure());
    Ok((sum, failure.map(str::to_owned)))
}
