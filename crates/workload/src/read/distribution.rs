// SPDX-License-Identifier: GPL-2.0-only
//! Times that are drawn.

use super::fields::{fields, need};
use super::reader::{MAX_US, Reader, number, place};
use crate::json::{Member, Node, Place, Value};
use crate::{Distribution, Fault, MAX_TIME_NS, WorkloadError};

const KINDS: [&str; 5] = ["constant", "uniform", "exponential", "lognormal", "empirical"];
const DOCS: &str = "see docs/reference/workload-format.md";

/// A number of microseconds, or an object with one of the kinds.
pub(super) fn distribution(r: &mut Reader<'_>, m: &Member) -> Result<Distribution, WorkloadError> {
    let object = match &m.value {
        Some(Node { value: Value::Object(_), .. }) => fields(r, m, &KINDS)?,
        value => return Ok(Distribution::Constant(time(r, m, value.as_ref())?)),
    };
    let mut given = object.iter().flatten();
    let (Some(d), None) = (given.next(), given.next()) else {
        return Err(r.wrong(m, &format!("one of `{}`", KINDS.join("`, `"))));
    };
    r.inside(&m.key, |r| {
        Ok(match d.key.as_str() {
            "constant" => Distribution::Constant(time(r, d, d.value.as_ref())?),
            "exponential" => Distribution::Exponential { mean: time(r, d, d.value.as_ref())? },
            "uniform" => match r.list(d, "two times in us")? {
                [low, high] => {
                    let (low, high) = (time(r, d, Some(low))?, time(r, d, Some(high))?);
                    if low > high {
                        return Err(r.meaningless(d, "the first is above the second", "exchange them"));
                    }
                    Distribution::Uniform { low, high }
                }
                _ => {
                    return Err(r.meaningless(
                        d,
                        "expected two times",
                        "write `[low, high]` in microseconds",
                    ));
                }
            },
            "lognormal" => {
                let f = fields(r, d, &["median", "sigma"])?;
                let median = need(r, d, &f, 0, "median")?;
                let sigma = need(r, d, &f, 1, "sigma")?;
                let number = sigma.value.as_ref().and_then(|n| number(&n.value));
                let sigma = number.filter(|s| (0.0..=10.0).contains(s));
                let sigma = sigma.ok_or_else(|| r.meaningless(d, "expected a `sigma` from 0 to 10", DOCS))?;
                Distribution::Lognormal { median: time(r, median, median.value.as_ref())?, sigma }
            }
            _ => Distribution::Empirical { points: points(r, d)? },
        })
    })
}

fn points(r: &Reader<'_>, m: &Member) -> Result<Vec<(f64, u64)>, WorkloadError> {
    let mut points: Vec<(f64, u64)> = Vec::new();
    let wrong = |at: Place| {
        let what = "expected `[[0, us], ..., [1, us]]`, at least two, quantiles rising, times not falling";
        r.error(at, Fault::Value, what, DOCS)
    };
    for item in r.list(m, "quantiles with times in us")? {
        let pair = match &item.value {
            Value::Array(pair) => pair.as_slice(),
            _ => &[],
        };
        let [q, us] = pair else { return Err(wrong(item.at)) };
        let q = number(&q.value).filter(|q| (0.0..=1.0).contains(q)).ok_or_else(|| wrong(item.at))?;
        let ns = time(r, m, Some(us))?;
        let rises = match points.last() {
            None => q == 0.0,
            Some((before, least)) => q > *before && ns >= *least,
        };
        if !rises {
            return Err(wrong(item.at));
        }
        points.push((q, ns));
    }
    if points.len() < 2 || points.last().is_none_or(|(q, _)| *q != 1.0) {
        return Err(wrong(place(m)));
    }
    Ok(points)
}

/// Microseconds, with a fraction if need be, as ns.
fn time(r: &Reader<'_>, m: &Member, node: Option<&Node>) -> Result<u64, WorkloadError> {
    let us = node.and_then(|n| number(&n.value)).map(|us| us * 1000.0);
    match us.filter(|ns| (0.0..=MAX_TIME_NS as f64).contains(ns)) {
        Some(ns) => Ok(nanoseconds(ns)),
        None => Err(r.wrong(m, &format!("microseconds from 0 to {MAX_US}"))),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "callers keep it in range")]
pub(super) fn nanoseconds(ns: f64) -> u64 {
    libm::round(ns) as u64
}
