// SPDX-License-Identifier: GPL-2.0-only
//! Where recorded CPUs run: recordings and the machine that they are replayed on.

use std::path::{Path, PathBuf};

use idlewise_model::{CpuTape, PiecesError, TapeCpu};
use idlewise_platform::{Cluster, Platform};
use idlewise_replay::{SleepLengths, Workload};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{CommandError, Named};
use crate::options::{RecordingOptions, ReplaySetup};
use crate::recording::Recording;
use crate::refused::as_described;
use crate::trace_head::TraceHead;
use crate::what_if;

/// How a result is broken down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    #[default]
    All,
    Cpu,
    Cluster,
    State,
}

/// Recordings, a machine, and which of its clusters takes which CPU.
pub struct Placement {
    pub recordings: Vec<Recording>,
    /// The machine that it is replayed on.
    pub platform: Platform,
    /// The cluster that takes every CPU, where one does.
    cluster: Option<usize>,
    /// Ticks a second that are asked for instead of the recorded ones.
    hz: Option<u32>,
}

fn no_trace() -> CommandError {
    CommandError::not_given("TRACE", "no trace given")
}

impl Placement {
    /// Reads `traces`; they are replayed on the platform of `setup`, or where they were recorded, its cluster taking every CPU
    /// if named.
    pub fn open(traces: &[PathBuf], setup: &ReplaySetup) -> Result<Self, CommandError> {
        let ReplaySetup { recording, platform, cluster, .. } = setup;
        let options = RecordingOptions { replayed_on: platform.clone(), ..recording.clone() };
        let mut recordings = Recording::open_all(traces, &options)?;
        if let Some(hz) = options.hz {
            recordings.iter_mut().try_for_each(|r| what_if::ask(r, hz))?;
        }
        let Some(first) = recordings.first() else {
            return Err(no_trace());
        };
        let chosen = match platform {
            Some(name) => {
                let named = idlewise_platform::find(name)?;
                // What the recordings show of their machine holds for it under any name.
                let same =
                    |r: &&Recording| as_described(&r.machine).clusters == as_described(&named).clusters;
                recordings.iter().find(same).map_or(named.clone(), |r| Platform {
                    clusters: r.machine.clusters.clone(),
                    ..named.clone()
                })
            }
            None => first.machine.clone(),
        };
        if platform.is_none()
            && let Some(other) = recordings.iter().find(|r| !r.machine.same_as(&chosen))
        {
            let (one, two) = (first.path.display(), other.path.display());
            let why = format!(
                "{one} was recorded on {}, {two} on {}: name the machine to replay on with --platform, or replay each on its own by a corpus of them (corpus add, corpus run)",
                chosen.id, other.machine.id
            );
            return Err(CommandError::not_given("--platform", why));
        }
        let cluster = cluster.as_ref().map(|name| find_cluster(&chosen, name)).transpose()?;
        Ok(Self { recordings, platform: chosen, cluster, hz: options.hz })
    }

    /// As [`Placement::open`], of one trace.
    pub fn open_one(trace: &Path, setup: &ReplaySetup) -> Result<Self, CommandError> {
        Self::open(&[trace.to_owned()], setup)
    }

    /// The first recording, or the only one.
    pub fn first(&self) -> Result<&Recording, CommandError> {
        self.recordings.first().ok_or_else(no_trace)
    }

    /// Where a recorded CPU runs.
    pub fn place(&self, cpu: u32) -> Option<&Cluster> {
        match self.cluster {
            Some(i) => self.platform.clusters.get(i),
            None => self.platform.cluster_of(cpu),
        }
    }

    /// Why a recorded CPU runs nowhere.
    pub fn missing(&self, cpu: u32) -> Option<String> {
        if self.place(cpu).is_some() {
            return None;
        }
        Some(format!("platform {} has no CPU {cpu} (--cluster puts all CPUs on one)", self.platform.id))
    }

    /// What happens to the CPUs of `recording` that run somewhere, at least one.
    pub fn workloads(&self, recording: &Recording) -> Result<Vec<Workload>, CommandError> {
        self.workloads_with(recording, SleepLengths::Taped)
    }

    /// The same with other sleep lengths, where the recording does not tell for certain.
    pub fn workloads_with(
        &self,
        recording: &Recording,
        lengths: SleepLengths,
    ) -> Result<Vec<Workload>, CommandError> {
        let workloads = self.workloads_of(&recording.tape.cpus, lengths)?;
        if workloads.is_empty() { Err(self.nothing_left(recording)) } else { Ok(workloads) }
    }

    /// What happens to those of `cpus` that can be used and run somewhere.
    pub fn workloads_of(
        &self,
        cpus: &[CpuTape],
        lengths: SleepLengths,
    ) -> Result<Vec<Workload>, PiecesError> {
        let usable = |c: &&CpuTape| c.usable == TapeCpu::Usable && self.place(c.cpu).is_some();
        cpus.iter().filter(usable).map(|c| self.workload(c, lengths)).collect()
    }

    fn workload(&self, cpu: &CpuTape, lengths: SleepLengths) -> Result<Workload, PiecesError> {
        let recorded = Workload::with(cpu, lengths)?;
        Ok(match self.hz {
            Some(hz) => what_if::with_hz(recorded, hz),
            None => recorded,
        })
    }

    /// The clusters that take a recorded CPU, in the platform's order.
    pub fn used(&self) -> Vec<&Cluster> {
        let cpus =
            || self.recordings.iter().flat_map(|r| &r.tape.cpus).filter(|c| c.usable == TapeCpu::Usable);
        let takes = |cluster: &&Cluster| cpus().any(|c| self.place(c.cpu) == Some(*cluster));
        self.platform.clusters.iter().filter(takes).collect()
    }

    /// Sorts `results`, each of the CPU that `cpu` tells, into the parts that `per` asks for.
    pub fn parts<'r, T>(
        &self,
        per: Per,
        results: &'r [T],
        cpu: impl Fn(&T) -> u32,
    ) -> Vec<(String, Vec<&'r T>)> {
        let mut out: Vec<(String, Vec<&'r T>)> = Vec::new();
        for result in results {
            let cpu = cpu(result);
            let name = match per {
                Per::Cpu => format!("cpu {cpu}"),
                Per::Cluster => self.place(cpu).map_or_else(String::new, |c| c.name.clone()),
                Per::All | Per::State => return Vec::new(),
            };
            match out.iter_mut().find(|(n, _)| *n == name) {
                Some((_, members)) => members.push(result),
                None => out.push((name, vec![result])),
            }
        }
        out
    }

    /// Whether `recording` is replayed where it was made.
    pub fn same_machine(&self, recording: &Recording) -> bool {
        self.cluster.is_none() && recording.machine.clusters == self.platform.clusters
    }

    fn nothing_left(&self, recording: &Recording) -> CommandError {
        let head = TraceHead::new(recording, |cpu| self.missing(cpu));
        head.no_cpu_left(&recording.path, "replayed")
    }
}

fn find_cluster(platform: &Platform, name: &str) -> Result<usize, CommandError> {
    platform.clusters.iter().position(|c| c.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known = platform.clusters.iter().map(|c| c.name.clone()).collect();
        let what = Named::Cluster { platform: platform.id.clone() };
        CommandError::Unknown { what, name: name.to_owned(), known }
    })
}
