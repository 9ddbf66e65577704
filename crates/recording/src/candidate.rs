// SPDX-License-Identifier: GPL-2.0-only
//! Who can be run: a governor in C, or a bound of the engine's own; and how a trace's CPUs are run under it.

use idlewise_governor::{Governor, GovernorError, Loader};
use idlewise_idle::{Hindsight, Hosted, Lesson, Limits, Oracle};
use idlewise_model::{Entry, Ledger, PiecesError};
use idlewise_platform::Cluster;
use idlewise_replay::{RunCounts, Setting, Workload, run};
use idlewise_score::{Counts, Tally};

use crate::error::CommandError;
use crate::limits;
use crate::placement::Placement;

/// The bound that knows when each idle period ends.
pub const ORACLE: &str = "oracle";
/// The bound that knows how long idle periods last in each context.
pub const HINDSIGHT: &str = "hindsight";

/// Whether `name` is that of a bound, which no kernel could run.
#[must_use]
pub fn is_bound(name: &str) -> bool {
    Bound::called(name).is_some()
}

/// A bound, which knows the future or the whole recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// [`Oracle`]: when each idle period ends.
    Oracle,
    /// [`Hindsight`]: how long idle periods last in each context.
    Hindsight,
}

impl Bound {
    /// All of them, the lowest first.
    pub const ALL: [Self; 2] = [Self::Oracle, Self::Hindsight];

    /// The one of that name.
    #[must_use]
    pub fn called(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bound| bound.name() == name)
    }

    /// The name under which it runs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oracle => ORACLE,
            Self::Hindsight => HINDSIGHT,
        }
    }

    /// What it knows that no governor does.
    #[must_use]
    pub const fn knows(self) -> &'static str {
        match self {
            Self::Oracle => "every wake event",
            Self::Hindsight => "how long idle periods last on average",
        }
    }
}

/// A job takes CPUs until it has this many stays; loading a governor's copy costs as much as a few thousand.
const STAYS_PER_JOB: usize = 200_000;

/// What to know of a governor whose CPUs share state; its name comes first.
pub const SHARED_STATE: &str =
    "keeps state that CPUs share; each CPU was replayed by itself, one after the other";

/// One governor of a request.
#[derive(Clone)]
pub enum Candidate {
    /// A governor that runs.
    Hosted {
        governor: Governor,
        /// As it was asked for, limits included.
        name: String,
        /// States that are off for it, and the latency limit that it has.
        limits: Limits,
    },
    /// What governors are measured against.
    Bound(Bound),
}

/// A ledger of one run.
pub trait Book: Ledger {
    /// Data of the run for the report.
    type Pages: Send;
    /// The ledger is closed.
    fn pages(self) -> Self::Pages;
}

impl Book for Tally<'_> {
    type Pages = Counts;
    fn pages(mut self) -> Counts {
        self.counts.latencies_ns.settle();
        self.counts
    }
}

/// Entries as they come.
impl Book for Vec<Entry> {
    type Pages = Self;
    fn pages(self) -> Self {
        self
    }
}

impl<A: Book, B: Book> Book for (A, B) {
    type Pages = (A::Pages, B::Pages);
    fn pages(self) -> Self::Pages {
        (self.0.pages(), self.1.pages())
    }
}

/// A run on one CPU.
pub struct Ran<P> {
    /// Number of the CPU.
    pub cpu: u32,
    pub pages: P,
    /// Decisions and idle periods.
    pub counts: RunCounts,
}

/// Runs on several CPUs.
pub struct Runs<P> {
    pub cpus: Vec<Ran<P>>,
    /// The governor changed memory that belongs to no CPU.
    pub shared_state: bool,
}

impl Candidate {
    /// `governor` without limits, under its own name.
    pub fn of(governor: Governor) -> Self {
        let name = governor.label();
        Self::Hosted { governor, name, limits: Limits::NONE }
    }

    /// As it was asked for.
    pub fn name(&self) -> &str {
        match self {
            Self::Hosted { name, .. } => name,
            Self::Bound(bound) => bound.name(),
        }
    }

    /// Whether the user means this one by `text`: its name, or what it was asked for as.
    pub(crate) fn is_called(&self, text: &str) -> bool {
        self.name() == text
            || matches!(self, Self::Hosted { governor, limits, .. }
                if limits::join(&governor.spec().to_string(), *limits) == text)
    }

    /// Takes its path for its name where `other` is called the same and comes from another file.
    pub fn keep_apart_from(&mut self, other: &Governor) {
        if let Self::Hosted { governor, name, limits } = self
            && *name == limits::join(&other.label(), *limits)
        {
            *governor = governor.clone().apart_from(other);
            *name = limits::join(&governor.label(), *limits);
        }
    }

    /// Whether it is none of ours, and so runs in a process of its own.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Hosted { governor, .. } if governor.is_foreign())
    }

    /// Runs `cpus` with one copy of the governor; `open` opens the book of each.
    pub fn run<'w, 's, B: Book>(
        &self,
        cpus: &[&'w Workload],
        placement: &'s Placement,
        setting: Setting,
        open: impl Fn(&'w Workload, &'s Cluster) -> B,
    ) -> Result<Runs<B::Pages>, CommandError> {
        let (governor, setting) = match self {
            Self::Hosted { governor, limits, name } => {
                limits::check(name, *limits, placement.used())?;
                (governor, Setting { limits: *limits, ..setting })
            }
            Self::Bound(bound) => return Ok(run_bound(*bound, cpus, placement, setting, open)?),
        };
        let answer = governor.run(|loader| run_hosted(loader, cpus, placement, setting, &open))?;
        let ran = |(cpu, pages, counts)| Ran { cpu, pages, counts };
        Ok(Runs { cpus: answer.0.into_iter().map(ran).collect(), shared_state: answer.1 })
    }
}

/// CPU, pages and counts of each run, and whether CPUs share state.
type Answer<P> = (Vec<(u32, P, RunCounts)>, bool);

fn run_hosted<'w, 's, B: Book>(
    loader: &Loader<'_>,
    cpus: &[&'w Workload],
    placement: &'s Placement,
    setting: Setting,
    open: impl Fn(&'w Workload, &'s Cluster) -> B,
) -> Result<Answer<B::Pages>, GovernorError> {
    let mut instance = loader.load(cpus.first().map_or(1, |w| w.grid.period_ns))?;
    let mut out = Vec::new();
    for workload in cpus {
        let Some(place) = placement.place(workload.cpu) else { continue };
        let mut book = open(workload, place);
        let slot = instance.add_cpu(workload.cpu, &place.table, place.capacity)?;
        let mut governor = Hosted::new(&mut instance, slot);
        let setting = at_place(setting, place);
        let counts = run(workload, &place.table, place.capacity, setting, &mut governor, &mut book)?;
        out.push((workload.cpu, book.pages(), counts));
    }
    Ok((out, instance.keeps_shared_state()))
}

/// `setting` on a CPU of `place`.
#[must_use]
pub fn at_place(setting: Setting, place: &Cluster) -> Setting {
    Setting { prices: Some(place.prices()), ..setting }
}

fn run_bound<'w, 's, B: Book>(
    bound: Bound,
    cpus: &[&'w Workload],
    placement: &'s Placement,
    setting: Setting,
    open: impl Fn(&'w Workload, &'s Cluster) -> B,
) -> Result<Runs<B::Pages>, PiecesError> {
    let mut out = Vec::new();
    for workload in cpus {
        let Some(place) = placement.place(workload.cpu) else { continue };
        let mut book = open(workload, place);
        let setting = at_place(setting, place);
        let (table, capacity) = (&place.table, place.capacity);
        let counts = match bound {
            Bound::Oracle => {
                let mut oracle = Oracle::new(table, setting.prices);
                run(workload, table, capacity, setting, &mut oracle, &mut book)?
            }
            Bound::Hindsight => {
                let mut lesson = Lesson::new(table, place.prices(), workload.grid, workload.tick_handler_ns);
                run(workload, table, capacity, setting, &mut lesson, &mut ())?;
                let mut hindsight = Hindsight::of(lesson, table);
                run(workload, table, capacity, setting, &mut hindsight, &mut book)?
            }
        };
        out.push(Ran { cpu: workload.cpu, pages: book.pages(), counts });
    }
    Ok(Runs { cpus: out, shared_state: false })
}

/// The CPUs that one job takes: all of them where `together`.
pub fn chunks(workloads: &[Workload], together: bool) -> Vec<Vec<&Workload>> {
    let room = if together { usize::MAX } else { STAYS_PER_JOB };
    let mut out: Vec<Vec<&Workload>> = Vec::new();
    let mut held = usize::MAX;
    for w in workloads {
        if out.is_empty() || held >= room {
            out.push(Vec::new());
            held = 0;
        }
        held = held.saturating_add(w.events.len());
        out.last_mut().into_iter().for_each(|chunk| chunk.push(w));
    }
    out
}
