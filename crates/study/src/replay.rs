// SPDX-License-Identifier: GPL-2.0-only
//! Recordings, governors, one answer: `idlewise replay`.

mod answer;
mod decisions;
mod detail;
mod report;
mod sensitivity;
mod spoken;
mod stage;

use idlewise_answer::{AskedLimits, ScoredRecording};
use idlewise_conform::settle_io_waits;
use idlewise_score::Score;
use idlewise_score::measure::DECIDING;

pub use answer::answer;
use decisions::Decisions;
pub use decisions::{DECISION_COLUMNS, DECISIONS_SCHEMA, DecisionColumn, DecisionsFile};
pub use detail::{CpuResidency, GovernorDetail, Lengths, RecordingDetail, ReplayDetail, ShownPeriod, curve};
pub(crate) use detail::{Pictures, Tallies};
use idlewise_recording::CommandError;
pub use idlewise_recording::candidate::ORACLE;
use idlewise_recording::governors;
pub use idlewise_recording::placement::Per;
use idlewise_recording::placement::Placement;
pub use report::{
    Change, GovernorResult, GovernorSensitivity, Group, MetricSensitivity, PlatformHead, ReplayReport,
    ReplayRequest, SCHEMA, Sensitivity, TraceResult,
};
pub use sensitivity::TRIED;
use stage::Stage;

/// Splits `menu-6.1,teo-util:util_threshold_shift=5,a=1,oracle`: an item `name=value` goes to the governor before it.
/// Folders in paths may have both characters, but no comma. `option` gives the list.
///
/// # Errors
/// [`CommandError::NotGiven`] of an empty list, [`CommandError::Argument`] with the position of an empty item.
pub fn split_governors(option: &'static str, list: &str) -> Result<Vec<String>, CommandError> {
    if list.trim().is_empty() {
        let why = format!("{option} names none; name one, or leave {option} out");
        return Err(CommandError::not_given(option, why));
    }
    if let Some(before) = list.split(',').position(|item| item.trim().is_empty()) {
        let why = format!("item {} is empty; name one there, or leave its comma out", before + 1);
        return Err(CommandError::option(option, list, why));
    }

    let mut out: Vec<String> = Vec::new();
    let is_parameter = |item: &str| {
        let name = item.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ')
    };
    for item in list.split(',').map(str::trim) {
        match out.last_mut() {
            Some(last) if is_parameter(item) => {
                last.push(',');
                last.push_str(item);
            }
            _ => out.push(item.to_owned()),
        }
    }
    Ok(out)
}

/// The governors of `list`: [`split_governors`], with those of kernel trees that are named by their folder, as `./linux/teo`.
///
/// # Errors
/// As [`split_governors`]; and [`CommandError::Governor`] where a tree has no such governor.
pub fn listed_governors(option: &'static str, list: &str) -> Result<Vec<String>, CommandError> {
    governors::with_trees(&split_governors(option, list)?)
}

/// Replays what `request` asks for. `progress` hears of every finished step: done and of how many.
///
/// # Errors
/// [`CommandError`] when a recording, platform or governor cannot be read or found, or nothing is left to replay.
pub fn replay(
    request: &ReplayRequest,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<ReplayReport, CommandError> {
    replay_with(request, &Wanted::default(), progress).map(|(report, _)| report)
}

/// What is wanted of a replay beside its report.
#[derive(Clone, Copy, Default)]
pub struct Wanted<'w> {
    pub detail: bool,
    /// Every decision, in a file.
    pub decisions: Option<&'w DecisionsFile<'w>>,
}

/// The same as [`replay`], with what is `wanted` beside.
///
/// # Errors
/// As [`replay`], and when the decisions cannot be written.
pub fn replay_with(
    request: &ReplayRequest,
    wanted: &Wanted<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(ReplayReport, Option<ReplayDetail>), CommandError> {
    let candidates = governors::candidates(&request.governors, &request.setup.kernel_trees)?;
    let baseline = governors::baseline(request.baseline.as_deref(), &candidates)?;
    let mut placement = Placement::open(&request.traces, &request.setup)?;
    let offered = governors::offered(&request.governors, &request.setup.kernel_trees);
    settle_io_waits(&mut placement.recordings, &offered)?;
    let limits = |text: &String| {
        let energies = placement.used().into_iter().map(|c| &c.energy);
        AskedLimits::read(text, &placement.platform, energies).map_err(limit_error)
    };
    let limits = request.power_limit.as_ref().map(limits).transpose()?;
    let decisions =
        wanted.decisions.map(|file| Decisions::begin(file, &placement, &candidates)).transpose()?;
    let stage =
        Stage { placement: &placement, candidates: &candidates, request, decisions: decisions.as_ref() };
    let runs = stage.run_all(progress)?;
    let detail = if wanted.detail { Some(stage.detail(&runs)?) } else { None };
    let mut report = stage.report(runs, baseline)?;
    if request.sensitivity {
        stage.try_bounds(&mut report)?;
    }
    if let Some(limits) = limits {
        let recordings: Vec<_> = report.traces.iter().map(scored).collect();
        report.power_limits = limits.under(&report.baseline, &recordings).map_err(limit_error)?;
    }
    report.answer = answer(&report, &DECIDING);
    decisions.map_or(Ok(()), Decisions::end)?;
    Ok((report, detail))
}

fn scored(t: &TraceResult) -> ScoredRecording<'_> {
    let there = t.governors.iter().filter(|g| g.failure.is_none());
    let scores = there.map(|g| (g.governor.as_str(), &g.score)).collect();
    ScoredRecording { name: &t.head.name, span_ns: t.head.span_ns, scores }
}

fn limit_error(why: String) -> CommandError {
    CommandError::argument("--power-limit", "--power-limit", why)
}

/// What governors made the kernel itself do, as results of which the first is the baseline. There is no oracle.
pub fn results_of_scores(scores: Vec<(String, Score, Vec<Group>)>) -> Vec<GovernorResult> {
    let base = scores.first().map(|(_, score, _)| score.clone());
    let result = |(governor, score, groups): (String, Score, Vec<Group>)| GovernorResult {
        governor,
        failure: None,
        notes: Vec::new(),
        decisions: score.wakeups,
        out_of_range: 0,
        regret_pct: f64::NAN,
        change: base.as_ref().map_or_else(Change::none, |b| Change::between(b, &score)),
        groups,
        score,
    };
    scores.into_iter().map(result).collect()
}
