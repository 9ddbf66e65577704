// SPDX-License-Identifier: GPL-2.0-only
//! Where recorded CPUs run: recordings and the machine that they are replayed on.

use std::path::PathBuf;

use idlewise_model::{CpuTape, TapeCpu};
use idlewise_platform::{Cluster, Platform};
use idlewise_replay::{SleepLengths, Workload};
use rayon::prelude::*;

use crate::replay::Per;
use crate::{LabError, Recording, RecordingOptions, TraceHead};

/// Recordings, a machine, and which of its clusters takes which CPU.
pub(crate) struct Scene {
    pub(crate) recordings: Vec<Recording>,
    pub(crate) platform: Platform,
    /// The cluster that takes every CPU, where one does.
    cluster: Option<usize>,
}

impl Scene {
    /// Reads `traces`; they are replayed on `platform`, or where they were recorded, `cluster` taking every CPU if named.
    pub(crate) fn open(
        traces: &[PathBuf],
        recording: &RecordingOptions,
        platform: Option<&str>,
        cluster: Option<&str>,
    ) -> Result<Self, LabError> {
        let options = RecordingOptions { otherwise: platform.map(str::to_owned), ..recording.clone() };
        let recordings: Vec<Recording> =
            traces.par_iter().map(|path| Recording::open(path, &options)).collect::<Result<_, _>>()?;
        let Some(first) = recordings.first() else {
            return Err(LabError::Request("no trace given".to_owned()));
        };
        let chosen = match platform {
            Some(name) => idlewise_platform::find(name)?,
            None => first.machine.clone(),
        };
        if platform.is_none()
            && let Some(other) = recordings.iter().find(|r| r.machine != chosen)
        {
            return Err(LabError::Request(format!(
                "{} was recorded on {}, {} on {}: say with --platform which machine to replay on",
                first.path.display(),
                chosen.id,
                other.path.display(),
                other.machine.id
            )));
        }
        let cluster = cluster.map(|name| find_cluster(&chosen, name)).transpose()?;
        Ok(Self { recordings, platform: chosen, cluster })
    }

    /// Where a recorded CPU runs.
    pub(crate) fn place(&self, cpu: u32) -> Option<&Cluster> {
        match self.cluster {
            Some(i) => self.platform.clusters.get(i),
            None => self.platform.cluster_of(cpu),
        }
    }

    /// Why a recorded CPU runs nowhere.
    pub(crate) fn missing(&self, cpu: u32) -> Option<String> {
        if self.place(cpu).is_some() {
            return None;
        }
        Some(format!("platform {} has no CPU {cpu} (--cluster puts all CPUs on one)", self.platform.id))
    }

    /// What happens to the CPUs of `recording` that run somewhere, at least one.
    pub(crate) fn workloads(&self, recording: &Recording) -> Result<Vec<Workload>, LabError> {
        self.workloads_with(recording, SleepLengths::Taped)
    }

    /// The same with other sleep lengths, where the recording does not tell for certain.
    pub(crate) fn workloads_with(
        &self,
        recording: &Recording,
        lengths: SleepLengths,
    ) -> Result<Vec<Workload>, LabError> {
        let usable = |c: &&CpuTape| c.usable == TapeCpu::Usable && self.place(c.cpu).is_some();
        let workloads: Vec<Workload> =
            recording.tape.cpus.iter().filter(usable).map(|c| Workload::with(c, lengths)).collect();
        if workloads.is_empty() { Err(self.nothing_left(recording)) } else { Ok(workloads) }
    }

    /// The clusters that take a recorded CPU, in the platform's order.
    pub(crate) fn used(&self) -> Vec<&Cluster> {
        let cpus =
            || self.recordings.iter().flat_map(|r| &r.tape.cpus).filter(|c| c.usable == TapeCpu::Usable);
        let takes = |cluster: &&Cluster| cpus().any(|c| self.place(c.cpu) == Some(*cluster));
        self.platform.clusters.iter().filter(takes).collect()
    }

    /// Sorts `results`, each of the CPU that `cpu` tells, into the parts that `per` asks for.
    pub(crate) fn parts<'r, T>(
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
    pub(crate) fn same_machine(&self, recording: &Recording) -> bool {
        self.cluster.is_none() && recording.machine.clusters == self.platform.clusters
    }

    fn nothing_left(&self, recording: &Recording) -> LabError {
        let head = TraceHead::new(recording, |cpu| self.missing(cpu));
        let why: Vec<String> = head.left_out.iter().map(|l| format!("CPU {}: {}", l.cpu, l.why)).collect();
        LabError::Request(format!("{}: no CPU can be replayed. {}", recording.path.display(), why.join("; ")))
    }
}

fn find_cluster(platform: &Platform, name: &str) -> Result<usize, LabError> {
    let names = || platform.clusters.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join(", ");
    platform.clusters.iter().position(|c| c.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        LabError::Request(format!("platform {} has no cluster {name}; it has {}", platform.id, names()))
    })
}
