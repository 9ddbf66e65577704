// SPDX-License-Identifier: GPL-2.0-only
//! What the idle power of governors is worth under a package limit: a closed form over their scores, no simulation.

use idlewise_platform::{EnergyTable, Platform};
use idlewise_power::{Budget, EXPONENT, LimitRequest, LimitSet, Limits};
use idlewise_score::Score;
use schemars::JsonSchema;
use serde::Serialize;

/// Governors under a package limit that binds all the time. A model.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct UnderLimit {
    /// As `--power-limit` names it: `pl1=6W:28s`.
    pub name: String,
    /// The lowest of the limits that are on, W.
    pub limit_w: f64,
    /// What the package draws while awake, W: it may not follow the clock. 0 where the platform names none.
    pub package_w: f64,
    /// Power of what the clock drives grows with the clock to a power in this range.
    pub exponent: [f64; 2],
    pub recordings: Vec<RecordingBudget>,
}

/// Governors on a recording.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RecordingBudget {
    pub recording: String,
    /// What follows the clock under the reference, W, at least and at most.
    pub clocked_w: [f64; 2],
    pub governors: Vec<GovernorBudget>,
}

/// What a governor leaves to the clock.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct GovernorBudget {
    pub governor: String,
    /// What idle states draw, mean over the recording, W.
    pub idle_w: f64,
    /// So much less than under the reference, W.
    pub freed_w: f64,
    /// Change of the clock while the limit binds, %, at least and at most.
    pub clock_pct: [f64; 2],
}

/// A recording with the scores of governors on it.
#[derive(Clone, Debug)]
pub struct ScoredRecording<'s> {
    pub name: &'s str,
    pub span_ns: u64,
    pub scores: Vec<(&'s str, &'s Score)>,
}

/// Limits that were asked for, on a machine that has watts.
#[derive(Clone, Debug)]
pub struct AskedLimits {
    rows: Vec<LimitSet>,
    package_w: f64,
    platform: String,
}

impl AskedLimits {
    /// Reads `text`, as `--power-limit` takes it, for a machine of which `energies` are used.
    ///
    /// # Errors
    /// What is wrong with it, or lacks, and what was expected.
    pub fn read<'e>(
        text: &str,
        platform: &Platform,
        mut energies: impl Iterator<Item = &'e EnergyTable>,
    ) -> Result<Self, String> {
        let id = &platform.id;
        if !energies.all(|e| e.grade.in_watts()) {
            return Err(format!(
                "{text}: a limit needs watts, and the powers of {id} are relative; expected a platform with [cluster.power] in uw, \
                 uw-fitted or uw-assumed for every cluster that is used (docs/reference/platform-format.md)"
            ));
        }
        let own = platform.limits.as_ref().map_or_else(Limits::default, |l| l.limits);
        let rows = LimitRequest::parse(text).and_then(|asked| asked.rows(&own)).map_err(|e| e.to_string())?;
        if rows.iter().any(|row| row.limits.named().next().is_none()) {
            return Err(format!(
                "{text}: without a limit nothing is left to the clock; expected one, such as pl1=6W:28s"
            ));
        }
        let package_w = platform.package.as_ref().map_or(0.0, |p| (p.awake_uw + p.always_uw) as f64 / 1e6);
        Ok(Self { rows, package_w, platform: id.clone() })
    }

    /// Governors on recordings, against the governor `reference`.
    ///
    /// # Errors
    /// Where idle states and package alone draw as much as a limit allows.
    pub fn under(
        &self,
        reference: &str,
        recordings: &[ScoredRecording<'_>],
    ) -> Result<Vec<UnderLimit>, String> {
        let mut out = Vec::new();
        for row in &self.rows {
            let lowest = row.limits.named().map(|(_, l)| l.power_uw).min();
            let Some(limit_uw) = lowest else { unreachable!("{} has no limit", row.name) };
            let limit_w = limit_uw as f64 / 1e6;
            let of = |r: &ScoredRecording<'_>| self.recording(limit_w, reference, r).transpose();
            out.push(UnderLimit {
                name: row.name.clone(),
                limit_w,
                package_w: self.package_w,
                exponent: EXPONENT,
                recordings: recordings.iter().filter_map(of).collect::<Result<_, _>>()?,
            });
        }
        Ok(out)
    }

    /// Nothing where the reference has no result, or the recording no time.
    fn recording(
        &self,
        limit_w: f64,
        reference: &str,
        recording: &ScoredRecording<'_>,
    ) -> Result<Option<RecordingBudget>, String> {
        let ScoredRecording { name, span_ns, scores } = recording;
        // mJ over ns are 10^6 W.
        let idle_w = |s: &Score| s.energy * 1e6 / *span_ns as f64;
        let base = scores.iter().find(|(governor, _)| *governor == reference);
        let Some((_, base)) = base.filter(|_| *span_ns > 0) else { return Ok(None) };
        let budget = Budget { limit_w, idle_w: idle_w(base), package_w: self.package_w };
        let Some(clocked_w) = budget.clocked_w() else {
            return Err(format!(
                "a limit of {limit_w} W leaves nothing to the clock: under {reference} on {name}, idle states draw {:.3} W \
                 and the package of {} {:.3} W; expected more than both together",
                budget.idle_w, self.platform, self.package_w
            ));
        };
        let governor = |(name, score): &(&str, &Score)| {
            let freed_w = budget.idle_w - idle_w(score);
            let clock_pct = budget.clock_pct(freed_w)?;
            Some(GovernorBudget { governor: (*name).to_owned(), idle_w: idle_w(score), freed_w, clock_pct })
        };
        let governors = scores.iter().filter_map(governor).collect();
        Ok(Some(RecordingBudget { recording: (*name).to_owned(), clocked_w, governors }))
    }
}
