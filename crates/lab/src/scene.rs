// SPDX-License-Identifier: GPL-2.0-only
//! Where recorded CPUs run: recordings and the machine that they are replayed on.

use std::path::{Path, PathBuf};

use idlewise_model::{CpuTape, TapeCpu};
use idlewise_platform::{Cluster, Platform};
use idlewise_replay::{SleepLengths, Workload};

use crate::refused::as_described;
use crate::replay::Per;
use crate::what_if;
use crate::{LabError, Recording, RecordingOptions, TraceHead};

/// Recordings, a machine, and which of its clusters takes which CPU.
pub(crate) struct Scene {
    pub(crate) recordings: Vec<Recording>,
    pub(crate) platform: Platform,
    /// The cluster that takes every CPU, where one does.
    cluster: Option<usize>,
    /// Ticks a second that are asked for instead of the recorded ones.
    hz: Option<u32>,
}

fn no_trace() -> LabError {
    LabError::Request("no trace given".to_owned())
}

impl Scene {
    /// Reads `traces`; they are replayed on `platform`, or where they were recorded, `cluster` taking every CPU if named.
    pub(crate) fn open(
        traces: &[PathBuf],
        recording: &RecordingOptions,
        platform: Option<&str>,
        cluster: Option<&str>,
    ) -> Result<Self, LabError> {
        let options = RecordingOptions { replayed_on: platform.map(str::to_owned), ..recording.clone() };
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
            return Err(LabError::Request(format!(
                "{} was recorded on {}, {} on {}: say with --platform which machine to replay on",
                first.path.display(),
                chosen.id,
                other.path.display(),
                other.machine.id
            )));
        }
        let cluster = cluster.map(|name| find_cluster(&chosen, name)).transpose()?;
        Ok(Self { recordings, platform: chosen, cluster, hz: options.hz })
    }

    /// As [`Scene::open`], of one trace.
    pub(crate) fn open_one(
        trace: &Path,
        recording: &RecordingOptions,
        platform: Option<&str>,
        cluster: Option<&str>,
    ) -> Result<Self, LabError> {
        Self::open(&[trace.to_owned()], recording, platform, cluster)
    }

    /// The first recording, or the only one.
    pub(crate) fn first(&self) -> Result<&Recording, LabError> {
        self.recordings.first().ok_or_else(no_trace)
    }

    /// Whether what was made of the recordings was made of all of them ([`Recording::check`]).
    pub(crate) fn check(&self) -> Result<(), LabError> {
        self.recordings.iter().try_for_each(Recording::check)
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
            recording.tape.cpus.iter().filter(usable).map(|c| self.workload(c, lengths)).collect();
        if workloads.is_empty() { Err(self.nothing_left(recording)) } else { Ok(workloads) }
    }

    fn workload(&self, cpu: &CpuTape, lengths: SleepLengths) -> Workload {
        let recorded = Workload::with(cpu, lengths);
        match self.hz {
            Some(hz) => what_if::with_hz(recorded, hz),
            None => recorded,
        }
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

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;

    use idlewise_model::{Piece, PieceStore, Pieces};
    use idlewise_replay::Setting;
    use idlewise_score::Tally;

    use super::*;
    use crate::candidate::Candidate;
    use crate::fidelity::kernels_own;
    use crate::governors::find_one;
    use idlewise_governor::Offered;

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
        let told = |e: LabError| e.to_string().contains("a worn disk");
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
