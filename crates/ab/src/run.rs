// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use idlewise_model::{Note, NoteId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::foreign::CpuTime;
use super::metric::{Metric, meter_name};
use super::printed::Printed;
use super::stop::Stop;
use super::wakeups::{METRICS, Tracer, Wakeups};
use super::watcher::{SharedLimits, Watcher};
use super::{AbRequest, Benchmark};
use idlewise_live::limits::Limiting;
use idlewise_live::watch::{Snapshot, Watch};
use idlewise_live::{Host, Journal, LiveError, clock};

/// One run of a benchmark under an arm: a line in the session's file.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Run {
    /// In the order of time, from 1.
    pub number: u32,
    /// From 0.
    pub round: u32,
    pub benchmark: String,
    /// Its arm, by its place in the request.
    pub arm: usize,
    /// Why it does not count: warm-up, foreign load.
    pub left_out: Option<String>,
    /// How long it took, s.
    pub seconds: f64,
    /// What was measured, by the metric's name.
    pub values: BTreeMap<String, f64>,
    /// Entries into idle states per second, all CPUs.
    pub wakeups_per_s: f64,
    /// Entries that the kernel counts as too deep, % of entries.
    pub too_deep_pct: Option<f64>,
    /// Entries that the kernel counts as too shallow, %.
    pub too_shallow_pct: Option<f64>,
    /// By state, shallow to deep.
    pub states: Vec<StateUse>,
    /// Mean power by meter, W.
    pub watts: BTreeMap<String, f64>,
    /// Time of other processes, % of all CPUs.
    pub foreign_pct: f64,
    /// The busiest of them.
    pub foreign_by: Vec<String>,
    /// Time that the host did not give, % of all CPUs.
    pub steal_pct: f64,
    /// The least latency limit seen, µs.
    pub limit_us: Option<i32>,
    pub limited_by: Vec<String>,
    /// Times that a CPU was slowed down because of heat.
    pub throttled: u64,
    /// What kept CPUs below their highest frequency at its end, in words.
    #[serde(default)]
    pub slowed_by: Vec<String>,
    /// Limits of power and heat that held its clocks; nothing in sessions of versions that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limiting: Option<Limiting>,
    /// How long the benchmark's tasks waited from being woken to running, if that was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakeups: Option<Wakeups>,
    /// What changed at the machine meanwhile: a CPU went offline or came online, in words.
    #[serde(skip)]
    pub(super) changed: Option<String>,
}

/// What a run did with an idle state.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StateUse {
    pub name: String,
    /// Time in it, % of all time.
    pub time_pct: f64,
    pub entries_per_s: f64,
}

/// What runs are made with.
pub(super) struct Runner<'a> {
    pub(super) host: &'a Host,
    pub(super) watch: Watch,
    pub(super) request: &'a AbRequest,
    pub(super) folder: &'a Path,
    pub(super) stop: &'a Stop,
    pub(super) start: Instant,
    pub(super) limits: SharedLimits,
    /// Where wakeups are to be traced.
    pub(super) tracer: Option<Tracer>,
}

impl Runner<'_> {
    /// Runs `benchmark` once; `number` names the file of what it prints. `journal` has it killed if the session is.
    pub(super) fn run(
        &mut self,
        benchmark: &Benchmark,
        number: u32,
        journal: &mut Journal,
    ) -> Result<Run, LiveError> {
        let metrics = Metric::all(benchmark, &self.request.metrics)?;
        let printed = self.folder.join(format!("run-{number:04}.txt"));
        let file = idlewise_files::write_anew(&printed).map_err(LiveError::io(&printed))?;
        let both = file.try_clone().map_err(LiveError::io(&printed))?;
        let (program, arguments) = benchmark
            .command
            .split_first()
            .ok_or_else(|| LiveError::Command { why: "no command".to_owned() })?;
        let mut command = Command::new(program);
        // A process group of its own, so that all of it can be ended at once.
        command.args(arguments).stdin(Stdio::null()).stdout(file).stderr(both).process_group(0);

        let cpu_before = CpuTime::read(self.host);
        let watcher = Watcher::start(self.host, &self.limits);
        // The last, as it follows what this thread starts.
        let traced = self.tracer.as_ref().map(|t| t.start()).transpose()?;
        let before = self.watch.look(self.start.elapsed())?;
        let begin = clock::now();
        let child = journal.start(&mut command).map_err(LiveError::io(Path::new(program)));
        let status = child.and_then(|mut child| {
            self.stop.watch(child.id());
            let status = child.wait().map_err(LiveError::io(Path::new(program)));
            journal.ended();
            self.stop.forget();
            status
        });
        let seconds = begin.elapsed().as_secs_f64();
        let after = self.watch.look(self.start.elapsed())?;
        self.tracer.as_ref().map_or(Ok(()), Tracer::stop)?;
        let bounds = watcher.stop();
        let foreign = CpuTime::read(self.host).since(&cpu_before);
        let status = status?;
        if self.stop.is_set() {
            return Err(LiveError::Interrupted);
        }
        let patterns: Vec<_> = metrics.iter().map(Metric::pattern).collect();
        let output = idlewise_files::open(&printed).and_then(|file| Printed::search(file, &patterns));
        let output = output.map_err(LiveError::io(&printed))?;
        if !status.success() {
            let how = match status.signal() {
                Some(signal) => format!("signal {signal}"),
                None => format!("exit status {}", status.code().unwrap_or(-1)),
            };
            let why = format!(
                "{}: {program}: {how}: {} (see {})",
                benchmark.name,
                output.last_line,
                printed.display()
            );
            return Err(LiveError::Command { why });
        }
        let mut values = BTreeMap::new();
        for (metric, found) in metrics.iter().zip(&output.found) {
            values.insert(metric.name.clone(), metric.value(found.as_deref(), seconds)?);
        }
        let wakeups = self.tracer.as_ref().zip(traced).map(|(t, at)| t.result(at)).transpose()?;
        for (name, value) in METRICS {
            if let Some(value) = wakeups.as_ref().and_then(value) {
                values.insert(name.to_owned(), value);
            }
        }
        let s = Snapshot::between(&before, &after);
        let of_machine =
            |n: &&Note| matches!(n.id, NoteId::CpusChanged | NoteId::CountersBack | NoteId::GovernorChanged);
        let changed = s.notes.iter().find(of_machine).map(|note| note.words.clone());
        let state = |s: &idlewise_live::watch::StateRow| StateUse {
            name: s.name.clone(),
            time_pct: s.time_pct,
            entries_per_s: s.entries_per_s,
        };
        Ok(Run {
            number,
            benchmark: benchmark.name.clone(),
            seconds,
            values,
            wakeups_per_s: s.machine.wakeups_per_s,
            too_deep_pct: s.machine.too_deep_pct,
            too_shallow_pct: s.machine.too_shallow_pct,
            states: s.machine.states.iter().map(state).collect(),
            watts: s.power.iter().filter_map(|p| Some((meter_name(p.source, &p.name), p.watts?))).collect(),
            foreign_pct: foreign.load_pct,
            foreign_by: foreign.by,
            steal_pct: foreign.steal_pct,
            limit_us: bounds.limit_us,
            limited_by: bounds.limited_by,
            throttled: bounds.limiting.throttling.as_ref().map_or(0, |t| t.count),
            slowed_by: bounds.slowed_by,
            limiting: Some(bounds.limiting),
            wakeups,
            changed,
            ..Run::default()
        })
    }
}
