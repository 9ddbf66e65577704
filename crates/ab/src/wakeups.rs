// SPDX-License-Identifier: GPL-2.0-only
//! How long the command's tasks wait from being woken to running, from the scheduler's tracepoints: an instance of our own
//! records while the benchmark runs, and nobody reads it until the run is over.

mod reduce;
mod waits;

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_trace::TraceFile;
use idlewise_trace::write::DatHead;

use idlewise_live::tracefs::{CLOCK, Instance, Tracefs};
use idlewise_live::{Host, Journal, LiveError};
use idlewise_recorder::record::spool::{self, Spool};
use idlewise_recorder::record::{buffer_counts, look};
use reduce::Reducer;
pub(super) use waits::{LEAST_FOR_MEDIAN, LEAST_FOR_P99, METRICS};
pub use waits::{Waits, Wakeups};

/// The events: who is woken, who begins to run, who is new.
const EVENTS: [&str; 3] = ["sched/sched_waking", "sched/sched_switch", "sched/sched_wakeup_new"];
/// Where the pages lie between a run and its result.
const PAGES: &str = "wakeups.parts";

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
        journal.made(&path, None)?;
        let cpus = look::online(host).len();
        let instance = Instance::bare(path, spool::buffer_kib(host, cpus))?;
        // Whoever reads while the benchmark runs disturbs it. What does not fit is at the end, and is reported.
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
        let unread = |e: idlewise_trace::TraceError| LiveError::Unread(Box::new(e));
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
        trace.check_read().map_err(unread)?;
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
