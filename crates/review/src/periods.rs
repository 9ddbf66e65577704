// SPDX-License-Identifier: GPL-2.0-only
//! The idle periods that explain most of what a patch changes, each with both decisions explained.

use idlewise_explain::{DecisionAddress, ExplainRequest, Explanation, explain};
use idlewise_recording::{CommandError, ReplaySetup};

use crate::recordings::Named;
use crate::report::{ExplainedPeriod, Moved};
use crate::runs::{PERIODS, Period};
use crate::versions::Version;

/// A period, the recording that it is of, and the unit of its energy.
pub(crate) struct Found<'r> {
    pub(crate) named: &'r Named,
    pub(crate) setup: &'r ReplaySetup,
    pub(crate) unit: &'r str,
    pub(crate) period: Period,
    /// Energy (0) or latency (1).
    pub(crate) what: usize,
    /// By how much the recording's own changes, %.
    pub(crate) change_pct: f64,
}

impl Found<'_> {
    fn share_pct(&self) -> f64 {
        self.period.shares_pct[self.what].abs()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.named.name == other.named.name && self.period == other.period
    }
}

/// Those of `all` with the largest share of their recording, at most one of a recording where there are several.
pub(crate) fn largest(mut all: Vec<Found<'_>>) -> Vec<Found<'_>> {
    // The order of recordings, CPUs and times decides between equals: the sort is stable.
    all.sort_by(|a, b| b.share_pct().total_cmp(&a.share_pct()));
    let mut recordings: Vec<&str> = all.iter().map(|f| f.named.name.as_str()).collect();
    recordings.sort_unstable();
    recordings.dedup();
    let several = recordings.len() >= PERIODS;
    let mut out: Vec<Found<'_>> = Vec::new();
    for found in all {
        let seen = out.iter().any(|other| other.named.name == found.named.name);
        let twice = out.iter().any(|other| other.is_same(&found)) || several && seen;
        if !twice && out.len() < PERIODS {
            out.push(found);
        }
    }
    out
}

/// Explains the decisions of both versions in that period.
pub(crate) fn explained(
    found: &Found<'_>,
    [before, after]: [&Version; 2],
) -> Result<ExplainedPeriod, CommandError> {
    let period = found.period;
    let one = |version: &Version, decision: u64| -> Result<Explanation, CommandError> {
        let request = ExplainRequest {
            trace: found.named.path.clone(),
            setup: found.setup.clone(),
            governor: version.named.clone(),
            others: Vec::new(),
            cpu: Some(period.cpu),
            which: DecisionAddress::Decision(decision),
        };
        Ok(explain(&request)?.explanation)
    };
    Ok(ExplainedPeriod {
        recording: found.named.name.clone(),
        cpu: period.cpu,
        at_ns: period.at_ns,
        idle_ns: period.idle_ns,
        energy: period.energy,
        energy_unit: found.unit.to_owned(),
        latency_ns: period.latency_ns,
        share_pct: found.share_pct(),
        recording_pct: found.change_pct,
        share_of: if found.what == 0 { Moved::Energy } else { Moved::Latency },
        decisions: period.decisions,
        before: one(before, period.decisions[0])?,
        after: one(after, period.decisions[1])?,
    })
}
