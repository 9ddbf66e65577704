// SPDX-License-Identifier: GPL-2.0-only
//! The governors that a recording names, each led through the decisions that it made in the kernel, with recorded inputs. The
//! recording has these where the kernel has the overlay's events, or where BPF recorded a table of them next to the trace
//! (`docs/reference/decisions-format.md`).

use std::path::{Path, PathBuf};

use idlewise_governor::{Governor, GovernorError, Offered, RecordedName};
use idlewise_model::{NotKnown, NoteId, TapeCpu, TickGrid, known};
use idlewise_platform::Platform;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agreement::Agreement;
use crate::decision::Source;
use crate::decision_table::{DecisionTable, follow_all};
use crate::follower::follow;
use crate::own_table::is_of_another;
use crate::published;
use crate::trace_decisions::TraceDecisions;
use idlewise_recording::decisions::{GovernorEvents, OF_KERNELS, PREFIX, RecordedDecisions};
use idlewise_recording::governors::{not_selected, offered};
use idlewise_recording::sidecar::InputsBeside;
use idlewise_recording::{CommandError, Recording, RecordingOptions};

/// The boot lab puts this, perhaps a number, and a dash before the name of a governor of a user's file.
const USERS: &str = "my";
/// The longest name that a kernel lets a governor have; the rest is cut off.
const NAME_MAX: usize = 15;

/// One governor of a recording with recorded inputs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RecordedGovernor {
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
    #[serde(flatten, serialize_with = "published::result")]
    #[schemars(with = "known::ResultOrWhy<published::Counts>")]
    pub result: Result<Agreement, NotKnown>,
}

impl RecordedGovernor {
    #[must_use]
    pub fn mismatches(&self) -> u64 {
        self.result.as_ref().map_or(0, Agreement::diverging)
    }

    /// Whether governor here and governor there contradict each other. One that was in charge before the recording began does
    /// not: its state then is not known.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.mismatches() > 0 && !self.kernel_governor.is_empty()
    }
}

/// Governors that the kernel ran, led through the decisions that were recorded with their inputs; nothing where the recording
/// has none. `governor` is [`Recording::kernels_governor`]; what is `offered` may be selected by names in the recording.
///
/// # Errors
/// [`CommandError`] when a table of decisions cannot be read, or a governor crashes.
pub fn of_recording(
    recording: &Recording,
    governor: &Result<Governor, NotKnown>,
    offered: &Offered,
) -> Result<Vec<RecordedGovernor>, CommandError> {
    if recording.decisions.governors.is_empty() && recording.inputs.is_none() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    if let Some(table) = &recording.inputs {
        let name = recording.tape.source.governor.as_str();
        all.push(of_table(table, name, governor.as_ref(), recording)?);
    }
    let usable = recording.tape.cpus.iter().find(|c| c.usable == TapeCpu::Usable);
    let period_ns = usable.map_or(TickGrid::period_of(250), |cpu| cpu.tick.period_ns);
    let named = governor.as_ref().ok();
    all.extend(of_events(&recording.decisions, &recording.machine, period_ns, named, offered)?);
    Ok(all)
}

/// The decisions of a table next to the trace of `recording`, on every CPU of its machine, made again by `governor`, which stands
/// for the kernel's `name` if it can be had.
fn of_table(
    table: &InputsBeside,
    name: &str,
    governor: Result<&Governor, &NotKnown>,
    recording: &Recording,
) -> Result<RecordedGovernor, CommandError> {
    let mut recorded = RecordedGovernor {
        kernel_governor: name.to_owned(),
        governor: governor.map_or_else(|_| String::new(), Governor::label),
        recorded: 0,
        given_up: 0,
        refused: 0,
        table: Some(table.file.clone()),
        cpus: Vec::new(),
        result: Ok(Agreement::new(Source::DecisionTable)),
    };
    if !table.file.exists() {
        recorded.result = Err(NotKnown::because(
            NoteId::FileMissing,
            format!("{}, which the recording's description names, is not there", table.file.display()),
        ));
        return Ok(recorded);
    }
    // The recording says enough without it.
    let all = match DecisionTable::read_parts(&table.file, &recording.machine, None) {
        Ok(all) => all,
        Err(why) => {
            recorded.result = Err(NotKnown::because(NoteId::OddLines, why.to_string()));
            return Ok(recorded);
        }
    };
    recorded.cpus = all.iter().map(|part| part.cpu).collect();
    recorded.cpus.dedup();
    for row in all.iter().flat_map(|part| &part.rows) {
        recorded.recorded += 1;
        recorded.given_up += u64::from(row.given_up == Some(true));
        recorded.refused += u64::from(row.rejected);
    }
    recorded.result = match (is_of_another(table, &recording.tape, &all)?, &table.unproven, governor) {
        (Some(why), _, _) => Err(why),
        (None, Some(why), _) => Err(NotKnown::because(NoteId::InputsIncomplete, why)),
        (None, None, Ok(governor)) => sum(governor, &all)?,
        (None, None, Err(why)) => Err(why.clone()),
    };
    Ok(recorded)
}

fn sum(governor: &Governor, all: &[DecisionTable<'_>]) -> Result<Result<Agreement, NotKnown>, CommandError> {
    match governor.run(|loader| follow_all(loader, all)) {
        Ok(sum) => Ok(Ok(sum)),
        Err(e) if governor.is_foreign() && e.is_misbehaviour() => {
            Ok(Err(NotKnown::because(NoteId::GovernorFailed, e.to_string())))
        }
        Err(e) => Err(e.into()),
    }
}

/// Leads governors through the decisions of the trace at `path`, which was recorded on `machine`. `governor` is the one that the
/// kernel ran; where it is `None`, the recording names them.
///
/// # Errors
/// [`CommandError`] when the trace cannot be read, holds no such events, or `governor` cannot be found.
pub fn of_trace(
    path: &Path,
    options: &RecordingOptions,
    machine: &Platform,
    governor: Option<&Governor>,
    trees: &[PathBuf],
) -> Result<Vec<RecordedGovernor>, CommandError> {
    let trace = options.open(path)?;
    let decisions = RecordedDecisions::of(trace.events()?);
    trace.check_read()?;
    if decisions.governors.is_empty() {
        let why = "no decisions with their true inputs: the kernel that was traced has no idlewise:* events, or they were off";
        return Err(CommandError::file(path, why));
    }
    let period_ns = TickGrid::period_of(machine.hz.unwrap_or(250));
    of_events(&decisions, machine, period_ns, governor, &offered([], trees))
}

/// As [`of_trace`], of decisions that were read before; names in them select what ships with us and what is `offered`.
fn of_events(
    decisions: &RecordedDecisions,
    machine: &Platform,
    tick_period_ns: u64,
    governor: Option<&Governor>,
    offered: &Offered,
) -> Result<Vec<RecordedGovernor>, CommandError> {
    let own_name = governor.map(registered).transpose()?;
    let is_given = |of: &GovernorEvents| own_name.as_deref().is_some_and(|own| may_be(own, of.name.as_str()));
    // One that bears no name of the recording is meant for whatever is in it.
    let for_all = !decisions.governors.iter().any(|of| of.decisions > 0 && is_given(of));
    let mut out = Vec::new();
    // One that was switched on and off again without a decision leaves nothing to compare.
    for of in decisions.governors.iter().filter(|of| of.decisions > 0) {
        let mut recorded = RecordedGovernor {
            kernel_governor: of.name.as_str().to_owned(),
            governor: String::new(),
            recorded: of.decisions,
            given_up: of.given_up,
            refused: of.refused,
            table: None,
            cpus: Vec::new(),
            result: Ok(Agreement::new(Source::Trace)),
        };
        let name = of.name.as_str();
        let given = governor.filter(|_| for_all || is_given(of));
        recorded.result = match given.map_or_else(|| by_name(name, offered), |g| Ok(g.clone())) {
            Ok(governor) => {
                recorded.governor = governor.label();
                one(&governor, of, machine, tick_period_ns, given.is_none())?
            }
            Err(why) => Err(why),
        };
        out.push(recorded);
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
    of: &GovernorEvents,
    machine: &Platform,
    tick_period_ns: u64,
    by_data: bool,
) -> Result<Result<Agreement, NotKnown>, CommandError> {
    let decisions = match TraceDecisions::new(of, machine, tick_period_ns) {
        Ok(decisions) => decisions,
        Err(why) => return Ok(Err(NotKnown::because(NoteId::OtherStates, why))),
    };
    match governor.run(|loader| follow(loader, &decisions)) {
        Ok(agreement) => Ok(Ok(agreement)),
        Err(e) if by_data || governor.is_foreign() && e.is_misbehaviour() => {
            Ok(Err(NotKnown::because(NoteId::GovernorFailed, e.to_string())))
        }
        Err(e) => Err(e.into()),
    }
}

/// The name under which `governor` registers.
pub fn registered(governor: &Governor) -> Result<String, CommandError> {
    let any_tick_ns = TickGrid::period_of(1000);
    Ok(governor.run(|loader| Ok(loader.load(any_tick_ns)?.registered().0))?)
}

/// The governor of ours that a kernel with the overlay calls `name`; or why none is meant for certain.
fn by_name(name: &str, offered: &Offered) -> Result<Governor, NotKnown> {
    if name.is_empty() {
        let why = "the governor was enabled before the recording began and is not named: name it with \
            --kernel-governor";
        return Err(NotKnown::because(NoteId::GovernorNotNamed, why));
    }
    let ours = name.strip_prefix(PREFIX);
    if ours.is_none() && OF_KERNELS.contains(&name) {
        return Err(NotKnown::because(
            NoteId::GovernorNotHere,
            format!(
                "the kernel's own {name}, it seems: name its file with --kernel-governor (linux:VERSION/{name} and --kernel-tree)"
            ),
        ));
    }
    let recorded = RecordedName::new(ours.unwrap_or(name));
    recorded.find(offered, None).map_err(|why| {
        let words = match why {
            GovernorError::Unknown { .. } => {
                format!("{name} is not among the governors here (--kernel-governor)")
            }
            why => not_selected(&recorded, &why, None),
        };
        NotKnown::because(NoteId::GovernorNotHere, words)
    })
}
