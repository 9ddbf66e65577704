// SPDX-License-Identifier: GPL-2.0-only
//! Events. rt-app knows an event by how its key begins, so that keys can be made unique: `run`, `run1`, `run_b`.

use super::check::Later;
use super::distribution::distribution;
use super::fields::{fields, need};
use super::keys::TASK;
use super::names::{Names, known};
use super::reader::{Reader, nearest};
use crate::json::{Member, Value, short};
use crate::{Distribution, Event, ResourceId, SleepTimer, TaskId, TimerMode, WorkloadError};

/// Of two that a key begins with, the longer comes first.
const EVENTS: [&str; 28] = [
    "runtime",
    "run",
    "sleep",
    "timer",
    "mem",
    "iorun",
    "suspend",
    "resume",
    "lock",
    "unlock",
    "wait",
    "signal",
    "broad",
    "sync",
    "barrier",
    "yield",
    "fork",
    "idlewise-run",
    "idlewise-sleep",
    "idlewise-wheel-sleep",
    "idlewise-read",
    "idlewise-write",
    "idlewise-frame-begin",
    "idlewise-frame-end",
    "idlewise-take",
    "idlewise-done",
    "idlewise-latency-limit",
    "idlewise-call-rcu",
];

/// What the events of one task are read with.
pub(super) struct Context<'a> {
    pub(super) names: &'a mut Names,
    pub(super) later: &'a mut Later,
    pub(super) task: &'a str,
    pub(super) instances: u32,
}

/// A limit in microseconds, or none.
fn limit(r: &mut Reader<'_>, m: &Member) -> Result<Option<u64>, WorkloadError> {
    match m.value.as_ref().map(|n| &n.value) {
        Some(Value::Text(text)) if text == "none" => Ok(None),
        Some(Value::Text(_)) => Err(r.wrong(m, "microseconds, or \"none\"")),
        _ => r.micros(m).map(Some),
    }
}

/// An event that says nothing but what it is.
fn bare(r: &Reader<'_>, m: &Member, event: Event) -> Result<Event, WorkloadError> {
    match m.value.as_ref().map(|n| &n.value) {
        None | Some(Value::Text(_)) => Ok(event),
        _ => Err(r.wrong(m, "a text, which may be empty")),
    }
}

impl Context<'_> {
    pub(super) fn events(
        &mut self,
        r: &mut Reader<'_>,
        members: &[&Member],
    ) -> Result<Vec<Event>, WorkloadError> {
        members.iter().map(|m| self.event(r, m)).collect()
    }

    fn event(&mut self, r: &mut Reader<'_>, m: &Member) -> Result<Event, WorkloadError> {
        Ok(match kind(r, m)? {
            "run" => Event::Run { work: Distribution::Constant(r.micros(m)?) },
            "idlewise-run" => Event::Run { work: distribution(r, m)? },
            "runtime" => Event::Runtime { ns: r.micros(m)? },
            "sleep" => {
                Event::Sleep { time: Distribution::Constant(r.micros(m)?), timer: SleepTimer::Hrtimer }
            }
            "idlewise-sleep" => Event::Sleep { time: distribution(r, m)?, timer: SleepTimer::Hrtimer },
            "idlewise-wheel-sleep" => Event::Sleep { time: distribution(r, m)?, timer: SleepTimer::Wheel },
            "timer" => self.timer(r, m)?,
            "mem" => Event::Mem { bytes: self.bytes(r, m)? },
            "iorun" => Event::IoRun { bytes: self.bytes(r, m)? },
            "suspend" => {
                let own = m.value.is_none().then_some(self.task);
                let name = own.map_or_else(|| r.text(m, "a name"), Ok)?;
                Event::Suspend { queue: self.names.queue(name), mutex: self.names.mutex(name) }
            }
            "resume" => {
                let name = r.text(m, "a name")?;
                Event::Resume { queue: self.names.queue(name), mutex: self.names.mutex(name) }
            }
            "lock" => Event::Lock { mutex: self.names.mutex(r.text(m, "a mutex")?) },
            "unlock" => Event::Unlock { mutex: self.names.mutex(r.text(m, "a mutex")?) },
            "wait" => {
                let (queue, mutex) = self.waiting(r, m)?;
                Event::Wait { queue, mutex }
            }
            "sync" => {
                let (queue, mutex) = self.waiting(r, m)?;
                Event::Sync { queue, mutex }
            }
            "signal" => Event::Signal { queue: self.names.queue(r.text(m, "a queue")?) },
            "broad" => Event::Broadcast { queue: self.names.queue(r.text(m, "a queue")?) },
            "barrier" => {
                let name = r.text(m, "a barrier")?;
                Event::Barrier { barrier: self.names.barrier(name, self.instances) }
            }
            "yield" => bare(r, m, Event::Yield)?,
            "idlewise-call-rcu" => bare(r, m, Event::CallRcu)?,
            "fork" => self.fork(r, m)?,
            "idlewise-read" => {
                let (device, bytes) = self.transfer(r, m)?;
                Event::Read { device, bytes }
            }
            "idlewise-write" => {
                let (device, bytes) = self.transfer(r, m)?;
                Event::Write { device, bytes }
            }
            "idlewise-frame-begin" => Event::FrameBegin { frame: self.frame(r, m)? },
            "idlewise-frame-end" => Event::FrameEnd { frame: self.frame(r, m)? },
            "idlewise-take" => Event::Take { source: self.source(r, m)? },
            "idlewise-done" => Event::Done { source: self.source(r, m)? },
            _ => Event::LatencyLimit { limit_ns: limit(r, m)? },
        })
    }

    fn timer(&mut self, r: &mut Reader<'_>, m: &Member) -> Result<Event, WorkloadError> {
        let fields = fields(r, m, &["ref", "period", "mode"])?;
        let timer = self.names.timer(r.text(need(r, m, &fields, 0, "ref")?, "the name of a timer")?);
        let period_ns = r.micros(need(r, m, &fields, 1, "period")?)?;
        let mode = match fields[2] {
            None => TimerMode::Relative,
            Some(mode) => match r.text(mode, "\"relative\" or \"absolute\"")? {
                "relative" => TimerMode::Relative,
                "absolute" => TimerMode::Absolute,
                _ => return Err(r.wrong(mode, "\"relative\" or \"absolute\"")),
            },
        };
        Ok(Event::Timer { timer, period_ns, mode })
    }

    fn waiting(&mut self, r: &mut Reader<'_>, m: &Member) -> Result<(ResourceId, ResourceId), WorkloadError> {
        let fields = fields(r, m, &["ref", "mutex"])?;
        let queue = r.text(need(r, m, &fields, 0, "ref")?, "a queue")?;
        let mutex = r.text(need(r, m, &fields, 1, "mutex")?, "a mutex")?;
        Ok((self.names.queue(queue), self.names.mutex(mutex)))
    }

    fn bytes(&self, r: &mut Reader<'_>, m: &Member) -> Result<u64, WorkloadError> {
        r.note(
            "`mem` and `iorun` are work of the CPU that grows with the bytes: caches, memory bandwidth and what is behind \
             `io_device` are not modelled",
        );
        Ok(r.whole(m, 0..=1 << 40, "bytes")?.unsigned_abs())
    }

    fn fork(&mut self, r: &Reader<'_>, m: &Member) -> Result<Event, WorkloadError> {
        let name = r.text(m, "a task")?;
        let Some(task) = self.names.tasks.get(name).copied() else {
            return Err(r.unknown_name(m, "task", name, &known(&self.names.tasks)));
        };
        self.later.forks(task, m.at, r.path_to(&m.key));
        Ok(Event::Fork { task })
    }

    fn transfer(&self, r: &Reader<'_>, m: &Member) -> Result<(crate::DeviceId, u64), WorkloadError> {
        let fields = fields(r, m, &["device", "bytes"])?;
        let device = need(r, m, &fields, 0, "device")?;
        let name = r.text(device, "a device")?;
        let Some(id) = self.names.devices.get(name).copied() else {
            return Err(r.unknown_name(device, "device", name, &known(&self.names.devices)));
        };
        let bytes = r.whole(need(r, m, &fields, 1, "bytes")?, 1..=1 << 40, "bytes")?;
        Ok((id, bytes.unsigned_abs()))
    }

    fn frame(&mut self, r: &Reader<'_>, m: &Member) -> Result<crate::FrameId, WorkloadError> {
        let name = r.text(m, "a kind of frame")?;
        let id = self.names.frames.get(name).copied();
        let id = id.ok_or_else(|| r.unknown_name(m, "frame", name, &known(&self.names.frames)))?;
        self.later.frame(id, m.key.starts_with("idlewise-frame-begin"), m.at, || r.path_to(&m.key));
        Ok(id)
    }

    fn source(&mut self, r: &Reader<'_>, m: &Member) -> Result<crate::SourceId, WorkloadError> {
        let name = r.text(m, "a source")?;
        let id = self.names.sources.get(name).copied();
        let id = id.ok_or_else(|| r.unknown_name(m, "source", name, &known(&self.names.sources)))?;
        let task = self.names.tasks.get(self.task).copied().unwrap_or(TaskId(0));
        self.later.request(task, id, m.key.starts_with("idlewise-take"), m.at, || r.path_to(&m.key));
        Ok(id)
    }
}

/// The event that a key stands for.
fn kind(r: &mut Reader<'_>, m: &Member) -> Result<&'static str, WorkloadError> {
    let key = m.key.as_str();
    let words = || EVENTS.into_iter().chain(TASK).collect::<Vec<_>>();
    let Some((event, rest)) = EVENTS.iter().find_map(|e| Some((*e, key.strip_prefix(e)?))) else {
        return Err(r.unknown_key(m.at, key, &words()));
    };
    if !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '-') {
        return Ok(event);
    }
    // `runtme1` is a `run` to rt-app, and a `runtime` to who wrote it.
    let word = key.trim_end_matches(|c: char| c.is_ascii_digit());
    if event.starts_with("idlewise-") || nearest(word, &words()).is_some_and(|n| n != event) {
        return Err(r.unknown_key(m.at, key, &words()));
    }
    r.note(format!("`{}` is the event `{event}`, as rt-app goes by how a key begins", short(key)));
    Ok(event)
}
