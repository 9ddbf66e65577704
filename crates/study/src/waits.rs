// SPDX-License-Identifier: GPL-2.0-only
//! One governor's run cut into waits: what it did, and what that cost, until each of the workload's events came.
//!
//! Two governors ask at different times and different numbers of times, but they wait for the same events. So events
//! are where their runs can be laid side by side.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use idlewise_model::{Entry, IdleTable, Ledger, Miss, Outcome, PiecesError, TickChoice, WakeCause};
use idlewise_platform::EnergyTable;
use idlewise_replay::Workload;
use idlewise_score::entry_fj;
use serde::{Deserialize, Serialize};

use idlewise_recording::candidate::Book;

/// What a governor did until one event came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Number of its first decision, counted from 0 for each CPU; there are `asks` of them.
    pub first: u64,
    /// How often it was asked; 0 where the event came during the exit for another one, or in the polling loop.
    pub(crate) asks: u32,
    /// The state of its first choice.
    pub(crate) state: u8,
    /// The tick went on running after its first choice.
    pub(crate) tick_kept: bool,
    /// All its choices, states and ticks in their order, folded into one number.
    pub(crate) choices: u64,
    pub(crate) above: u32,
    pub(crate) below: u32,
    /// How long the event had to wait for the CPU, ns.
    pub latency_ns: u32,
    /// Energy, fJ or the table's relative equivalent.
    pub energy_fj: u128,
}

/// Waits in a block of those in a file.
const BLOCK: usize = 4096;

/// Temporary files without a name for the waits of one run, by CPU. A CPU whose events are in memory has none: so are its waits.
#[derive(Debug, Default)]
pub struct WaitFiles(BTreeMap<u32, Arc<File>>);

impl WaitFiles {
    /// Files for the CPUs of `workloads`, made before the run.
    ///
    /// # Errors
    /// What the system says.
    pub fn new<'w>(workloads: impl IntoIterator<Item = &'w Workload>) -> Result<Self, PiecesError> {
        let mut files = BTreeMap::new();
        for workload in workloads {
            if workload.events.in_memory().is_none() {
                files.insert(workload.cpu, Arc::new(tempfile::tempfile()?));
            }
        }
        Ok(Self(files))
    }

    /// The waits of CPU `cpu`, one for each event, from the pages of its book.
    pub fn read<'f>(
        &'f self,
        cpu: u32,
        pages: &'f WaitPages,
    ) -> impl Iterator<Item = Result<Wait, PiecesError>> + 'f {
        let file = self.0.get(&cpu);
        let stored = pages.blocks.iter().flat_map(move |block| match file.map(|file| block.read(file)) {
            Some(Ok(waits)) => waits.into_iter().map(Ok).collect(),
            Some(Err(e)) => vec![Err(e.into())],
            None => unreachable!("CPU {cpu} has blocks in a file, and so a file"),
        });
        let failed = pages.failure.clone().map(Err);
        stored.chain(failed).chain(pages.rest.iter().copied().map(Ok))
    }
}

/// Waits of one CPU: blocks in its file, then what is not in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct WaitPages {
    blocks: Vec<Block>,
    rest: Vec<Wait>,
    /// Why a block could not be written.
    failure: Option<PiecesError>,
}

/// Where a block of waits is in a file.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Block {
    at: u64,
    bytes: usize,
}

impl Block {
    fn read(self, file: &File) -> io::Result<Vec<Wait>> {
        let mut bytes = vec![0; self.bytes];
        file.read_exact_at(&mut bytes, self.at)?;
        postcard::from_bytes(&bytes).map_err(io::Error::other)
    }

    fn write(file: &File, at: u64, waits: &[Wait]) -> io::Result<Self> {
        let bytes = postcard::to_stdvec(waits).map_err(io::Error::other)?;
        file.write_all_at(&bytes, at)?;
        Ok(Self { at, bytes: bytes.len() })
    }
}

/// Sorts a run's entries by the event that they wait for.
pub struct Waits<'w> {
    table: &'w IdleTable,
    energy: &'w EnergyTable,
    decisions: u64,
    /// The event that is waited for, counted from the first of `pages.rest`.
    now: usize,
    /// One for each event.
    pages: WaitPages,
    /// Where full blocks of them go.
    file: Option<Arc<File>>,
    /// Events before the first of `pages.rest`, and after the last.
    before: usize,
    ahead: usize,
}

/// The 64-bit prime of the Fowler-Noll-Vo hash.
const FNV_PRIME: u64 = 0x100_0000_01b3;

impl<'w> Waits<'w> {
    /// Of the events of `workload`, with `files` for it.
    pub fn new(
        workload: &Workload,
        files: &WaitFiles,
        table: &'w IdleTable,
        energy: &'w EnergyTable,
    ) -> Self {
        let file = files.0.get(&workload.cpu).cloned();
        let ahead = workload.events.len();
        let pages = WaitPages::default();
        let mut out = Self { table, energy, decisions: 0, now: 0, pages, file, before: 0, ahead };
        out.turn();
        out
    }

    /// Begins with the next block, or with all that there is where there is no file.
    fn turn(&mut self) {
        let n = if self.file.is_some() { self.ahead.min(BLOCK) } else { self.ahead };
        self.ahead -= n;
        self.pages.rest.clear();
        self.pages.rest.resize(n, Wait::default());
    }

    /// Puts the block into the file.
    #[cold]
    fn put_aside(&mut self) {
        let Some(file) = &self.file else { return };
        let end = self.pages.blocks.last().map_or(0, |last| last.at + last.bytes as u64);
        if self.pages.failure.is_none() {
            match Block::write(file, end, &self.pages.rest) {
                Ok(block) => self.pages.blocks.push(block),
                Err(e) => self.pages.failure = Some(e.into()),
            }
        }
        self.now -= self.pages.rest.len();
        self.before += self.pages.rest.len();
        self.turn();
    }
}

impl Book for Waits<'_> {
    type Pages = WaitPages;
    fn pages(mut self) -> WaitPages {
        while self.ahead > 0 {
            self.now = self.pages.rest.len();
            self.put_aside();
        }
        self.pages
    }
}

impl Ledger for Waits<'_> {
    #[inline]
    fn waits_for(&mut self, event: usize) {
        self.now = event - self.before;
        while self.now >= self.pages.rest.len() && self.ahead > 0 {
            self.put_aside();
        }
    }

    #[inline]
    fn entry(&mut self, e: &Entry) {
        let number = self.decisions;
        self.decisions += 1;
        let Some(wait) = self.pages.rest.get_mut(self.now) else { return };
        if wait.asks == 0 {
            (wait.first, wait.state, wait.tick_kept) = (number, e.selected, e.tick == TickChoice::Kept);
        }
        wait.asks += 1;
        let choice = 1 + u64::from(e.selected) + ((e.tick as u64) << 8);
        wait.choices = (wait.choices ^ choice).wrapping_mul(FNV_PRIME);
        wait.energy_fj += entry_fj(self.table, self.energy, e);
        match e.outcome {
            Outcome::Stayed { miss: Miss::Above, .. } => wait.above = wait.above.saturating_add(1),
            Outcome::Stayed { miss: Miss::Below, .. } => wait.below = wait.below.saturating_add(1),
            Outcome::Stayed { miss: Miss::None, .. } | Outcome::Rejected => {}
        }
        if !matches!(e.cause, WakeCause::Tick | WakeCause::PollLimit) {
            wait.latency_ns = u32::try_from(e.latency_ns).unwrap_or(u32::MAX);
        }
    }

    #[inline]
    fn overtaken(&mut self, latency_ns: u64) {
        if let Some(wait) = self.pages.rest.get_mut(self.now) {
            wait.latency_ns = u32::try_from(latency_ns).unwrap_or(u32::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_governor::{Instance, Spec};
    use idlewise_idle::{Hosted, NEVER_AT_NS};
    use idlewise_model::{Confidence, IdleState, TickGrid};
    use idlewise_platform::Fall;
    use idlewise_replay::{Setting, Workload, WorkloadEvent, run};

    const TICK_NS: u64 = 4_000_000;

    fn table() -> IdleTable {
        let state = |us: i64| IdleState {
            name: format!("S{us}"),
            exit_latency_ns: us * 300,
            target_residency_ns: us * 1000,
            entry_ns: 0,
            polling: false,
            disabled: false,
        };
        IdleTable::new(vec![state(1), state(1000)]).unwrap()
    }

    /// Each begins 10 us after the one before was over; an interrupt that no timer announced.
    fn workload(waits_ns: &[u64]) -> Workload {
        let mut now_ns = 100_000;
        let event = |wait_ns: &u64| {
            let start_ns = now_ns;
            now_ns += wait_ns + 10_000;
            WorkloadEvent {
                start_ns,
                at_ns: start_ns + wait_ns,
                hrtimer_at_ns: NEVER_AT_NS,
                wheel_at_ns: NEVER_AT_NS,
                stale_event_at_ns: NEVER_AT_NS,
                exit_lag_ns: 0,
                response_ns: 0,
                handler_ns: 1_000,
                entry_lag_ns: 0,
                util: 0,
                iowait: 0,
                state: 0,
                cause: WakeCause::Irq,
                visit_start: true,
                visit_end: true,
                tick_off: false,
                tick_needed_ns: 0,
                timers: Confidence::Recorded,
            }
        };
        Workload {
            cpu: 0,
            grid: TickGrid::from_hz(250),
            tick_handler_ns: 2_000,
            events: waits_ns.iter().map(event).collect(),
            latency: Vec::new(),
            disabled: Vec::new(),
            refusals: Vec::new(),
        }
    }

    fn waits(governor: &str, workload: &Workload) -> Vec<Wait> {
        let table = table();
        let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
        let mut instance = Instance::load(&governor.parse::<Spec>().unwrap(), TICK_NS).unwrap();
        let slot = instance.add_cpu(0, &table, 1024).unwrap();
        let files = WaitFiles::new([workload]).unwrap();
        let mut ledger = Waits::new(workload, &files, &table, &energy);
        let setting = Setting::new(false, 0);
        run(workload, &table, 1024, setting, &mut Hosted::new(&mut instance, slot), &mut ledger).unwrap();
        files.read(workload.cpu, &ledger.pages()).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_wait_has_its_asks_and_its_costs() {
        // The third event comes while the deep state is being left for the second.
        let workload = workload(&[20_000_000, 2_000_000, 100_000, 500_000]);
        let deep = waits("deepest", &workload);
        assert_eq!(deep.iter().map(|w| w.asks).collect::<Vec<_>>(), [1, 1, 0, 1]);
        assert_eq!(deep.iter().map(|w| w.first).collect::<Vec<_>>(), [0, 1, 0, 2]);
        assert_eq!((deep[0].latency_ns, deep[0].state, deep[0].tick_kept), (300_000, 1, false));
        assert_eq!((deep[3].above, deep[0].below), (1, 0));
        let ticking = waits("shallow:stop_tick=0", &workload);
        assert_eq!(ticking[0].asks, 6, "five ticks on the way");
        assert!(ticking[0].tick_kept && ticking[0].below > 0);
        assert!(ticking[0].energy_fj > deep[0].energy_fj);
        assert_eq!(deep[0].choices, deep[1].choices);
        assert_ne!(deep[0].choices, ticking[0].choices);
    }
}
