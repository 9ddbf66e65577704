// SPDX-License-Identifier: GPL-2.0-only
//! The governor that the kernel ran, led through the tapes of its own recording.

use std::cmp::Reverse;

use idlewise_governor::{Governor, GovernorError, Loader, shipped_versions};
use idlewise_model::{CpuTape, NotKnown, NoteId, TapeCpu};
use idlewise_platform::Cluster;
use idlewise_report::percent_of;

use crate::agreement::Agreement;
use crate::decision::Source;
use crate::follower::follow;
use crate::tape_decisions::TapeDecisions;
use idlewise_recording::kernel_governor::KernelGovernor;
use idlewise_recording::trace_head::{ByRelease, Constant, OtherVersion};
use idlewise_recording::{CommandError, FidelityHead, Recording};

/// Where a governor repeats at least so many of the kernel's choices, %, no other version is tried.
const WELL_REPEATED_PCT: f64 = 98.0;

/// How far the governor that the kernel ran makes the kernel's choices on the machine that was recorded; or why that is
/// not known. `governor` is [`Recording::kernels_governor`].
pub fn kernels_own(
    recording: &Recording,
    governor: &Result<Governor, NotKnown>,
) -> Result<Result<FidelityHead, NotKnown>, CommandError> {
    if !recording.tells_states()? {
        let none = recording.tape.notes.iter().any(|note| note.id == NoteId::NoIdleEvents);
        let why = if none {
            "not known: without cpu_idle events the recording does not show the kernel's choices"
        } else {
            "not known: no cpu_idle event is of an entry into a state of this machine"
        };
        return Ok(Err(NotKnown::because(NoteId::NoIdleEvents, why)));
    }
    let governor = match governor {
        Ok(governor) => governor,
        Err(why) => return Ok(Err(why.about("not known: "))),
    };
    let by_data = matches!(recording.governor, KernelGovernor::Recorded(_));
    match governor.run(|loader| followed(loader, recording, &recording.tape.cpus)) {
        Ok(sum) => {
            let mut head = head(&governor.label(), &sum);
            head.constant = sum
                .best_constant()
                .map(|(state, same_pct)| Constant { state: state_name(recording, state), same_pct });
            head.usable_states = usable_states(recording);
            head.by_release = recording.kernels_version().map(|version| ByRelease {
                governor: version.governor.to_owned(),
                kernel: recording.tape.source.kernel.clone(),
                same: version.same,
            });
            head.better_version = better_version(recording, governor, &head)?;
            Ok(Ok(head))
        }
        Err(GovernorError::IdlePeriods(e)) => Err(e.into()),
        // A name with a parameter that there is not, in a recording, is no reason to leave the rest undone.
        Err(e) if by_data || governor.is_foreign() && e.is_misbehaviour() => {
            Ok(Err(NotKnown::because(NoteId::GovernorFailed, format!("not known: {e}"))))
        }
        Err(e) => Err(e.into()),
    }
}

/// The version of the kernel's governor, where it is named without one, that repeats clearly more of its choices than `governor` does,
/// which repeats too few: one that halves those that differ.
fn better_version(
    recording: &Recording,
    governor: &Governor,
    head: &FidelityHead,
) -> Result<Option<OtherVersion>, CommandError> {
    let name = match &recording.governor {
        KernelGovernor::Other(_) => return Ok(None),
        name => name.as_str(),
    };
    let Some(own_pct) = head.same_pct().filter(|pct| *pct < WELL_REPEATED_PCT) else { return Ok(None) };
    let own = governor.spec().to_string();
    let mut best = None;
    for spec in shipped_versions(name).into_iter().filter(|spec| *spec != own) {
        let other = Governor::find(&spec.parse()?)?;
        let sum =
            other.run(|loader| followed(loader, recording, &recording.tape.cpus)).map_err(|e| match e {
                GovernorError::IdlePeriods(e) => CommandError::from(e),
                e => e.into(),
            })?;
        let Some(same_pct) = self::head(spec, &sum).same_pct() else { continue };
        let least = best.as_ref().map_or((100.0 + own_pct) / 2.0, |b: &OtherVersion| b.same_pct);
        if same_pct > least {
            best = Some(OtherVersion { governor: spec.to_owned(), same_pct });
        }
    }
    Ok(best)
}

/// What people call `state`, where all CPUs that can be used call it that.
fn state_name(recording: &Recording, state: i32) -> String {
    let mut names: Vec<&str> = usable(recording, &recording.tape.cpus)
        .filter_map(|(_, c)| Some(c.table.states().get(usize::try_from(state).ok()?)?.name.as_str()))
        .collect();
    names.dedup();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        _ => format!("state {state}"),
    }
}

/// States that are on at any time, of the CPU that has the most. Governors ask for those that are refused, too.
fn usable_states(recording: &Recording) -> usize {
    let of_cpu = |(tape, cluster): (&CpuTape, &Cluster)| {
        let default = cluster.table.disabled_by_default();
        let first = tape.disabled.first().is_none_or(|c| c.at_ns > recording.tape.source.first_ns);
        let begin = if first { 0 } else { u16::MAX };
        let off = tape.disabled.iter().fold(begin, |off, change| off & change.value) | default;
        (0..cluster.table.len()).filter(|i| off >> i & 1 == 0).count()
    };
    usable(recording, &recording.tape.cpus).map(of_cpu).fold(0, usize::max)
}

/// Those of `tapes` that can be used, with their clusters.
fn usable<'r>(
    recording: &'r Recording,
    tapes: &'r [CpuTape],
) -> impl Iterator<Item = (&'r CpuTape, &'r Cluster)> {
    let cpus = tapes.iter().filter(|c| c.usable == TapeCpu::Usable);
    cpus.filter_map(|cpu| Some((cpu, recording.machine.cluster_of(cpu.cpu)?)))
}

/// The kernel's governor led through the tapes of all CPUs, `tapes`: those of `recording`, or as they may have been.
pub(crate) fn followed(
    loader: &Loader<'_>,
    recording: &Recording,
    tapes: &[CpuTape],
) -> Result<Agreement, GovernorError> {
    let mut sum = Agreement::new(Source::Tape);
    let since = recording.decisions.since();
    for (cpu, cluster) in usable(recording, tapes) {
        let since_ns = since.get(&cpu.cpu).copied();
        let decisions = TapeDecisions::new(cpu, cluster, since_ns)?.doubting_util(&recording.tape);
        sum.merge(follow(loader, &decisions)?);
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
        by_release: None,
        better_version: None,
        constant: None,
        usable_states: 0,
    }
}
