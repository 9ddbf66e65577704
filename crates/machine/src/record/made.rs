// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

use idlewise_model::{Note, NoteId};
use idlewise_platform::{Platform, cpu_list};
use idlewise_recorder::record::{Ended, Recorded};
use serde::{Serialize, Serializer};

use idlewise_recording::guest::unseen_in_guest;

use super::inputs::{InputsMade, TakenInputs};
use super::request::RecordRequest;

/// The part `[made]` of a recording's description: how the recording was made, for people and scripts.
#[derive(Debug, Serialize)]
pub(super) struct Made {
    pub(super) recorder: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_status: Option<u8>,
    kernel: String,
    machine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hz: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hypervisor: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpufreq_governor: Option<String>,
    cpus_online: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_halt_poll_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_limit_us: Option<i32>,
    seconds: f64,
    clock: String,
    buffer_kib: u64,
    events: u64,
    lost_events: u64,
    recorded: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "words")]
    notes: Vec<Note>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    cpu_latency_limits_us: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    topology: BTreeMap<&'static str, Vec<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<InputsMade>,
}

/// What there is without a driver.
const NO_DRIVER: &str = "this machine has no cpuidle driver: no governor is asked, and an idle CPU runs the one idle routine of its \
    architecture (x86: HLT or MWAIT; arm: WFI)";

impl Made {
    pub(super) fn of(
        recorded: &Recorded,
        request: &RecordRequest,
        machine: Option<&Platform>,
        inputs: Option<&TakenInputs>,
    ) -> Self {
        let facts = &recorded.facts;
        let topology = [("package", &facts.topology.package), ("core", &facts.topology.core)];
        let mut notes = recorded.notes.clone();
        if let Some(TakenInputs { recorded, .. }) = inputs {
            notes.extend(recorded.notes.iter().cloned());
            notes.extend(recorded.unproven.iter().map(|why| NoteId::InputsIncomplete.note(why)));
        }
        if recorded.nameless {
            notes.push(NoteId::NoSymbols.note(
                "the kernel hides its symbols (kernel.kptr_restrict): timers' functions have no names, the tick's too",
            ));
        }
        if facts.driver.is_none() {
            notes.push(NoteId::NoDriver.note(NO_DRIVER));
        } else if machine.is_none() {
            let words = "the kernel shows no idle states here: name the machine with --recorded-on";
            notes.push(NoteId::NoStates.note(words));
        }
        let unvisited: Vec<u32> = recorded.before.not_visited.clone();
        if !unvisited.is_empty() {
            notes.push(NoteId::ClosedCpus.note(format!(
                "CPUs {} are closed to us (cpuset): their first idle state is not known, counters were read from elsewhere",
                cpu_list(&unvisited)
            )));
        }
        Self {
            recorder: concat!("idlewise ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: request.command.iter().map(|w| w.to_string_lossy().into_owned()).collect(),
            exit_status: match recorded.ended {
                Ended::Command(_) => Some(recorded.ended.code()),
                Ended::Time | Ended::Asked => None,
            },
            kernel: facts.kernel.clone(),
            machine: facts.machine.clone(),
            hz: machine.and_then(|m| m.hz),
            driver: facts.driver.clone(),
            hypervisor: facts.hypervisor,
            cpufreq_governor: facts.cpufreq.clone(),
            cpus_online: cpu_list(&facts.cpus),
            guest_halt_poll_ns: facts.haltpoll.get("guest_halt_poll_ns").copied(),
            latency_limit_us: facts.latency_limit_us,
            seconds: recorded.span_ns as f64 / 1e9,
            clock: idlewise_live::tracefs::CLOCK.to_owned(),
            buffer_kib: recorded.buffer_kib,
            events: recorded.events,
            lost_events: recorded.lost,
            recorded: recorded.recorded.clone(),
            missing: recorded.missing.clone(),
            notes,
            cpu_latency_limits_us: facts
                .cpu_latency_limits_us
                .iter()
                .map(|(cpu, us)| (format!("cpu{cpu}"), *us))
                .collect(),
            topology: topology
                .into_iter()
                .filter(|(_, l)| !l.is_empty())
                .map(|(k, l)| (k, l.clone()))
                .collect(),
            inputs: inputs.map(TakenInputs::made),
        }
    }

    /// What a user should hear at once.
    pub(super) fn warnings(&self) -> Vec<Note> {
        let mut out = self.notes.clone();
        out.extend(self.hypervisor.map(|of| NoteId::Guest.note(unseen_in_guest(of))));
        let missing = |m: &String| {
            NoteId::MissingEvents.note(format!("not recorded, as this kernel does not have it: {m}"))
        };
        out.extend(self.missing.iter().map(missing));
        if self.latency_limit_us == Some(0) {
            out.push(
                NoteId::LatencyLimitZero.note(
                    "a process holds /dev/cpu_dma_latency at 0: CPUs only poll, and no governor is asked",
                ),
            );
        }
        if self.lost_events > 0 {
            out.push(NoteId::LostEvents.note(format!(
                "{} events were lost: a larger --buffer than {} MiB a CPU helps",
                self.lost_events,
                self.buffer_kib / 1024
            )));
        }
        out
    }
}

/// A description has notes for people.
fn words<S: Serializer>(notes: &[Note], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(notes.iter().map(|n| &n.words))
}
