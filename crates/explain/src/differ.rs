// SPDX-License-Identifier: GPL-2.0-only
//! Where two governors part, and where they differ most: `idlewise explain --why-differ`.

use idlewise_conform::settle_io_waits;
use idlewise_recording::governors;
use std::path::PathBuf;

use idlewise_governor::Governor;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::Explanation;
use crate::run::{DecisionAddress, OnCpu, foreign_among, hosted, pick_cpu};
use idlewise_recording::candidate::Candidate;
use idlewise_recording::governors::ForeignHead;
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, ReplaySetup, TraceHead};
use idlewise_study::compare::WaitCounts;
use idlewise_study::compare::parting::{self as choices, SideBySide};
use idlewise_study::waits::{WaitFiles, WaitPages, Waits};

/// Version of the JSON; it changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "idlewise.why-differ/2";

/// The two governors to compare, and the trace.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WhyDifferRequest {
    /// A trace or tape.
    #[serde(serialize_with = "idlewise_recording::json_paths::path")]
    #[schemars(with = "PathBuf")]
    pub trace: PathBuf,
    #[serde(flatten)]
    pub setup: ReplaySetup,
    /// The two governors with their parameters.
    pub governors: [String; 2],
    pub cpu: Option<u32>,
}

/// Decisions in which two governors differ, both sides explained.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct WhyDiffer {
    /// "idlewise.why-differ/2".
    pub schema: String,
    pub version: String,
    pub request: WhyDifferRequest,
    pub head: TraceHead,
    /// What the two governors are called.
    pub governors: [String; 2],
    /// Where the governors came from that are none of ours.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<ForeignHead>,
    /// In how many waits the choices differ, counted as `compare` does.
    pub waits: WaitCounts,
    /// The first parting, the one that differs most in energy, the one that differs most in latency; the same one is not repeated.
    pub moments: Vec<Moment>,
}

/// One wait that two governors began differently.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Moment {
    /// Why it is shown.
    pub why: String,
    /// Energy of the whole wait under the second, above that under the first, in `energy_unit`.
    pub energy: f64,
    pub energy_unit: String,
    /// How much longer the event had to wait under the second, ns.
    pub latency_ns: i64,
    /// The first one's side.
    pub a: Explanation,
    pub b: Explanation,
}

/// A parting before it is explained.
#[derive(Clone, Copy)]
struct Parting {
    cpu: usize,
    at_ns: u64,
    first: [u64; 2],
    energy_fj: i128,
    latency_ns: i64,
}

/// What two governors' runs on one CPU have come to.
#[derive(Default)]
struct Compared {
    waits: SideBySide,
    first: Option<Parting>,
    energy: Option<Parting>,
    latency: Option<Parting>,
}

/// Replays two governors and explains where they part.
///
/// # Errors
/// [`CommandError`] when recording, platform or governors cannot be read or found.
pub fn why_differ(request: &WhyDifferRequest) -> Result<WhyDiffer, CommandError> {
    let mut placement = Placement::open_one(&request.trace, &request.setup)?;
    settle_io_waits(&mut placement.recordings, &governors::offered([], &request.setup.kernel_trees))?;
    let recording = placement.first()?;
    let [a, b] = &request.governors;
    let pair = [a, b].map(|name| hosted(name, &request.setup.kernel_trees));
    let [a, b] = pair;
    let (a, b) = (a?, b?);
    let pair = [a.clone().apart_from(&b), b.apart_from(&a)];
    let mut workloads = placement.workloads(recording)?;
    if let Some(cpu) = request.cpu {
        pick_cpu(&workloads, Some(cpu))?;
        workloads.retain(|w| w.cpu == cpu);
    }
    let cpus: Vec<OnCpu<'_>> =
        workloads.iter().map(|w| OnCpu::new(&placement, recording, w, request.setup.seed)).collect();
    let compared: Vec<Compared> = cpus
        .par_iter()
        .enumerate()
        .map(|(i, cpu)| {
            let [a, b] = &pair;
            Compared::of(i, cpu, a, b)
        })
        .collect::<Result<_, CommandError>>()?;
    let moments = worth_showing(&compared);
    let mut all = SideBySide::default();
    compared.iter().for_each(|c| all.merge(&c.waits));
    Ok(WhyDiffer {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        request: request.clone(),
        head: TraceHead::new(recording, |cpu| placement.missing(cpu)),
        governors: pair.each_ref().map(Governor::label),
        foreign: foreign_among(&pair[0], &[Candidate::of(pair[1].clone())]),
        waits: WaitCounts::new(&all),
        moments: moments
            .par_iter()
            .filter_map(|(why, p)| Some(moment(cpus.get(p.cpu)?, &pair, why, p)))
            .collect::<Result<_, _>>()?,
    })
}

fn waits(cpu: &OnCpu<'_>, governor: &Governor) -> Result<(WaitFiles, WaitPages), CommandError> {
    let files = WaitFiles::new([cpu.workload])?;
    let pages = cpu.run(&Candidate::of(governor.clone()), |workload, place| {
        Waits::new(workload, &files, &place.table, &place.energy)
    })?;
    Ok((files, pages))
}

/// The first parting of all CPUs, and those that differ most; each once, with all its reasons.
fn worth_showing(compared: &[Compared]) -> Vec<(String, Parting)> {
    let best = |get: fn(&Compared) -> Option<Parting>, key: fn(&Parting) -> i128| {
        compared.iter().filter_map(get).reduce(|x, y| if key(&y) > key(&x) { y } else { x })
    };
    let candidates = [
        ("the first", best(|c| c.first, |p| -i128::from(p.at_ns))),
        ("differs most in energy", best(|c| c.energy, |p| p.energy_fj.abs())),
        ("differs most in latency", best(|c| c.latency, |p| p.latency_ns.abs().into())),
    ];
    let mut shown: Vec<(String, Parting)> = Vec::new();
    for (why, parting) in candidates {
        let Some(parting) = parting else { continue };
        let same = |p: &&mut (String, Parting)| (p.1.cpu, p.1.at_ns) == (parting.cpu, parting.at_ns);
        match shown.iter_mut().find(same) {
            Some((words, _)) => *words = format!("{words}, {why}"),
            None => shown.push((why.to_owned(), parting)),
        }
    }
    shown
}

fn moment(cpu: &OnCpu<'_>, pair: &[Governor; 2], why: &str, p: &Parting) -> Result<Moment, CommandError> {
    let [a, b] = pair;
    let energy = cpu.place.energy.in_unit(p.energy_fj.unsigned_abs());
    Ok(Moment {
        why: why.to_owned(),
        energy: if p.energy_fj < 0 { -energy } else { energy },
        energy_unit: cpu.place.energy.unit().to_owned(),
        latency_ns: p.latency_ns,
        a: cpu.explain(a, DecisionAddress::Decision(p.first[0]), &[])?,
        b: cpu.explain(b, DecisionAddress::Decision(p.first[1]), &[])?,
    })
}

impl Compared {
    fn of(cpu: usize, on: &OnCpu<'_>, a: &Governor, b: &Governor) -> Result<Self, CommandError> {
        let ((a_files, a), (b_files, b)) = (waits(on, a)?, waits(on, b)?);
        let a = || a_files.read(on.workload.cpu, &a);
        let b = || b_files.read(on.workload.cpu, &b);
        let waits = SideBySide::new(&on.workload.events, a(), b())?;
        let mut out = Self { waits, ..Self::default() };
        let mut pairs = a().zip(b());
        for block in on.workload.events.blocks() {
            for (event, (a, b)) in block?.iter().zip(&mut pairs) {
                let (a, b) = (&a?, &b?);
                if !choices::Parting::of(a, b).is_first() {
                    continue;
                }
                let parting = Parting {
                    cpu,
                    at_ns: event.start_ns,
                    first: [a.first, b.first],
                    energy_fj: b.energy_fj.cast_signed() - a.energy_fj.cast_signed(),
                    latency_ns: i64::from(b.latency_ns) - i64::from(a.latency_ns),
                };
                out.first.get_or_insert(parting);
                keep_larger(&mut out.energy, parting, |p| p.energy_fj.abs());
                keep_larger(&mut out.latency, parting, |p| p.latency_ns.abs().into());
            }
        }
        Ok(out)
    }
}

/// Keeps the larger of two, the earlier of equals, none that is nothing.
fn keep_larger(kept: &mut Option<Parting>, new: Parting, size: fn(&Parting) -> i128) {
    if size(&new) > kept.as_ref().map_or(0, size) {
        *kept = Some(new);
    }
}
