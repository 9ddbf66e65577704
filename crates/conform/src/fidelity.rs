// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own governor, led through its own recording.

use idlewise_governor::{GovernorError, Loader, Offered};
use idlewise_idle::Hosted;
use idlewise_model::{TapeCpu, TickGrid};
use idlewise_replay::{Fidelity, fidelity};

use crate::parity::{Parity, of_inputs, of_steps};
use idlewise_recording::recording::KernelGovernor;
use idlewise_recording::{CommandError, FidelityHead, Recording};

/// Governors that the kernel ran, fed with the true inputs of their decisions; nothing where the recording has none. What is
/// `offered` may be selected by names in it.
pub fn parities(recording: &Recording, offered: &Offered) -> Result<Vec<Parity>, CommandError> {
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
pub fn kernels_own(
    recording: &Recording,
    offered: &Offered,
) -> Result<Result<FidelityHead, String>, CommandError> {
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
        Ok((_, Some(why))) => Err(CommandError::Stays(why)),
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use idlewise_model::{Piece, PieceStore, Pieces};
    use idlewise_replay::Setting;
    use idlewise_score::Tally;

    use super::*;
    use idlewise_recording::RecordingOptions;
    use idlewise_recording::candidate::Candidate;
    use idlewise_recording::governors::find_one;
    use idlewise_recording::scene::Scene;
    use idlewise_replay::Workload;

    /// Can be read up to the middle.
    #[derive(Debug)]
    struct Failing(Vec<Piece>);

    impl PieceStore for Failing {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn read(&self, at: usize, block: &mut Vec<Piece>) -> io::Result<()> {
            if at >= self.0.len() / 2 {
                return Err(io::Error::other("a worn disk"));
            }
            block.extend(self.0.get(at));
            Ok(())
        }
    }

    fn failing() -> Scene {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
        let options =
            RecordingOptions { kernel_governor: Some("menu".to_owned()), ..RecordingOptions::default() };
        let mut scene = Scene::open(&[path], &options, None, None).unwrap();
        for cpu in scene.recordings.iter_mut().flat_map(|r| &mut r.tape.cpus) {
            cpu.pieces = Pieces::kept(Failing(cpu.pieces.to_vec()));
        }
        scene
    }

    #[test]
    fn stays_that_cannot_be_read_again_are_an_error_for_every_command() {
        let told = |e: CommandError| e.to_string().contains("a worn disk");
        let setting = Setting::new(true, 0);
        let menu = Candidate::of(find_one("menu", &[]).unwrap());
        for candidate in [menu, Candidate::Oracle] {
            let scene = failing();
            let recording = &scene.recordings[0];
            let workloads = scene.workloads(recording).unwrap();
            let cpus: Vec<&Workload> = workloads.iter().collect();
            let ran =
                candidate.run(&cpus, &scene, setting, |_, place| Tally::new(&place.table, &place.energy));
            assert!(ran.is_err_and(told));
            assert!(scene.check().is_err_and(told));
        }
        let scene = failing();
        assert!(scene.check().is_ok(), "nobody has read them yet");
        assert!(kernels_own(&scene.recordings[0], &Offered::nothing()).is_err_and(told));
        let scene = failing();
        assert!(scene.recordings[0].tape_bytes().is_err_and(told));
    }
}
