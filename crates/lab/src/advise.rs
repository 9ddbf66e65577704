// SPDX-License-Identifier: GPL-2.0-only
//! Which governor for this machine and load: `idlewise advise`.
//!
//! Two kinds of evidence are laid side by side: a replay of the load's recording, which knows every governor, and an A/B
//! comparison on the running kernel, which knows those that it has. [`judge`] makes advice of both, and touches nothing.

mod candidate;
mod evidence;
mod set;
mod situation;
#[cfg(test)]
mod tests;
mod untested;

use idlewise_live::ab::{AbReport, Verdict};
use serde::Serialize;

use crate::FidelityHead;
use crate::replay::{ReplayReport, Sensitivity};

pub use candidate::{Candidate, candidates, specs};
pub use evidence::{Compared, Replayed, Row};
pub use set::{Setting, how_to_get};
pub use situation::Situation;
pub use untested::Untested;

/// Version of the JSON.
pub const SCHEMA: &str = "idlewise.advise/1";

/// A replay prefers a governor that takes so much less energy, %,
const LESS_ENERGY_PCT: f64 = 2.0;
/// or wakes so much faster on average, %, and by so many ns, and is not worse in the other by as much.
const LESS_LATENCY_PCT: f64 = 10.0;
const LESS_LATENCY_NS: f64 = 100.0;

/// Fewer wakeups than this say nothing about a governor.
const FEW_WAKEUPS: u64 = 100;

/// The advice, and what it rests on.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Version of idlewise.
    pub version: &'static str,
    /// The machine.
    pub situation: Situation,
    /// What ran on it, in words.
    pub load: String,
    /// The answer.
    pub answer: Answer,
    /// How it is set.
    pub setting: Option<Setting>,
    /// Governors for which there is a reason to try them, and no more than that.
    pub trying: Vec<Trying>,
    /// The governors that were asked about, the one in force first.
    pub rows: Vec<Row>,
    /// What the replay rests on; why there is none.
    pub replay: Result<ReplayBasis, String>,
    /// What the comparison on the running kernel rests on; why there is none.
    pub ab: Result<AbBasis, String>,
    /// What could not be tested, and why.
    pub untested: Vec<Untested>,
    /// What makes the answer doubtful.
    pub warnings: Vec<String>,
    /// Files that hold the evidence.
    pub kept: Vec<String>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Change to another governor: shown to be better.
    Switch,
    /// Leave it as it is: nothing else is shown to be better.
    Keep,
    /// Something is worth trying; nothing is shown.
    Try,
    /// There is no evidence.
    Nothing,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What to do.
    pub what: What,
    /// The governor to have then, with what is particular to it.
    pub governor: String,
    /// Why, in a sentence.
    pub because: String,
}

/// A governor that is worth trying.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trying {
    /// It, with what is particular to it.
    pub governor: String,
    /// Why.
    pub because: String,
    /// How it can be had.
    pub how: Vec<String>,
}

/// What a replay rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayBasis {
    /// How far the kernel's own governor makes the kernel's choices; why that is not known.
    pub fidelity: Result<FidelityHead, String>,
    /// Inputs that the recording does not tell in so many words, nor by the kernel's rules: name, % of values.
    pub guessed: Vec<(String, f64)>,
    /// Sleep lengths that are not certain.
    pub sensitivity: Sensitivity,
    /// What the energy figures rest on.
    pub energy_basis: Vec<String>,
}

/// What an A/B comparison rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AbBasis {
    /// Runs of each benchmark under each governor, the fewest.
    pub runs: usize,
    /// Runs that were made again because of foreign load.
    pub made_again: usize,
    /// The difference that does not matter, in thousandths.
    pub margin_permille: u32,
}

/// All that is known.
#[derive(Clone, Debug)]
pub struct Evidence<'e> {
    /// The machine.
    pub situation: Situation,
    /// What ran on it, in words.
    pub load: String,
    /// The governors in question, the one in force first.
    pub candidates: Vec<Candidate>,
    /// The replay of a recording of the load, with [`specs`]; why there is none.
    pub replay: Result<&'e ReplayReport, String>,
    /// The comparison on the running kernel, arms named as the candidates; why there is none.
    pub ab: Result<&'e AbReport, String>,
}

/// Makes advice of evidence: what an A/B comparison shows stands above what a replay shows, a replay alone makes nothing
/// better than worth trying, and nothing is recommended on unclear evidence.
#[must_use]
pub fn judge(e: &Evidence<'_>) -> Advice {
    let rows = evidence::rows(&e.candidates, e.replay.as_deref().ok(), e.ab.as_deref().ok());
    let answer = answer(&rows);
    let changed = matches!(answer.what, What::Switch | What::Try);
    let setting = changed.then(|| Setting::of(&answer.governor));
    let mut warnings = e.ab.as_ref().map_or_else(|_| Vec::new(), |ab| ab.warnings.clone());
    if let Ok(replay) = &e.replay {
        warnings
            .extend(replay.traces.iter().flat_map(|t| t.governors.iter().filter_map(|g| g.failure.clone())));
    }
    if let Some(few) = rows.first().and_then(Row::replayed).map(|r| r.wakeups).filter(|n| *n < FEW_WAKEUPS) {
        warnings.push(format!(
            "the replay rests on {few} wakeups: it prefers nothing; record longer, or when less runs"
        ));
    }
    Advice {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        trying: trying(&rows, &answer),
        untested: untested::of(e, &rows),
        situation: e.situation.clone(),
        load: e.load.clone(),
        answer,
        setting,
        rows,
        replay: e.replay.clone().map(ReplayBasis::of),
        ab: e.ab.clone().map(AbBasis::of),
        warnings,
        kept: Vec::new(),
    }
}

/// The answer that `rows` give, of which the first is in force.
fn answer(rows: &[Row]) -> Answer {
    let current = rows.first().map(|r| r.governor.clone()).unwrap_or_default();
    let others = rows.get(1..).unwrap_or_default();
    let compared: Vec<&Row> = others.iter().filter(|r| !r.compared.is_empty()).collect();
    if !compared.is_empty() {
        return of_comparison(&current, &compared);
    }
    let keep = |what, because: &str| Answer { what, governor: current.clone(), because: because.to_owned() };
    if rows.first().is_none_or(|r| r.replayed().is_none()) || others.iter().all(|r| r.replayed().is_none()) {
        return keep(What::Nothing, "nothing could be compared, neither on the kernel nor in a replay");
    }
    match preferred(rows) {
        Some(row) => Answer {
            what: What::Try,
            governor: row.governor.clone(),
            because: format!(
                "the replay prefers it to {current}, and nothing was compared on the kernel: worth trying, not shown"
            ),
        },
        None => keep(What::Keep, "the replay prefers no other, and nothing was compared on the kernel"),
    }
}

fn of_comparison(current: &str, others: &[&Row]) -> Answer {
    let answer =
        |what, governor: &str, because: String| Answer { what, governor: governor.to_owned(), because };
    let winner = others.iter().filter(|r| r.wins()).max_by(|a, b| a.benefit().total_cmp(&b.benefit()));
    if let Some(row) = winner {
        let what = words(row, Verdict::Better);
        return answer(
            What::Switch,
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
    answer(What::Keep, current, because)
}

/// The metrics in which a row has `verdict`.
fn words(row: &Row, verdict: Verdict) -> String {
    let found = row.compared.iter().filter(|c| c.verdict == Some(verdict));
    found.map(|c| format!("{} {}", c.benchmark, c.metric)).collect::<Vec<_>>().join(", ")
}

/// The governor that the replay prefers most, if it prefers any to the first.
fn preferred(rows: &[Row]) -> Option<&Row> {
    let candidates = rows.get(1..).unwrap_or_default().iter().filter(|r| prefers(r));
    // One that can be set at once, before one that has to be built.
    candidates.max_by(|a, b| {
        let key = |r: &Row| (r.in_kernel == Some(true), r.replayed().map_or(0.0, Replayed::merit));
        let (a, b) = (key(a), key(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    })
}

/// Does the replay prefer it to the governor in force? A gain in one of energy and latency, no loss in the other, and
/// the order does not hang on what the recording leaves open.
fn prefers(row: &Row) -> bool {
    let Some(r) = row.replayed().filter(|r| !r.oracle && !r.unsure && r.wakeups >= FEW_WAKEUPS) else {
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
fn trying(rows: &[Row], answer: &Answer) -> Vec<Trying> {
    let mut out = Vec::new();
    for row in rows.iter().skip(1).filter(|r| answer.what != What::Switch || r.governor != answer.governor) {
        let because = if row.trades() {
            let (better, worse) = (words(row, Verdict::Better), words(row, Verdict::Worse));
            format!(
                "shown on this kernel: better in {better}, worse in {worse}; which counts more is yours to say"
            )
        } else if row.compared.is_empty() && prefers(row) {
            "the replay prefers it; not shown on a kernel".to_owned()
        } else {
            continue;
        };
        let how = match row.in_kernel {
            Some(true) => Setting::of(&row.governor).now,
            _ => how_to_get(&row.governor),
        };
        out.push(Trying { governor: row.governor.clone(), because, how });
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
        let nothing = || Err("no trace was replayed".to_owned());
        Self {
            guessed: guessed.collect(),
            fidelity: trace.map_or_else(nothing, |t| t.fidelity.clone()),
            sensitivity: trace.map_or_else(
                || Sensitivity { unsure_waits: 0, waits: 0, metrics: Vec::new() },
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
