// SPDX-License-Identifier: GPL-2.0-only
//! The `idlewise` object, which rt-app skips, and distributions.

use super::distribution::{distribution, nanoseconds};
use super::fields::{fields, need};
use super::names::{Names, index};
use super::reader::{MAX_CPU, MAX_US, Reader, number};
use crate::json::{Member, Value};
use crate::{
    Arrivals, Completion, Device, DeviceId, Distribution, Fault, Frame, FrameId, IrqCpu, Source, SourceId,
    WorkloadError,
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
                clients_together(r, e, &out.sources)?;
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
    let f = fields(r, m, &["latency", "irq_cpu", "depth", "completion", "iowait"])?;
    let latency = need(r, m, &f, 0, "latency")?;
    r.inside(&m.key, |r| {
        let [_, irq_cpu, depth, completion, iowait] = f;
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
            iowait: iowait.map(|i| r.flag(i)).transpose()?.unwrap_or(true),
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
                let clients = r.count(clients, 1..=MOST_CLIENTS, "clients")?;
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

/// Clients of all sources together: each has an event that is to come.
const MOST_CLIENTS: u32 = 65_536;

/// Whether the clients of all sources, the last of which is that of `m`, are not too many.
fn clients_together(r: &Reader<'_>, m: &Member, sources: &[Source]) -> Result<(), WorkloadError> {
    let clients = sources.iter().map(|source| match source.arrivals {
        Arrivals::Closed { clients, .. } => u64::from(clients),
        Arrivals::Open { .. } | Arrivals::Bursts { .. } => 0,
    });
    let clients: u64 = clients.sum();
    if clients > u64::from(MOST_CLIENTS) {
        let what = format!("with this source, all sources together have {clients} clients");
        return Err(r.meaningless(m, &what, format!("give them {MOST_CLIENTS} at most")));
    }
    Ok(())
}

fn arrivals(r: &mut Reader<'_>, m: &Member) -> Result<Arrivals, WorkloadError> {
    let f = fields(r, m, &["periodic", "poisson", "gap", "bursts"])?;
    r.inside(&m.key, |r| {
        let gap = match f {
            [Some(us), None, None, None] => apart(r, us, 1)?,
            [None, Some(rate), None, None] => {
                let most = 1_000_000_000 / LEAST_GAP_NS;
                let per_second = rate.value.as_ref().and_then(|n| number(&n.value));
                let per_second = per_second.filter(|n| (1e-3..=most as f64).contains(n));
                let per_second = per_second
                    .ok_or_else(|| r.wrong(rate, &format!("requests per second from 0.001 to {most}")))?;
                Distribution::Exponential { mean: nanoseconds(1e9 / per_second) }
            }
            [None, None, Some(gap), None] => apart(r, gap, 1)?,
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
        Ok(Arrivals::Bursts { every: apart(r, every, requests)?, requests, gap: distribution(r, gap)? })
    })
}

/// The requests of a source come on average no closer to each other, ns: a million a second is more than a CPU can take,
/// and each that waits takes memory.
const LEAST_GAP_NS: u64 = 1000;

/// The time from some requests to the next ones, of which there are `requests`.
fn apart(r: &mut Reader<'_>, m: &Member, requests: u32) -> Result<Distribution, WorkloadError> {
    let d = distribution(r, m)?;
    let least = LEAST_GAP_NS * u64::from(requests);
    if d.mean_ns() < least {
        return Err(r.wrong(m, &format!("a mean of at least {} us, 1 us for each request", least / 1000)));
    }
    Ok(d)
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
