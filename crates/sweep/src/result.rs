// SPDX-License-Identifier: GPL-2.0-only
//! From the numbers of all runs to what they come to together.

use idlewise_answer::{Column, Quantity};
use idlewise_recording::CommandError;
use idlewise_score::Measure;
use idlewise_stats::GroupedChanges;
use rayon::prelude::*;

use crate::case::Case;
use crate::design::{BASELINE, BOUND};
use crate::front::front;
use crate::numbers::{Numbers, measures};
use crate::report::{
    CaseNumbers, SCHEMA, SettingChange, SettingResult, SweepCase, SweepReport, SweptGovernor,
};
use crate::request::SweepRequest;
use crate::run::Sweep;

/// A case in which the baseline and the bound ran.
struct Judged<'s> {
    case: &'s Case,
    /// What changes are together in when means are resampled: those of a machine, or of one alone those of a recording or a workload.
    group: &'s str,
    baseline: &'s Numbers,
    oracle_energy: Option<f64>,
}

/// Of more settings than this, only those on the front have intervals: resampling takes a few ms for each.
const MOST_INTERVALS: usize = 300;

/// A measure, and what its numbers are.
type Measured = (&'static Measure, Column);

impl Sweep {
    /// What all runs come to.
    ///
    /// # Errors
    /// [`CommandError`] where no recording is left, or the baseline failed.
    pub(crate) fn report(&self, request: &SweepRequest) -> Result<SweepReport, CommandError> {
        let objectives =
            request.front().map_err(|why| CommandError::option("--front", request.front.join(","), why))?;
        let (baseline, bound) = (self.design.variant(BASELINE)?, self.design.variant(BOUND)?);
        let (mut cases, mut judged) = (Vec::new(), Vec::new());
        for case in self.cases.iter().filter(|case| !self.lost.contains(&case.key)) {
            let Some(facts) = self.kept.facts.get(&case.key) else { continue };
            let Some(base) = self.outcome(case, &baseline) else { continue };
            let base = base.as_ref().map_err(|why| case.error(why))?;
            let oracle = self.outcome(case, &bound).and_then(|outcome| outcome.as_ref().ok());
            let oracle_energy = oracle.and_then(|numbers| numbers.energy);
            let name = match &case.platform {
                Some(platform) if request.platforms.len() > 1 => format!("{} on {platform}", case.name),
                _ => case.name.clone(),
            };
            let mut facts_shown = facts.clone();
            // The index of a corpus is not a hand.
            facts_shown.assumes = facts_shown.assumes.filter(|_| !case.of_corpus());
            cases.push(SweepCase { name, facts: facts_shown, oracle_energy });
            judged.push(Judged { case, group: &facts.machine, baseline: base, oracle_energy });
        }
        if judged.iter().all(|on| Some(on.group) == judged.first().map(|first| first.group)) {
            for on in &mut judged {
                on.group = &self.kept.facts[&on.case.key].hash;
            }
        }
        if judged.is_empty() {
            let first =
                self.left_out.first().map_or_else(String::new, |l| format!("; {}: {}", l.name, l.why));
            return Err(CommandError::not_given(
                "RECORDING",
                format!("no recording is left to replay{first}"),
            ));
        }
        let all = measures(!request.workloads.is_empty());
        let columns: Vec<Measured> = all.iter().copied().zip(Column::of(all.iter().copied(), "")).collect();
        let shown = self.design.shown()?;
        let mut settings: Vec<SettingResult> = shown
            .into_par_iter()
            .map(|n| self.setting(n, &judged, &columns))
            .collect::<Result<_, CommandError>>()?;
        let point = |s: &SettingResult| {
            let value = |m| s.change(m).filter(|_| s.failure.is_none()).unwrap_or(f64::NAN);
            objectives.iter().map(|m| value(*m)).collect::<Vec<f64>>()
        };
        let on_front = front(&settings.iter().map(point).collect::<Vec<_>>());
        for (setting, on) in settings.iter_mut().zip(on_front) {
            setting.on_front = on;
        }
        let all_have = settings.len() <= MOST_INTERVALS;
        let having = settings.par_iter_mut().filter(|s| all_have || s.on_front);
        having.for_each(|s| intervals(s, &judged, &columns));
        let swept = self.design.spaces.iter().map(|space| SweptGovernor {
            governor: space.name.clone(),
            parameters: space.axes.clone(),
            settings: space.len,
        });
        Ok(SweepReport {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            request: request.clone(),
            governors: swept.collect(),
            foreign: self.design.foreign(),
            baseline: baseline.name().to_owned(),
            cases,
            left_out: self.left_out.clone(),
            front: objectives.iter().map(|m| m.name).collect(),
            settings,
        })
    }

    /// Setting number `n` on all cases.
    fn setting(
        &self,
        n: u64,
        judged: &[Judged<'_>],
        columns: &[Measured],
    ) -> Result<SettingResult, CommandError> {
        let variant = self.design.variant(n)?;
        let (mut cases, mut failure) = (Vec::new(), None);
        for on in judged {
            let Some(outcome) = self.outcome(on.case, &variant) else {
                unreachable!("{} ran on {}", variant.name(), on.case.name)
            };
            let numbers = outcome.as_ref().map_err(|why| failure.get_or_insert_with(|| why.clone())).ok();
            let energy = numbers.and_then(|n| n.energy).zip(on.oracle_energy);
            let regret = energy.map(|(energy, least)| (energy - least) * 100.0 / least);
            cases.push(CaseNumbers {
                numbers: numbers.copied(),
                regret_pct: regret.filter(|r| r.is_finite()),
            });
        }
        let name = variant.name().to_owned();
        let mut out = SettingResult {
            setting: name,
            governor: variant.governor,
            parameters: variant.values.into_iter().collect(),
            on_front: false,
            failure,
            changes: Vec::new(),
            cases,
        };
        let change = |of: &Measured| SettingChange {
            measure: of.0,
            mean: changes(&out, judged, of).mean(),
            interval: None,
        };
        out.changes = columns.iter().map(change).collect();
        Ok(out)
    }
}

/// The changes of a setting in a measure, by group.
fn changes(of: &SettingResult, judged: &[Judged<'_>], (measure, column): &Measured) -> GroupedChanges {
    let change = |(on, case): (&Judged<'_>, &CaseNumbers)| {
        let (before, after) = (on.baseline.value(measure)?, case.numbers?.value(measure)?);
        // Not a percentage of nothing.
        Some(column.change(before, after))
            .filter(|c| c.is_finite())
            .map(|change| (on.group.to_owned(), change))
    };
    let all: Vec<(String, f64)> = judged.iter().zip(&of.cases).filter_map(change).collect();
    let all: Vec<(&str, f64)> = all.iter().map(|(group, change)| (group.as_str(), *change)).collect();
    GroupedChanges::of(&all, column.quantity == Quantity::Share)
}

/// Adds the intervals of the changes of a setting.
fn intervals(of: &mut SettingResult, judged: &[Judged<'_>], columns: &[Measured]) {
    let all: Vec<_> = columns.iter().map(|measured| changes(of, judged, measured).interval(0.95)).collect();
    for (change, interval) in of.changes.iter_mut().zip(all) {
        change.interval = interval;
    }
}
