// SPDX-License-Identifier: GPL-2.0-only
//! Parameters from the baseline's cells: one after the other is moved to where the difference is least.

use std::collections::BTreeMap;

use super::experiment::{Column, Experiment, Fit, Fitted, Row};
use super::runs::Runs;
use crate::ExperimentError;

/// Times around all parameters, at most.
const ROUNDS: usize = 8;
/// Times that a parameter's range is narrowed.
const NARROWED: usize = 8;
/// Steps of a range that is looked through.
const STEPS: usize = 6;

/// The parameters that come out; nothing where the experiment fits none.
pub(super) fn fit(
    e: &Experiment,
    runs: &mut Runs,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Option<BTreeMap<String, f64>>, ExperimentError> {
    let (Some(fit), Some(baseline)) = (&e.fit, e.baseline()) else { return Ok(None) };
    let mut now = e.clone();
    let mut best = rest(&now, fit, baseline, runs)?;
    let (mut done, of) = (0, ROUNDS * fit.parameter.len());
    for _ in 0..ROUNDS {
        let before = best;
        for p in &fit.parameter {
            let [mut from, mut to] = p.range;
            for _ in 0..NARROWED {
                let width = (to - from) / STEPS as f64;
                for i in 0..=STEPS {
                    let mut tried = now.clone();
                    tried.parameters.insert(p.name.clone(), rounded(p, from + width * i as f64));
                    let rest = rest(&tried, fit, baseline, runs)?;
                    if rest < best {
                        (best, now) = (rest, tried);
                    }
                }
                let at = now.parameters.get(&p.name).copied().unwrap_or(from);
                (from, to) = ((at - width).max(p.range[0]), (at + width).min(p.range[1]));
                if width < p.step {
                    break;
                }
            }
            done += 1;
            progress(done, of);
        }
        if best >= before {
            break;
        }
    }
    let fitted = |p: &Fitted| Some((p.name.clone(), *now.parameters.get(&p.name)?));
    Ok(Some(fit.parameter.iter().filter_map(fitted).collect()))
}

fn rounded(p: &Fitted, value: f64) -> f64 {
    // Steps such as 0.001 are no binary fractions: what is printed is the nearest that is.
    let n = (value.clamp(p.range[0], p.range[1]) / p.step).round();
    if p.step < 1.0 { n / (1.0 / p.step).round() } else { n * p.step }
}

/// What is left with these parameters: root mean square of relative differences, per cent.
pub(super) fn rest(
    e: &Experiment,
    fit: &Fit,
    baseline: &Column,
    runs: &mut Runs,
) -> Result<f64, ExperimentError> {
    let rows: Vec<&Row> = e.row.iter().filter(|r| fit.rows.contains(&r.name)).collect();
    let cells: Vec<_> = rows.iter().map(|row| (*row, baseline)).collect();
    runs.ensure(e, &cells, &|_, _| {})?;
    let mut sum = 0.0;
    for row in &rows {
        let ours = runs.number(e, row, baseline).map_err(ExperimentError::Run)?.value;
        let published = row.published.get(&baseline.name).map_or(f64::NAN, |p| p.middle());
        let off = (ours - published) / published;
        sum += if off.is_finite() { off * off } else { f64::INFINITY };
    }
    Ok((sum / rows.len().max(1) as f64).sqrt() * 100.0)
}
