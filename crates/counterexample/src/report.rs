// SPDX-License-Identifier: GPL-2.0-only
//! What a search found.

use idlewise_model::Tape;
use idlewise_platform::Platform;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::arena::{Bar, Place};
use crate::period::Period;
use crate::request::CounterexampleRequest;
use crate::tape::{Made, tape, workload};

/// Version of the JSON; it changes when a field changes its meaning or goes away.
pub const SCHEMA: &str = "idlewise.counterexample/1";

/// Two governors, and the shortest sequence found on which the first is worse.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Counterexample {
    /// [`SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    /// The governor that is worse.
    pub a: String,
    pub b: String,
    /// In what: a measure's name.
    pub metric: &'static str,
    /// Its name in tables.
    #[serde(skip)]
    pub label: &'static str,
    /// By how much it had to be worse, % or percentage points.
    pub by: f64,
    /// Sequences that were tried, before any was made minimal.
    pub tried: u64,
    /// Nothing where no sequence shows it; that proves nothing.
    pub found: Option<Found>,
}

/// A sequence on which the first governor is worse.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Found {
    pub machine: MachineHead,
    /// Where the idle periods are from.
    pub source: String,
    /// The values of both governors, in `unit`.
    pub a: f64,
    pub b: f64,
    /// `mJ`, `rel`, `ns`, `%` or nothing.
    pub unit: String,
    /// How much worse the first is, % or percentage points.
    pub worse: f64,
    /// Those of all rounds together.
    pub idle_periods: usize,
    /// Rounds of the same idle periods.
    pub times: usize,
    /// The idle periods of the last round in order, with both governors' choices.
    pub story: Vec<StoryRow>,
    #[serde(skip)]
    periods: Vec<Period>,
    /// The machine as a platform file.
    #[serde(skip)]
    platform: String,
}

/// A CPU of a machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct MachineHead {
    /// Id of the platform.
    pub id: String,
    pub cluster: String,
    pub cpu: u32,
    pub hz: u32,
    pub states: Vec<StateHead>,
    /// `mJ`, or `rel` where its powers are relative.
    pub energy_unit: &'static str,
    /// What its energies depend on.
    pub energy_basis: String,
}

/// An idle state by what drivers say of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct StateHead {
    pub name: String,
    pub target_residency_ns: i64,
    pub exit_latency_ns: i64,
}

/// Equal idle periods that follow each other.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct StoryRow {
    pub times: u32,
    /// How long the CPU is busy before, ns.
    pub busy_ns: u64,
    /// Time to the next timer, ns; nothing where none is armed.
    pub timer_ns: Option<u64>,
    /// From the begin to the wakeup, ns.
    pub woken_ns: u64,
    /// The timer is the wakeup.
    pub by_timer: bool,
    /// 0 to 1024.
    pub util: u16,
    pub iowait: u16,
    pub a: Choice,
    pub b: Choice,
}

/// What a governor chose, and what came of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Choice {
    /// States in turn: a kept tick wakes the CPU, which asks again.
    pub chosen: String,
    /// What became of the tick, likewise.
    pub tick: String,
    /// Idle energy, in the machine's unit.
    pub energy: f64,
    /// From the wakeup to the first instruction, ns; nothing where nobody asked.
    pub latency_ns: Option<i64>,
}

impl Counterexample {
    pub(crate) fn new(request: &CounterexampleRequest, tried: u64, found: Option<Found>) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            a: request.a.name().to_owned(),
            b: request.b.name().to_owned(),
            metric: request.measure.name,
            label: request.measure.label,
            by: request.by,
            tried,
            found,
        }
    }

    /// The sequence as a tape that replay reads; nothing where none was found.
    #[must_use]
    pub fn tape(&self) -> Option<Tape> {
        let found = self.found.as_ref()?;
        let name = format!("{}-worse-than-{}", self.a, self.b).replace(['/', ':', '=', ','], "-");
        let made =
            Made { name: &name, machine: &found.platform, cpu: found.machine.cpu, hz: found.machine.hz };
        Some(tape(&found.periods.repeat(found.times), &made))
    }

    /// The sequence as a file of rt-app, for `idlewise boot run --workload rt-app`.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub fn workload(&self) -> Result<String, String> {
        let Some(found) = &self.found else { return Err("nothing was found".to_owned()) };
        let about = format!("idle periods on which {} is worse than {}", self.a, self.b);
        workload(&found.periods, found.machine.cpu, &about).map_err(|n| {
            format!(
                "idle period {n} ends by an interrupt, which rt-app cannot send; only timers make a workload"
            )
        })
    }
}

impl Found {
    pub(crate) fn new(
        (bar, times): (Bar, usize),
        platform: &Platform,
        place: Place<'_>,
        source: String,
        periods: Vec<Period>,
        (a, b, story): (f64, f64, Vec<StoryRow>),
    ) -> Self {
        let cluster = place.cluster;
        let state = |s: &idlewise_model::IdleState| StateHead {
            name: s.name.clone(),
            target_residency_ns: s.target_residency_ns,
            exit_latency_ns: s.exit_latency_ns,
        };
        let energy = cluster.energy.unit();
        Self {
            machine: MachineHead {
                id: platform.id.clone(),
                cluster: cluster.name.clone(),
                cpu: place.cpu,
                hz: place.hz,
                states: cluster.table.states().iter().map(state).collect(),
                energy_unit: energy,
                energy_basis: format!("{}: {}", cluster.energy.grade.label(), cluster.energy.basis),
            },
            source,
            a,
            b,
            unit: bar.measure.unit.suffix(energy).trim_start_matches('_').replace("pct", "%"),
            worse: bar.worse(crate::arena::Values { a, b }),
            idle_periods: periods.len() * times,
            times,
            story,
            periods,
            platform: platform.to_toml(),
        }
    }

    /// Those of one round.
    #[must_use]
    pub fn periods(&self) -> &[Period] {
        &self.periods
    }
}
