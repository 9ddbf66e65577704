// SPDX-License-Identifier: GPL-2.0-only
//! Does a governor here, fed with what the kernel's own was given, choose what the kernel's chose? The recording holds
//! both where the kernel has the overlay's events, or where they were recorded beside the trace by BPF
//! (`docs/reference/decisions-format.md`).

mod follow;
mod inputs;

use std::fmt;
use std::path::{Path, PathBuf};

use idlewise_governor::{Governor, GovernorError, Inputs, Offered, RecordedName};
use idlewise_model::TickGrid;
use idlewise_platform::Platform;
use serde::{Deserialize, Serialize};

pub use follow::Told;
use idlewise_recording::governors::{not_selected, offered};
use idlewise_recording::steps::{OF_KERNELS, OfGovernor, PREFIX, Steps};
use idlewise_recording::{CommandError, RecordingOptions};
pub(crate) use inputs::of_inputs;

/// The boot lab puts this, perhaps a number, and a dash before the name of a governor of a user's file.
const USERS: &str = "my";
/// The longest name that a kernel lets a governor have; the rest is cut off.
const NAME_MAX: usize = 15;

/// One governor of a recording with true inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parity {
    /// What the kernel called it; empty where it was in charge before the recording began.
    pub kernel_governor: String,
    /// The governor here that was fed with the same; empty where there is none.
    pub governor: String,
    /// Decisions in the recording.
    pub recorded: u64,
    /// Of these, those that a reschedule took back before the state was entered.
    pub given_up: u64,
    /// Of these, those whose state the driver refused.
    pub refused: u64,
    /// The table that they are from, where they are not in the trace; those that were given up are not compared then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<PathBuf>,
    /// The CPUs that the table has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// What came of it, or why nothing did.
    pub result: Result<ParityCounts, String>,
}

/// How many decisions came out the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityCounts {
    /// Decisions compared.
    pub decisions: u64,
    /// Of these, the same in all: state, tick, whether the sleep length was asked for, limit of the polling loop. Of a table: the
    /// same in state and tick.
    pub same: u64,
    /// With another state.
    pub other_state: u64,
    /// With another keep-or-stop of the tick.
    pub other_tick: u64,
    /// Where one asked for the sleep length and the other did not.
    pub other_question: u64,
    /// With another limit of the polling loop.
    pub other_poll_limit: u64,
    /// Decisions not compared: what the governor remembered is not known. Events were lost since it was switched on, or it was
    /// in charge before the recording began and the decision depends on that.
    pub unknown_memory: u64,
    /// The first that differ.
    pub first: Vec<ParityMismatch>,
    /// The same of a table: its lines, in words.
    pub lines: Vec<String>,
}

/// A decision that came out differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParityMismatch {
    /// The CPU.
    pub cpu: u32,
    /// When, ns on the trace's clock.
    pub at_ns: u64,
    /// The kernel's choice.
    pub kernel: Told,
    /// The choice here.
    pub here: Told,
    /// What the kernel's governor asked for ([`idlewise_model::Asked`]).
    pub asked: u32,
    /// What it was given.
    pub inputs: Inputs,
    /// Disabled states, bit i for state i.
    pub disabled: u16,
    /// The residency that it found in its device, ns.
    pub residency_ns: u64,
}

impl Parity {
    /// Decisions that differ.
    #[must_use]
    pub fn mismatches(&self) -> u64 {
        self.result.as_ref().map_or(0, |c| c.decisions - c.same)
    }

    /// Whether governor here and governor there contradict each other. One that was in charge before the recording began does
    /// not: what it remembered is not known.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.mismatches() > 0 && !self.kernel_governor.is_empty()
    }
}

impl ParityCounts {
    /// Decisions that are the same, % of those compared; not a number where there are none.
    #[must_use]
    pub fn same_pct(&self) -> f64 {
        self.same as f64 * 100.0 / self.decisions as f64
    }
}

impl fmt::Display for ParityMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let choice = |t: &Told| {
            let tick = if t.stop_tick { "stop" } else { "keep" };
            let asked = if t.asked_sleep_length { "asked" } else { "not asked" };
            let poll = if self.kernel.poll_limit_ns == self.here.poll_limit_ns {
                String::new()
            } else {
                format!(", poll limit {} ns", t.poll_limit_ns)
            };
            format!("state {}, {tick} the tick, sleep length {asked}{poll}", t.state)
        };
        let i = &self.inputs;
        write!(
            f,
            "CPU {} at {}.{:09}: the kernel {}; here {}; inputs: sleep length {} ns, next event with the \
             tick {} ns, \
             latency limit {} ns, clock {} ns, utilisation {}, iowait {}, tick {}, residency before {} ns, disabled {:#b}, \
             asked {:#x}",
            self.cpu,
            self.at_ns / 1_000_000_000,
            self.at_ns % 1_000_000_000,
            choice(&self.kernel),
            choice(&self.here),
            i.sleep_length_ns,
            i.delta_tick_ns,
            i.latency_limit_ns,
            i.now_ns,
            i.util,
            i.iowait,
            if i.tick_stopped { "stopped" } else { "running" },
            self.residency_ns,
            self.disabled,
            self.asked
        )
    }
}

/// Feeds governors with the true inputs of the trace at `path`, which was recorded on `machine`. `governor` is the one that the
/// kernel ran; where it is `None`, the recording names them.
///
/// # Errors
/// [`CommandError`] when the trace cannot be read, holds no such events, or `governor` cannot be found.
pub fn parity(
    path: &Path,
    options: &RecordingOptions,
    machine: &Platform,
    governor: Option<&Governor>,
    trees: &[PathBuf],
) -> Result<Vec<Parity>, CommandError> {
    let trace = options.open(path)?;
    let steps = Steps::of(trace.events()?);
    if steps.governors.is_empty() {
        let why = "no decisions with their true inputs: the kernel that was traced has no idlewise:* events, or they were off";
        return Err(CommandError::file(path, why));
    }
    let period_ns = TickGrid::period_of(machine.hz.unwrap_or(250));
    of_steps(&steps, machine, period_ns, governor, &offered([], trees))
}

/// As [`parity`], of decisions that were read before; names in them select what ships with us and what is `offered`.
pub(crate) fn of_steps(
    steps: &Steps,
    machine: &Platform,
    tick_period_ns: u64,
    governor: Option<&Governor>,
    offered: &Offered,
) -> Result<Vec<Parity>, CommandError> {
    let own_name = governor.map(registered).transpose()?;
    let is_given = |of: &OfGovernor| own_name.as_deref().is_some_and(|own| may_be(own, of.name.as_str()));
    // One that bears no name of the recording is meant for whatever is in it.
    let for_all = !steps.governors.iter().any(|of| of.decisions > 0 && is_given(of));
    let mut out = Vec::new();
    // One that was switched on and off again without a decision leaves nothing to compare.
    for of in steps.governors.iter().filter(|of| of.decisions > 0) {
        let mut parity = Parity {
            kernel_governor: of.name.as_str().to_owned(),
            governor: String::new(),
            recorded: of.decisions,
            given_up: of.given_up,
            refused: of.refused,
            table: None,
            cpus: Vec::new(),
            result: Ok(ParityCounts::default()),
        };
        let name = of.name.as_str();
        let given = governor.filter(|_| for_all || is_given(of));
        parity.result = match given.map_or_else(|| by_name(name, offered), |g| Ok(g.clone())) {
            Ok(governor) => {
                parity.governor = governor.label();
                one(&governor, of, machine, tick_period_ns, given.is_none())?
            }
            Err(why) => Err(why),
        };
        out.push(parity);
    }
    Ok(out)
}

/// Whether a kernel may call a governor `name` that calls itself `own`.
fn may_be(own: &str, name: &str) -> bool {
    let number = name.strip_prefix(USERS).map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    match number.and_then(|rest| rest.strip_prefix('-')) {
        Some(start) if own != name => own == start || (name.len() == NAME_MAX && own.starts_with(start)),
        _ => own == name.strip_prefix(PREFIX).unwrap_or(name),
    }
}

fn one(
    governor: &Governor,
    of: &OfGovernor,
    machine: &Platform,
    tick_period_ns: u64,
    by_data: bool,
) -> Result<Result<ParityCounts, String>, CommandError> {
    match governor.run(|loader| follow::follow(loader, of, machine, tick_period_ns)) {
        Ok(followed) => Ok(followed),
        Err(e) if by_data || governor.is_foreign() && e.is_misbehaviour() => Ok(Err(e.to_string())),
        Err(e) => Err(e.into()),
    }
}

/// The name under which `governor` registers.
pub fn registered(governor: &Governor) -> Result<String, CommandError> {
    let any_tick_ns = TickGrid::period_of(1000);
    Ok(governor.run(|loader| Ok(loader.load(any_tick_ns)?.registered().0))?)
}

/// The governor of ours that a kernel with the overlay calls `name`; or why none is meant for certain.
fn by_name(name: &str, offered: &Offered) -> Result<Governor, String> {
    if name.is_empty() {
        let why = "the governor was enabled before the recording began and is not named: name it with \
            --kernel-governor";
        return Err(why.to_owned());
    }
    let ours = name.strip_prefix(PREFIX);
    if ours.is_none() && OF_KERNELS.contains(&name) {
        return Err(format!(
            "the kernel's own {name}, it seems: name its file with --kernel-governor (linux:VERSION/{name} and --kernel-tree)"
        ));
    }
    let recorded = RecordedName::new(ours.unwrap_or(name));
    recorded.find(offered, None).map_err(|why| match why {
        GovernorError::Unknown { .. } => {
            format!("{name} is not among the governors here (--kernel-governor)")
        }
        why => not_selected(&recorded, &why, None),
    })
}
