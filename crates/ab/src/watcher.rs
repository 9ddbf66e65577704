// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use super::slowed::slowed_by;
use idlewise_live::Host;
use idlewise_live::files::{line, names};
use idlewise_live::limits::{LimitWatch, Limiting};

/// How often latency limit and power are looked at during a run: seldom enough not to disturb.
const EVERY: Duration = Duration::from_millis(200);
/// The first look, for short runs.
const FIRST: Duration = Duration::from_millis(30);

/// What bound the governor, or slowed the machine, during a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// The least latency limit seen, µs.
    pub(super) limit_us: Option<i32>,
    /// Who asked for it.
    pub(super) limited_by: Vec<String>,
    /// Limits of power and heat.
    pub(super) limiting: Limiting,
    /// What keeps CPUs below their highest frequency at its end.
    pub(super) slowed_by: Vec<String>,
}

/// Looks at a machine while a benchmark runs.
pub(super) struct Watcher {
    stop: Sender<()>,
    thread: JoinHandle<Bounds>,
    host: Host,
    limits: SharedLimits,
}

/// The limits of a session's machine, with the session's clock: averages go on from run to run.
#[derive(Clone, Debug)]
pub(super) struct SharedLimits {
    watch: Arc<Mutex<LimitWatch>>,
    start: Instant,
    /// Whether there is anything to sample during a run.
    some: bool,
}

impl SharedLimits {
    pub(super) fn of(host: &Host, start: Instant) -> Self {
        let watch = LimitWatch::begin(host, start.elapsed());
        let some = watch.sees_something();
        Self { watch: Arc::new(Mutex::new(watch)), start, some }
    }

    fn with<T>(&self, does: impl FnOnce(&mut LimitWatch, Duration) -> T) -> T {
        does(&mut self.watch.lock().unwrap_or_else(PoisonError::into_inner), self.start.elapsed())
    }
}

impl Watcher {
    pub(super) fn start(host: &Host, limits: &SharedLimits) -> Self {
        let (stop, stopped) = channel();
        let its = host.clone();
        let sampled = limits.clone();
        limits.with(LimitWatch::end);
        let thread = spawn(move || {
            let mut bounds = Bounds::default();
            let mut wait = FIRST;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                bounds.look(&its);
                if sampled.some {
                    sampled.with(LimitWatch::sample);
                }
                wait = EVERY;
            }
            bounds
        });
        Self { stop, thread, host: host.clone(), limits: limits.clone() }
    }

    pub(super) fn stop(self) -> Bounds {
        drop(self.stop);
        let mut bounds = self.thread.join().unwrap_or_default();
        bounds.limiting = self.limits.with(LimitWatch::end);
        bounds.slowed_by = slowed_by(&self.host);
        bounds
    }
}

impl Bounds {
    fn look(&mut self, host: &Host) {
        let path = host.dev.join("cpu_dma_latency");
        let mut bytes = [0; 4];
        let read = File::open(&path).and_then(|mut f| f.read_exact(&mut bytes));
        let Ok(limit) = read.map(|()| i32::from_ne_bytes(bytes)) else { return };
        if self.limit_us.is_none_or(|least| limit < least) {
            self.limit_us = Some(limit);
            self.limited_by = holders(host);
        }
    }
}

/// The processes that have the file of latency limits open, other than this one.
fn holders(host: &Host) -> Vec<String> {
    let me = std::process::id().to_string();
    let mut out = BTreeSet::new();
    for pid in names(&host.proc) {
        if pid == me || !pid.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let folder = host.proc.join(&pid);
        let holds = names(&folder.join("fd")).iter().any(|fd| {
            fs::read_link(folder.join("fd").join(fd)).is_ok_and(|l| l.ends_with("cpu_dma_latency"))
        });
        if holds {
            out.insert(line(&folder.join("comm")).unwrap_or(pid));
        }
    }
    out.into_iter().collect()
}
