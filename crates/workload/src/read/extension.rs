// SPDX-License-Identifier: GPL-2.0-only
//! The `idlewise` object, which rt-app skips, and distributions.

use super::events::{fields, need};
use super::names::{Names, index};
use super::reader::{MAX_US, Reader, number};
use super::tasks::MAX_CPU;
use crate::json::{Member, Node, Place, Value};
use crate::{
    Arrivals, Completion, Device, DeviceId, Distribution, Fault, Frame, FrameId, IrqCpu, MAX_TIME_NS, Source,
    SourceId, WorkloadError,
};

/// The lists of the extension.
#[derive(Default)]
pub(super) struct Extension {
    pub(super) about: String,
    pub(super) devices: Vec<Device>,
    pub(super) frames: Vec<Frame>,
    pub(super) sources: Vec<Source>,
}

pub(super) fn read(
    r: &mut Reader<'_>,
    names: &mut Names,
    members: &[Member],
) -> Result<Extension, WorkloadError> {
    let mut out = Extension::default();
    for m in members {
        match m.key.as_str() {
            "about" => out.about = r.text(m, "a line about the workload")?.to_string(),
            "devices" => entries(r, m, |r, e| {
                let id = DeviceId(index(out.devices.len()));
                out.devices.push(device(r, e)?);
                Ok(names.devices.insert(e.key.clone(), id).is_none())
            })?,
            "frames" => entries(r, m, |r, e| {
                let id = FrameId(index(out.frames.len()));
                out.frames.push(frame(r, e)?);
                Ok(names.frames.insert(e.key.clone(), id).is_none())
            })?,
            "sources" => entries(r, m, |r, e| {
                let id = SourceId(index(out.sources.len()));
                out.sources.push(source(r, names, e)?);
                Ok(names.sources.insert(e.key.clone(), id).is_none())
            })?,
            key if key.starts_with('_') => {}
            key => return Err(r.unknown_key(m.at, key, &["about", "devices", "frames", "sources"])),
        }
    }
    Ok(out)
}

/// Reads each entry of a list of things by name; `read` says whether the name is new.
fn entries<'a>(
    r: &mut Reader<'a>,
    m: &Member,
    mut read: impl FnMut(&mut Reader<'a>, &Member) -> Result<bool, WorkloadError>,
) -> Result<(), WorkloadError> {
    let list = r.object(m)?;
    r.inside(&m.key, |r| {
        for e in list.iter().filter(|e| !e.key.starts_with('_')) {
            if !read(r, e)? {
                return Err(r.meaningless(e, "this name is here twice", "give each its own"));
            }
        }
        Ok(())
    })
}

fn device(r: &mut Reader<'_>, m: &Member) -> Result<Device, WorkloadError> {
    let f = fields(r, m, &["latency", "irq_cpu", "depth", "completion"])?;
    let latency = need(r, m, &f, 0, "latency")?;
    r.inside(&m.key, |r| {
        let [_, irq_cpu, depth, completion] = f;
        Ok(Device {
            name: m.key.clone(),
            latency: distribution(r, latency)?,
            irq_cpu: cpu(r, irq_cpu, "submitter", IrqCpu::Task)?,
            depth: depth.map(|d| r.count(d, 1..=1 << 20, "requests")).transpose()?,
            completion: match completion {
                None => Completion::Irq,
                Some(c) => match r.text(c, "how answers come")? {
                    "irq" => Completion::Irq,
                    "hrtimer" => Completion::Hrtimer,
                    "wheel-timer" => Completion::WheelTimer,
                    _ => return Err(r.wrong(c, "\"irq\", \"hrtimer\" or \"wheel-timer\"")),
                },
            },
        })
    })
}

fn frame(r: &mut Reader<'_>, m: &Member) -> Result<Frame, WorkloadError> {
    let f = fields(r, m, &["period_us", "deadline_us"])?;
    let period = need(r, m, &f, 0, "period_us")?;
    r.inside(&m.key, |r| {
        let us = |m: &Member| Ok(r.whole(m, 1..=MAX_US, "microseconds")?.unsigned_abs() * 1000);
        let period_ns = us(period)?;
        let deadline_ns = f[1].map(us).transpose()?.unwrap_or(period_ns);
        Ok(Frame { name: m.key.clone(), period_ns, deadline_ns })
    })
}

fn source(r: &mut Reader<'_>, names: &mut Names, m: &Member) -> Result<Source, WorkloadError> {
    let f = fields(r, m, &["arrivals", "clients", "think", "irq_cpu", "resume"])?;
    r.inside(&m.key, |r| {
        let [arrivals, clients, think, irq_cpu, resume] = f;
        let arrivals = match (arrivals, clients, think) {
            (Some(a), None, None) => self::arrivals(r, a)?,
            (None, Some(clients), Some(think)) => {
                let clients = r.count(clients, 1..=65_536, "clients")?;
                Arrivals::Closed { clients, think: distribution(r, think)? }
            }
            _ => {
                let hint =
                    "a source has either `arrivals` (open loop) or `clients` and `think` (closed loop)";
                return Err(r.error(m.at, Fault::Value, "no arrivals, or two kinds of them", hint));
            }
        };
        let irq_cpu = cpu(r, irq_cpu, "taker", IrqCpu::Cpu(0))?;
        let resume = resume.map(|q| r.text(q, "a queue")).transpose()?.map(|q| names.queue(q));
        Ok(Source { name: m.key.clone(), arrivals, irq_cpu, resume })
    })
}

fn arrivals(r: &mut Reader<'_>, m: &Member) -> Result<Arrivals, WorkloadError> {
    let f = fields(r, m, &["periodic", "poisson", "gap", "bursts"])?;
    r.inside(&m.key, |r| {
        let gap = match f {
            [Some(us), None, None, None] => passing(r, us)?,
            [None, Some(rate), None, None] => {
                let per_second = rate.value.as_ref().and_then(|n| number(&n.value));
                let per_second = per_second.filter(|n| (1e-3..=1e9).contains(n));
                let per_second = per_second
                    .ok_or_else(|| r.wrong(rate, "requests per second from 0.001 to 1000000000"))?;
                Distribution::Exponential { mean: nanoseconds(1e9 / per_second) }
            }
            [None, None, Some(gap), None] => passing(r, gap)?,
            [None, None, None, Some(b)] => return bursts(r, b),
            _ => {
                let hint = "give one of `periodic`, `poisson`, `gap`, `bursts`";
                return Err(r.error(m.at, Fault::Value, "no arrivals, or several kinds of them", hint));
            }
        };
        Ok(Arrivals::Open { gap })
    })
}

fn bursts(r: &mut Reader<'_>, m: &Member) -> Result<Arrivals, WorkloadError> {
    let f = fields(r, m, &["every", "requests", "gap"])?;
    let (every, requests, gap) =
        (need(r, m, &f, 0, "every")?, need(r, m, &f, 1, "requests")?, need(r, m, &f, 2, "gap")?);
    r.inside(&m.key, |r| {
        let requests = r.count(requests, 1..=1 << 20, "requests")?;
        Ok(Arrivals::Bursts { every: passing(r, every)?, requests, gap: distribution(r, gap)? })
    })
}

/// A distribution that lets time pass.
fn passing(r: &mut Reader<'_>, m: &Member) -> Result<Distribution, WorkloadError> {
    let d = distribution(r, m)?;
    if d.is_zero() { Err(r.wrong(m, "a time above 0")) } else { Ok(d) }
}

/// A CPU number, the word for the task's own, or what holds without either.
fn cpu(r: &Reader<'_>, m: Option<&Member>, word: &str, otherwise: IrqCpu) -> Result<IrqCpu, WorkloadError> {
    let Some(m) = m else { return Ok(otherwise) };
    match m.value.as_ref().map(|n| &n.value) {
        Some(Value::Text(text)) if text == word => Ok(IrqCpu::Task),
        Some(Value::Number(_)) => Ok(IrqCpu::Cpu(r.count(m, 0..=MAX_CPU, "a CPU")?)),
        _ => Err(r.wrong(m, &format!("the number of a CPU, or \"{word}\""))),
    }
}

const KINDS: [&str; 5] = ["constant", "uniform", "exponential", "lognormal", "empirical"];

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

const DOCS: &str = "see docs/reference/workload-format.md";

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
        return Err(wrong(super::place(m)));
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
fn nanoseconds(ns: f64) -> u64 {
    libm::round(ns) as u64
}
