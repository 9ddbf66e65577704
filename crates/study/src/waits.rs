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
    pub asks: u32,
    /// The state of its first choice.
    pub state: u8,
    /// The tick went on running after its first choice.
    pub tick_kept: bool,
    /// All its choices, states and ticks in their order, folded into one number.
    pub choices: u64,
    /// How many of its choices were too deep.
    pub above: u32,
    /// How many were too shallow.
    pub below: u32,
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
