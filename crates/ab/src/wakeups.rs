// SPDX-License-Identifier: GPL-2.0-only
//! How long the command's tasks wait from being woken to running, from the scheduler's tracepoints: an instance of our own
//! records while the benchmark runs, and nobody reads it until the run is over.

mod reduce;

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_trace::TraceFile;
use idlewise_trace::write::DatHead;
use serde::{Deserialize, Serialize};

use idlewise_live::tracefs::{CLOCK, Instance, Tracefs};
use idlewise_live::{Host, Journal, LiveError};
use idlewise_recorder::record::spool::{self, Spool};
use idlewise_recorder::record::{buffer_counts, look};
use reduce::Reducer;

/// The events: who is woken, who begins to run, who is new.
const EVENTS: [&str; 3] = ["sched/sched_waking", "sched/sched_switch", "sched/sched_wakeup_new"];
/// Where the pages lie between a run and its result.
const PAGES: &str = "wakeups.parts";

/// From waking to running, of the command's own processes in one run. Its threads and children count; what it wakes beyond
/// them (kernel threads, servers) does not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wakeups {
    /// All wakeups.
    pub all: Waits,
    /// Of these, the ones that found the CPU in its idle task: the governor's part is in these.
    pub idle: Waits,
    /// CPUs of which tracing hides in more than one of ten cases when tasks begin to run: what ran there is left out.
    pub hidden_cpus: Vec<u32>,
    /// Wakeups that are left out: all of these CPUs, and the few of which another hides it.
    pub hidden: u64,
    /// Events recorded.
    pub events: u64,
    /// Events that came when a buffer was full.
    pub lost: u64,
    /// How much of the run is looked at, s, where that is not all: the time until the first buffer was full.
    pub until_s: Option<f64>,
}

/// A number of waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waits {
    /// How many.
    pub count: u64,
    /// Median, us (nearest rank, as all of these); 0 without any.
    pub p50_us: f64,
    /// 99th percentile, us.
    pub p99_us: f64,
    /// The longest, us.
    pub max_us: f64,
    /// How many were shorter than 1 us, 2 us, 4 us and so on, and no shorter than the step before.
    pub histogram: Vec<u64>,
}

/// Fewer wakeups than these in a run have no median, and no 99th percentile, that would mean anything.
pub(super) const LEAST_FOR_MEDIAN: u64 = 10;
pub(super) const LEAST_FOR_P99: u64 = 100;

/// A metric's value; nothing where there were too few such wakeups.
type Value = fn(&Wakeups) -> Option<f64>;

/// The metrics of these, by name. Less is better, in us.
pub(super) const METRICS: [(&str, Value); 4] = [
    ("idle_wakeup_p50", |w| w.idle.median()),
    ("idle_wakeup_p99", |w| w.idle.p99()),
    ("wakeup_p50", |w| w.all.median()),
    ("wakeup_p99", |w| w.all.p99()),
];

impl Waits {
    fn median(&self) -> Option<f64> {
        (self.count >= LEAST_FOR_MEDIAN).then_some(self.p50_us)
    }

    fn p99(&self) -> Option<f64> {
        (self.count >= LEAST_FOR_P99).then_some(self.p99_us)
    }
}

/// Traces the wakeups of one run after the other.
#[derive(Debug)]
pub(super) struct Tracer {
    instance: Instance,
    head: DatHead,
    folder: PathBuf,
}

impl Tracer {
    /// Makes the instance, noted in `journal`, which removes it. Pages go to `folder` after each run.
    pub(super) fn new(host: &Host, journal: &mut Journal, folder: &Path) -> Result<Self, LiveError> {
        let tracefs = Tracefs::of(host)?;
        let path = tracefs.own_instance();
        journal.made(&path)?;
        let cpus = look::online(host).len();
        let instance = Instance::bare(path, spool::buffer_kib(host, cpus))?;
        // Whoever reads while the benchmark runs disturbs it. What does not fit is at the end, and is told.
        instance.keep_the_first()?;
        let mut head = DatHead {
            header_page: tracefs.read("events/header_page")?,
            clock: CLOCK.to_owned(),
            ..DatHead::default()
        };
        let formats = tracefs.formats("sched")?.into_iter().map(|(_, text)| text);
        head.formats.insert("sched".to_owned(), formats.collect());
        Ok(Self { instance, head, folder: folder.join(PAGES) })
    }

    /// From now on what this thread starts is traced. Gives the time, ns on the trace's clock.
    pub(super) fn start(&self) -> Result<u64, LiveError> {
        self.instance.clear()?;
        self.instance.follow(&EVENTS, me())?;
        self.instance.record(true)?;
        Ok(look::now_ns())
    }

    pub(super) fn stop(&self) -> Result<(), LiveError> {
        self.instance.record(false)?;
        // Events that are on cost something even where nothing is recorded.
        self.instance.disable()
    }

    /// What the run that began at `start_ns` came to.
    pub(super) fn result(&self, start_ns: u64) -> Result<Wakeups, LiveError> {
        // Left by a session that died.
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir(&self.folder).map_err(LiveError::io(&self.folder))?;
        let result = self.reduced(start_ns);
        let _ = fs::remove_dir_all(&self.folder);
        result
    }

    fn reduced(&self, start_ns: u64) -> Result<Wakeups, LiveError> {
        let unread = |e: idlewise_trace::TraceError| LiveError::Request(e.to_string());
        spool::describe(&self.folder, &self.head)?;
        let counts = buffer_counts(&self.instance)?;
        Spool::new(&self.folder, &self.instance, self.head.page_size())?.finish()?;
        let trace = TraceFile::open(&self.folder).map_err(unread)?;
        let full: Vec<u32> = counts.iter().filter(|(_, c)| c.lost > 0).map(|(cpu, _)| *cpu).collect();
        let mut until_ns = None;
        if !full.is_empty() {
            // Until then all buffers have everything.
            let mut last = vec![start_ns; full.len()];
            for event in trace.events().map_err(unread)? {
                if let Some(at) = full.iter().position(|c| *c == event.cpu).and_then(|i| last.get_mut(i)) {
                    *at = event.ts_ns;
                }
            }
            until_ns = last.into_iter().min();
        }
        let mut reducer = Reducer::new(me());
        for event in trace.events().map_err(unread)? {
            if until_ns.is_some_and(|until| event.ts_ns > until) {
                break;
            }
            reducer.see(&event);
        }
        Ok(Wakeups {
            events: counts.values().map(|c| c.events).sum(),
            lost: counts.values().map(|c| c.lost).sum(),
            until_s: until_ns.map(|ns| ns.saturating_sub(start_ns) as f64 / 1e9),
            ..reducer.done()
        })
    }
}

/// The thread that starts the benchmarks, by the kernel's number.
fn me() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}
