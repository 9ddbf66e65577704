// SPDX-License-Identifier: GPL-2.0-only
//! The block `[cluster.clock]`.

use std::ops::Range;

use idlewise_model::IdleTable;
use serde::Deserialize;
use toml::Spanned;

use super::reader::{Reader, SEE};
use crate::clock::{Entry, points};
use crate::{Clock, ClockPolicy, PlatformError, PowerData, StateInfo, TurboClock};

/// Longest transition and longest rate limit accepted: a second.
const LONGEST_US: i64 = 1_000_000;
/// A clock of a terahertz.
const KHZ_MAX: i64 = 1_000_000_000;
/// Supplies of CPUs lie well within.
const VOLT_UV: (i64, i64) = (100_000, 5_000_000);
/// Device trees have hundreds.
const COEFFICIENT_MAX: i64 = 100_000;
/// As many as CPU numbers.
const CORES_MAX: i64 = 65_536;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClock {
    transition_latency_us: Spanned<i64>,
    transition_delay_us: Option<Spanned<i64>>,
    #[serde(default)]
    fast_switch: bool,
    invariant: bool,
    policy: Option<Spanned<String>>,
    up_rate_limit_us: Option<Spanned<i64>>,
    down_rate_limit_us: Option<Spanned<i64>>,
    max_khz: Option<Spanned<i64>>,
    dynamic_power_coefficient: Option<Spanned<i64>>,
    base_khz: Option<Spanned<i64>>,
    #[serde(default)]
    turbo: Vec<Spanned<RawTurbo>>,
    inactive_from: Option<Spanned<String>>,
    source: String,
    points: Option<Spanned<Vec<Spanned<RawEntry>>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    khz: Spanned<i64>,
    real_khz: Option<Spanned<i64>>,
    volt_uv: Option<Spanned<i64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurbo {
    cores: Spanned<i64>,
    khz: Spanned<i64>,
}

impl Reader<'_> {
    /// The clock of the cluster `name`, whose idle states are `table`; `info` tells the rest about them.
    pub(super) fn clock(
        &self,
        raw: &Spanned<RawClock>,
        name: &str,
        capacity: u32,
        (table, info): (&IdleTable, &[StateInfo]),
        power: Option<&PowerData>,
    ) -> Result<Clock, PlatformError> {
        let (c, span) = (raw.get_ref(), raw.span());
        let fail = |span: &Range<usize>, what: String, hint| {
            self.err(span, format!("cluster `{name}`: {what}"), hint)
        };
        let some = |v: &Option<Spanned<i64>>, key: &str, unit: &str, low: i64, high: i64| {
            let v = v.as_ref().map(|v| self.number(v, key, unit, low, high)).transpose();
            v.map(|v| v.map(i64::unsigned_abs))
        };
        let policy = match c.policy.as_ref().map(|p| (p.get_ref().as_str(), p.span())) {
            None => ClockPolicy::default(),
            Some((word, span)) => {
                let known = [ClockPolicy::Cluster, ClockPolicy::Cpu].into_iter().find(|p| p.word() == word);
                known.ok_or_else(|| {
                    fail(&span, format!("policy is `{word}`, expected `cluster` or `cpu`"), SEE)
                })?
            }
        };
        let mut entries: Vec<Entry> = Vec::new();
        if let Some(list) = &c.points {
            for row in list.get_ref() {
                let r = row.get_ref();
                let entry = self.entry(r)?;
                if let Some(last) = entries.last().filter(|last| last.khz >= entry.khz) {
                    let what = format!("points: {} kHz after {} kHz", entry.khz, last.khz);
                    return Err(fail(&row.span(), what, "list the points by rising clock, each once"));
                }
                if power.is_some_and(|p| !p.curve.iter().any(|r| r.khz == entry.khz)) {
                    let what = format!("points: {} kHz is no row of the power curve", entry.khz);
                    return Err(fail(
                        &r.khz.span(),
                        what,
                        "each point needs its power: add the row or remove the point",
                    ));
                }
                entries.push(entry);
            }
        } else if let Some(power) = power {
            let plain = power.curve.iter().map(|r| Entry { khz: r.khz, real_khz: r.khz, volt_uv: None });
            entries.extend(plain);
        }
        if entries.first().is_none_or(|e| e.khz == 0) {
            let what =
                if entries.is_empty() { "the clock has no points" } else { "points: a clock of 0 kHz" };
            return Err(fail(
                &c.points.as_ref().map_or(span, Spanned::span),
                what.to_string(),
                "list them in `points`, or give a power curve whose rows they are",
            ));
        }
        let coefficient = some(
            &c.dynamic_power_coefficient,
            "dynamic_power_coefficient",
            "uW/MHz/V^2",
            1,
            COEFFICIENT_MAX,
        )?;
        let with_volt = entries.iter().filter(|e| e.volt_uv.is_some()).count();
        if with_volt != 0 && with_volt != entries.len() {
            let what = format!("{with_volt} of {} points have volt_uv", entries.len());
            return Err(fail(&span, what, "give it for all points or for none"));
        }
        let points =
            points(&entries, capacity, table, info, power).map_err(|e| fail(&span, e.to_string(), SEE))?;
        let lowest = points[0].khz as i64;
        let latency = &c.transition_latency_us;
        let latency = self.number(latency, "transition_latency_us", "us", 0, LONGEST_US)?.unsigned_abs();
        Ok(Clock {
            points,
            policy,
            transition_latency_ns: latency * 1000,
            transition_delay_us: some(&c.transition_delay_us, "transition_delay_us", "us", 0, LONGEST_US)?,
            fast_switch: c.fast_switch,
            invariant: c.invariant,
            up_rate_limit_us: some(&c.up_rate_limit_us, "up_rate_limit_us", "us", 0, LONGEST_US)?,
            down_rate_limit_us: some(&c.down_rate_limit_us, "down_rate_limit_us", "us", 0, LONGEST_US)?,
            max_khz: some(&c.max_khz, "max_khz", "kHz", 1, KHZ_MAX)?,
            coefficient,
            base_khz: some(&c.base_khz, "base_khz", "kHz", lowest, KHZ_MAX)?,
            turbo: self.turbo(&c.turbo, lowest)?,
            inactive_from: match &c.inactive_from {
                Some(from) if !table.states().iter().any(|s| s.name == *from.get_ref()) => {
                    let what = format!("inactive_from: there is no idle state `{}`", from.get_ref());
                    return Err(fail(&from.span(), what, "name a state of the cluster"));
                }
                from => from.as_ref().map(|f| f.get_ref().clone()),
            },
            source: c.source.clone(),
        })
    }

    fn turbo(&self, raw: &[Spanned<RawTurbo>], lowest: i64) -> Result<Vec<TurboClock>, PlatformError> {
        let mut all: Vec<TurboClock> = Vec::new();
        for row in raw {
            let r = row.get_ref();
            let own = TurboClock {
                cores: self.number(&r.cores, "turbo: cores", "cores", 1, CORES_MAX)?.unsigned_abs(),
                khz: self.number(&r.khz, "turbo: khz", "kHz", lowest, KHZ_MAX)?.unsigned_abs(),
            };
            if all.last().is_some_and(|last| last.cores >= own.cores || last.khz < own.khz) {
                let what = "turbo: more cores have no higher clock, and each number one row".to_string();
                return Err(self.err(&row.span(), what, "list the rows by rising number of cores"));
            }
            all.push(own);
        }
        Ok(all)
    }

    fn entry(&self, r: &RawEntry) -> Result<Entry, PlatformError> {
        let khz = self.number(&r.khz, "khz", "kHz", 1, KHZ_MAX)?.unsigned_abs();
        let real = r.real_khz.as_ref().map(|v| self.number(v, "real_khz", "kHz", 1, KHZ_MAX)).transpose()?;
        let (low, high) = VOLT_UV;
        let volt = r.volt_uv.as_ref().map(|v| self.number(v, "volt_uv", "uV", low, high)).transpose()?;
        let real_khz = real.map_or(khz, i64::unsigned_abs);
        Ok(Entry { khz, real_khz, volt_uv: volt.map(i64::unsigned_abs) })
    }
}
