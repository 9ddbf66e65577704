// SPDX-License-Identifier: GPL-2.0-only
//! Makes advice of evidence.

use idlewise_ab::{AbReport, Verdict};
use idlewise_answer::FEW_WAKEUPS;
use idlewise_model::{NotKnown, Note, NoteId, known};
use idlewise_report::percent;
use schemars::JsonSchema;
use serde::Serialize;

use idlewise_recording::FidelityHead;
use idlewise_recording::trace_head::LEAST_AGREEMENT_PCT;
use idlewise_study::breaches::breach_words;
use idlewise_study::replay::{GovernorResult, ReplayReport, Sensitivity};

use super::evidence::{self, Evidence, Replayed, Row};
use super::set::{Setting, how_to_get};
use super::situation::Situation;
use super::untested::{self, Untested};

/// Version of the JSON.
pub const SCHEMA: &str = "idlewise.advise/2";

/// A replay prefers a governor that takes so much less energy, %,
const LESS_ENERGY_PCT: f64 = 2.0;
/// or wakes so much faster on average, %, and by so many ns, and is not worse in the other by as much.
const LESS_LATENCY_PCT: f64 = 10.0;
const LESS_LATENCY_NS: f64 = 100.0;

/// The advice, and what it depends on.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    pub situation: Situation,
    /// What ran on it, in words.
    pub load: String,
    pub answer: Answer,
    /// How it is set.
    pub setting: Option<Setting>,
    /// Governors for which there is a reason to try them, and no more than that.
    pub trying: Vec<Trying>,
    /// The governors that were asked about, the one in force first.
    pub rows: Vec<Row>,
    /// What the replay comes to, in the shape that all comparisons have.
    pub replayed: Option<idlewise_answer::Answer>,
    /// What the replay depends on; why there is none.
    #[serde(flatten, serialize_with = "known::replay")]
    #[schemars(with = "known::ReplayOrWhy<ReplayBasis>")]
    pub replay: Result<ReplayBasis, NotKnown>,
    /// What the comparison on the running kernel depends on; why there is none.
    #[serde(flatten, serialize_with = "known::ab")]
    #[schemars(with = "known::AbOrWhy<AbBasis>")]
    pub ab: Result<AbBasis, NotKnown>,
    /// What could not be tested, and why.
    pub untested: Vec<Untested>,
    /// What speaks against the machine on which the replay rests.
    pub machine_warnings: Vec<Note>,
    /// What makes the answer doubtful.
    pub warnings: Vec<Note>,
    /// Files that hold the evidence.
    pub kept: Vec<String>,
}

/// What to do about the governor in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendation {
    /// Change to another governor: shown to be better.
    Switch,
    /// Leave it as it is: nothing else is shown to be better.
    Keep,
    /// Something is worth trying; nothing is shown.
    Try,
    /// There is no evidence.
    Nothing,
}

/// A recommendation, with the sentence that justifies it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Answer {
    pub what: Recommendation,
    /// The governor to have then, with what is particular to it.
    pub governor: String,
    /// Why, in a sentence.
    pub because: String,
}

/// A governor that is worth trying.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Trying {
    /// It, with what is particular to it.
    pub governor: String,
    /// Whether the kernel has it; nothing where that is not known.
    pub in_kernel: Option<bool>,
    pub because: String,
    /// How it is set; how it can be had where the kernel lacks it.
    pub how: Vec<String>,
}

/// What a replay depends on.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ReplayBasis {
    /// How far the kernel's own governor makes the kernel's choices; why that is not known.
    #[serde(flatten, serialize_with = "known::fidelity")]
    #[schemars(with = "known::FidelityOrWhy<FidelityHead>")]
    pub fidelity: Result<FidelityHead, NotKnown>,
    /// Inputs that the recording neither shows nor determines by the kernel's rules: name, % of values.
    pub guessed: Vec<(String, f64)>,
    /// Sleep lengths that are not certain.
    pub sensitivity: Sensitivity,
    /// What the energy figures depend on.
    pub energy_basis: Vec<String>,
}

/// What an A/B comparison depends on.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct AbBasis {
    /// Runs of each benchmark under each governor, the fewest.
    pub runs: usize,
    /// Runs that were made again because of foreign load.
    pub made_again: usize,
    /// The difference that does not matter, in thousandths.
    pub margin_permille: u32,
}

/// Makes advice of evidence: what an A/B comparison shows stands above what a replay shows, a replay alone makes nothing
/// better than worth trying, and nothing is recommended on unclear evidence.
#[must_use]
pub fn judge(e: &Evidence<'_>) -> Advice {
    let rows = evidence::rows(e);
    let doubt = doubt(e);
    let answer = answer(&rows, doubt.as_deref());
    let changed = matches!(answer.what, Recommendation::Switch | Recommendation::Try);
    let setting = changed.then(|| Setting::of(&answer.governor));
    let mut warnings = e.ab.as_ref().map_or_else(|_| Vec::new(), |ab| ab.warnings.clone());
    if let Some(limiting) = e.situation.limiting.as_ref().filter(|l| l.limited == Some(true)) {
        warnings.push(NoteId::PowerLimited.note(format!(
            "this machine is {}: there a governor's power is speed, which a replay does not show; compare on the kernel",
            limiting.verdict()
        )));
    }
    if let Some(doubt) = doubt.as_ref().filter(|d| **d != answer.because) {
        warnings.push(NoteId::NoPreference.note(format!("the replay prefers nothing: {doubt}")));
    }
    if let Ok(replay) = &e.replay {
        let failed = replay.traces.iter().flat_map(|t| t.governors.iter().filter_map(|g| g.failure.as_ref()));
        warnings.extend(failed.map(|why| NoteId::GovernorFailed.note(why)));
        let breaches = |g: &GovernorResult| {
            let words = |what: Note| what.about(format!("in the replay {} ", g.governor));
            breach_words(&g.score.breaches, g.decisions).into_iter().map(words).collect::<Vec<_>>()
        };
        let judged = replay.traces.iter().flat_map(|t| &t.governors).filter(|g| g.failure.is_none());
        warnings.extend(judged.flat_map(breaches));
    }
    if let Some(few) = rows.first().and_then(Row::replayed).map(|r| r.wakeups).filter(|n| *n < FEW_WAKEUPS) {
        warnings.push(NoteId::FewReplayed.note(format!(
            "the replay has only {few} wakeups, too few to prefer a governor; record longer, or when less \
             runs"
        )));
    }
    Advice {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        trying: trying(&rows, &answer, doubt.is_some()),
        untested: untested::of(e, &rows),
        situation: e.situation.clone(),
        load: e.load.clone(),
        answer,
        setting,
        rows,
        replayed: e.replay.as_ref().ok().map(|r| r.answer.clone()),
        replay: e.replay.clone().map(ReplayBasis::of),
        ab: e.ab.clone().map(AbBasis::of),
        machine_warnings: machine_warnings(e),
        warnings,
        kept: Vec::new(),
    }
}

/// What speaks against the machine that the recording is said to be of.
fn machine_warnings(e: &Evidence<'_>) -> Vec<Note> {
    e.replay.as_ref().map_or_else(
        |_| Vec::new(),
        |replay| replay.traces.iter().flat_map(|t| t.head.machine_warnings(&t.fidelity)).collect(),
    )
}

/// Why the replay says nothing about this kernel, if it does not; nothing without one.
fn doubt(e: &Evidence<'_>) -> Option<String> {
    let trace = e.replay.as_ref().ok()?.traces.first()?;
    if e.situation.available.is_none() {
        let why = e.situation.elsewhere.as_deref().unwrap_or("nothing of its machine is at hand");
        return Some(format!(
            "the recording is not of this machine and kernel: {why}; --root names files of the recorded machine"
        ));
    }
    if let Some(assumption) = trace.head.assumption() {
        return Some(format!("the replay depends on an assumption: {assumption}"));
    }
    if let Some(warning) = trace.head.machine_warnings(&trace.fidelity).first() {
        return Some(format!("the replay does not use the recorded machine: {warning}"));
    }
    let fidelity = match &trace.fidelity {
        Ok(fidelity) => fidelity,
        Err(why) => {
            return Some(format!("how far a replay makes this kernel's own choices is not known: {why}"));
        }
    };
    let Some(state) = fidelity.same_state_pct else {
        return Some("no choice of this kernel could be compared with a replay's".to_owned());
    };
    let kinds = [(Some(state), "state"), (fidelity.same_tick_pct, "keep or stop the tick")];
    let below =
        kinds.into_iter().find_map(|(pct, what)| Some((pct.filter(|p| *p < LEAST_AGREEMENT_PCT)?, what)));
    below.map(|(pct, what)| {
        format!(
            "a replay of {} makes only {} % of this kernel's own choices ({what}); below {LEAST_AGREEMENT_PCT} % it says \
             nothing about this kernel",
            fidelity.governor.split_once(':').map_or(fidelity.governor.as_str(), |(name, _)| name),
            percent(pct)
        )
    })
}

/// The answer that `rows` give, of which the first is in force; `doubt` is why the replay is none.
fn answer(rows: &[Row], doubt: Option<&str>) -> Answer {
    let (current, others) = rows
        .split_first()
        .map_or_else(|| (String::new(), rows), |(first, others)| (first.governor.clone(), others));
    let compared: Vec<&Row> = others.iter().filter(|r| !r.compared.is_empty()).collect();
    if !compared.is_empty() {
        return of_comparison(&current, &compared);
    }
    let keep = |what, because: &str| Answer { what, governor: current.clone(), because: because.to_owned() };
    if rows.first().is_none_or(|r| r.replayed().is_none()) || others.iter().all(|r| r.replayed().is_none()) {
        return keep(
            Recommendation::Nothing,
            "nothing could be compared, neither on the kernel nor in a replay",
        );
    }
    if let Some(doubt) = doubt {
        return keep(Recommendation::Nothing, doubt);
    }
    match preferred(rows) {
        Some(row) => Answer {
            what: Recommendation::Try,
            governor: row.governor.clone(),
            because: format!(
                "the replay prefers it to {current}, and nothing was compared on the kernel: worth trying, not shown"
            ),
        },
        None if others.iter().any(prefers) => keep(
            Recommendation::Keep,
            "the replay prefers none of this kernel's other governors, and nothing was compared on the kernel",
        ),
        None => {
            keep(Recommendation::Keep, "the replay prefers no other, and nothing was compared on the kernel")
        }
    }
}

fn of_comparison(current: &str, others: &[&Row]) -> Answer {
    let answer =
        |what, governor: &str, because: String| Answer { what, governor: governor.to_owned(), because };
    let winner = others.iter().filter(|r| r.wins()).max_by(|a, b| a.benefit().total_cmp(&b.benefit()));
    if let Some(row) = winner {
        let what = words(row, Verdict::Better);
        return answer(
            Recommendation::Switch,
            &row.governor,
            format!("shown on this kernel: better in {what}, worse in nothing measured"),
        );
    }
    let all = |wanted: &[Verdict]| {
        let mut verdicts = others.iter().flat_map(|r| r.firsts()).map(|c| c.verdict);
        verdicts.all(|v| v.is_some_and(|v| wanted.contains(&v)))
    };
    let because = if all(&[Verdict::Same]) {
        "shown on this kernel: the governors are the same for this load".to_owned()
    } else if all(&[Verdict::Same, Verdict::Worse]) {
        "shown on this kernel: the others are the same or worse".to_owned()
    } else {
        match others.iter().find(|r| r.trades()) {
            Some(row) => format!(
                "no other is better without being worse in something: {} is better in {}, worse in {}",
                row.governor,
                words(row, Verdict::Better),
                words(row, Verdict::Worse)
            ),
            None => "a difference to another is not shown, nor that there is none".to_owned(),
        }
    };
    answer(Recommendation::Keep, current, because)
}

/// The metrics in which a row has `verdict`.
fn words(row: &Row, verdict: Verdict) -> String {
    let found = row.compared.iter().filter(|c| c.verdict == Some(verdict));
    found.map(|c| format!("{} {}", c.benchmark, c.metric)).collect::<Vec<_>>().join(", ")
}

/// The governor of this kernel that the replay prefers most, if it prefers any to the first. One that has to be built first
/// is never the answer.
fn preferred(rows: &[Row]) -> Option<&Row> {
    let others = rows.iter().skip(1);
    let merit = |r: &Row| r.replayed().map_or(f64::NEG_INFINITY, Replayed::merit);
    others.filter(|r| r.in_kernel == Some(true) && prefers(r)).max_by(|a, b| merit(a).total_cmp(&merit(b)))
}

/// Does the replay prefer it to the governor in force? A gain in one of energy and latency, no loss in the other, and
/// the order does not depend on what the recording leaves open.
fn prefers(row: &Row) -> bool {
    let ranks =
        |r: &&Replayed| !r.oracle && !r.unsure && r.never_entered.is_empty() && r.wakeups >= FEW_WAKEUPS;
    let Some(r) = row.replayed().filter(ranks) else {
        return false;
    };
    let noticed = r.latency_change_ns.abs() >= LESS_LATENCY_NS;
    let (faster, slower) = (
        noticed && r.latency_change_pct <= -LESS_LATENCY_PCT,
        noticed && r.latency_change_pct >= LESS_LATENCY_PCT,
    );
    let (less, more) = (r.energy_change_pct <= -LESS_ENERGY_PCT, r.energy_change_pct >= LESS_ENERGY_PCT);
    (faster || less) && !slower && !more
}

/// What is left to try beside the answer: what a replay prefers and no comparison has seen, and what trades one thing for
/// another.
fn trying(rows: &[Row], answer: &Answer, in_doubt: bool) -> Vec<Trying> {
    let mut out = Vec::new();
    for row in
        rows.iter().skip(1).filter(|r| answer.what != Recommendation::Switch || r.governor != answer.governor)
    {
        let because = if row.trades() {
            let (better, worse) = (words(row, Verdict::Better), words(row, Verdict::Worse));
            format!(
                "shown on this kernel: better in {better}, worse in {worse}; which counts more is yours to say"
            )
        } else if row.compared.is_empty() && prefers(row) && !in_doubt {
            match row.in_kernel {
                Some(true) => "the replay prefers it; not shown on a kernel".to_owned(),
                _ => "this kernel lacks it; that the replay prefers it is a reason to build it".to_owned(),
            }
        } else {
            continue;
        };
        let how = match row.in_kernel {
            Some(true) => Setting::of(&row.governor).now,
            _ => how_to_get(&row.governor),
        };
        let (governor, in_kernel) = (row.governor.clone(), row.in_kernel);
        out.push(Trying { governor, in_kernel, because, how });
    }
    out
}

impl ReplayBasis {
    fn of(report: &ReplayReport) -> Self {
        let trace = report.traces.first();
        let inputs = trace.iter().flat_map(|t| &t.head.inputs);
        let guessed = inputs.filter_map(|i| {
            let all = i.recorded + i.derived + i.bounded + i.assumed;
            let part = i.bounded + i.assumed;
            (part > 0).then(|| (i.name.clone(), part as f64 * 100.0 / all as f64))
        });
        let nothing = || Err(NotKnown::because(NoteId::NotReplayed, "no trace was replayed"));
        Self {
            guessed: guessed.collect(),
            fidelity: trace.map_or_else(nothing, |t| t.fidelity.clone()),
            sensitivity: trace.map_or_else(
                || Sensitivity { unsure_waits: 0, waits: 0, unsure_io_waits: 0, metrics: Vec::new() },
                |t| t.sensitivity.clone(),
            ),
            energy_basis: report.platform.energy_basis.clone(),
        }
    }
}

impl AbBasis {
    fn of(report: &AbReport) -> Self {
        let metrics = report.benchmarks.iter().flat_map(|b| &b.metrics);
        let runs = metrics.flat_map(|m| m.cells.iter().map(|c| c.values.len())).min().unwrap_or(0);
        let again = |why: &str| why.starts_with("foreign load");
        Self {
            runs,
            made_again: report.runs.iter().filter(|r| r.left_out.as_deref().is_some_and(again)).count(),
            margin_permille: report.head.request.margin_permille,
        }
    }
}
