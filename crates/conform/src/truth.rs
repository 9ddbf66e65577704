// SPDX-License-Identifier: GPL-2.0-only
//! Decisions recorded on a live kernel with the governor's true inputs, held against a governor here:
//! `idlewise drive --decisions`.
//!
//! The files are CSV (plain, `.gz` or `.xz`), one row per idle period of one CPU; the columns are those of
//! `docs/reference/decisions-format.md`. Unlike the golden files these go through the idle loop.

mod rows;

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_governor::{Device, Governor, GovernorError, Spec};
use idlewise_idle::{Chooser, Hosted, IdleCpu, Left, Moment, Timers};
use idlewise_model::{Entry, Ledger, NO_LATENCY_LIMIT_NS, StateIndex, TickGrid, WakeCause};
use idlewise_platform::{Cluster, Platform};

use serde::{Deserialize, Serialize};

use idlewise_recording::CommandError;
use rows::Rows;

/// How many decisions came out the same.
///
/// What a governor remembers from before the recording is not known. So three copies follow it, one fresh, one that has
/// been through the whole recording before, one that has only ever been woken at once: where they answer differently, the answer
/// hangs on that memory, and the row is counted apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TruthResult {
    /// Rows compared.
    pub rows: u64,
    /// Rows not compared: the answer hangs on the memory from before the recording.
    pub unknown_memory: u64,
    /// Compared rows with another state.
    pub other_state: u64,
    /// Compared rows with another keep-or-stop of the tick.
    pub other_tick: u64,
    /// Compared rows with either.
    pub other: u64,
    /// Of these, rows next to a select that the kernel gave up before entering: nothing recorded what it did.
    pub aborted: u64,
    /// Rows of selects that the kernel gave up before entering, which lead the governor and have no state to compare.
    pub given_up: u64,
    /// Compared rows where one asked for the sleep length and the other did not, as far as the file tells. No mismatch by itself:
    /// it tells versions of menu apart.
    pub other_question: u64,
    /// Compared rows with another limit of the polling loop. No mismatch by itself: the kernel's is taken from there on.
    pub other_poll_limit: u64,
    /// Rows where the kernel's limit of the polling loop had been set back to 0 from outside, as writing to a state's `disable` does:
    /// it is taken over.
    pub poll_limit_resets: u64,
    /// The first rows that differ, in words.
    pub first: Vec<String>,
}

/// Rows described in [`TruthResult::first`].
const DESCRIBED: usize = 100;

impl TruthResult {
    /// Rows with both the same, % of those compared; not a number where there are none.
    #[must_use]
    pub fn same_pct(&self) -> f64 {
        (self.rows - self.other) as f64 * 100.0 / self.rows as f64
    }

    fn count(&mut self, row: &Row, fresh: Answer, others: [Answer; 2]) {
        if row.given_up == Some(true) {
            self.given_up += 1;
            return;
        }
        if others.iter().any(|other| *other != fresh) {
            self.unknown_memory += 1;
            return;
        }
        let other_state = fresh.state != row.state;
        let other_tick = fresh.stop != row.stop_path;
        let other = other_state || other_tick;
        self.rows += 1;
        self.other_state += u64::from(other_state);
        self.other_tick += u64::from(other_tick);
        self.other += u64::from(other);
        self.aborted += u64::from(other && row.aborted());
        self.other_poll_limit += u64::from(fresh.poll_limit == PollLimit::Other);
        self.poll_limit_resets += u64::from(fresh.poll_limit == PollLimit::Reset);
        self.other_question += u64::from(row.asked.is_some_and(|asked| asked != fresh.asked));
        if other && self.first.len() < DESCRIBED {
            self.first.push(row.parting(fresh));
        }
    }
}

/// Runs `spec` through the idle loop with the true inputs of `path`, recorded on CPU `cpu` of `machine`.
///
/// # Errors
/// [`CommandError`] when the file, machine or governor cannot be read or found; a file error names line and column.
pub fn truth(spec: &Spec, path: &Path, machine: &Platform, cpu: u32) -> Result<TruthResult, CommandError> {
    truth_of_governor(&Governor::find(spec)?, path, machine, cpu)
}

/// As [`truth`], with a governor that was found before.
///
/// # Errors
/// As [`truth`].
pub fn truth_of_governor(
    governor: &Governor,
    path: &Path,
    machine: &Platform,
    cpu: u32,
) -> Result<TruthResult, CommandError> {
    let live = LiveFile::read(path, machine, cpu)?;
    if live.rows.is_empty() {
        let path = path.display();
        return Err(CommandError::Request(format!(
            "{path}: no decision of CPU {cpu} in it; --cpu N names another CPU"
        )));
    }
    Ok(lead(governor, &live)?)
}

/// Leads three copies of `governor` through the rows of one CPU.
pub(crate) fn lead(governor: &Governor, live: &LiveFile<'_>) -> Result<TruthResult, GovernorError> {
    let (cpu, place, grid) = (live.cpu, live.place, live.grid);
    governor.run(|loader| {
        let mut instances = Vec::new();
        for _ in 0..3 {
            instances.push(loader.load(grid.period_ns)?);
        }
        let mut hosted = Vec::new();
        for instance in &mut instances {
            let slot = instance.add_cpu(cpu, &place.table, place.capacity)?;
            hosted.push(Hosted::new(instance, slot));
        }
        let mut result = TruthResult::default();
        let (Some(first), [fresh, seasoned, hurried]) = (live.rows.first(), hosted.as_mut_slice()) else {
            return Ok(result);
        };
        let (mut fresh, mut seasoned) = (Follower::new(fresh, live), Follower::new(seasoned, live));
        let mut hurried = Follower::new(hurried, live);
        for row in &live.rows {
            seasoned.follow(*row);
        }
        for row in woken_at_once(first) {
            hurried.follow(row);
        }
        (seasoned.before, hurried.before) = (None, None);
        for follower in [&mut fresh, &mut seasoned, &mut hurried] {
            follower.find(first);
        }
        for row in &live.rows {
            let others = [seasoned.follow(*row), hurried.follow(*row)];
            result.count(row, fresh.follow(*row), others);
        }
        Ok(result)
    })
}

/// A life in which every sleep, of any length, ended as soon as it began.
fn woken_at_once(like: &Row) -> impl Iterator<Item = Row> {
    const LENGTHS_NS: [i64; 6] = [5_000, 50_000, 500_000, 5_000_000, 50_000_000, 500_000_000];
    const TIMES: usize = 64;
    let like = Row {
        stopped_before: false,
        new_visit: true,
        got_tick_before: false,
        residency_ns: 1,
        residency_before_ns: 1,
        poll_limit_before: false,
        given_up: Some(false),
        rejected: false,
        delta_tick_ns: None,
        ..*like
    };
    let lengths = LENGTHS_NS.into_iter().flat_map(|ns| std::iter::repeat_n(ns, TIMES));
    lengths.map(move |ns| Row { sleep_length_ns: Some(ns), ..like })
}

/// A file of recorded decisions, read: the rows of one CPU, and where it is.
pub struct LiveFile<'m> {
    /// Number of the CPU.
    pub cpu: u32,
    /// Its cluster.
    pub place: &'m Cluster,
    /// Its ticks.
    pub grid: TickGrid,
    /// Its decisions.
    pub rows: Vec<Row>,
}

impl<'m> LiveFile<'m> {
    /// Reads the rows of CPU `cpu` of `machine` from `path`.
    pub fn read(path: &Path, machine: &'m Platform, cpu: u32) -> Result<Self, CommandError> {
        // Before a long file is read.
        let empty = Self::of(machine, cpu, Vec::new())?;
        let mut rows = Vec::new();
        let mut file = Rows::open(path)?;
        while let Some((of, raw)) = file.next_row()? {
            if of == cpu {
                rows.push(file.on(&raw, &empty.place.table)?);
            }
        }
        Ok(Self { rows, ..empty })
    }

    /// Reads the rows of all CPUs from `path`, in the order of their numbers; a CPU comes once more after each gap in its rows, where
    /// the recorder had no room.
    pub(crate) fn read_all(path: &Path, machine: &'m Platform) -> Result<Vec<Self>, CommandError> {
        let mut cpus: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        let mut file = Rows::open(path)?;
        while let Some((cpu, raw)) = file.next_row()? {
            let table = &place_of(machine, cpu)?.table;
            cpus.entry(cpu).or_default().push(file.on(&raw, table)?);
        }
        let mut all = Vec::new();
        for (cpu, rows) in cpus {
            for part in rows.split_inclusive(|row| row.is_cut_off) {
                all.push(Self::of(machine, cpu, part.to_vec())?);
            }
        }
        Ok(all)
    }

    fn of(machine: &'m Platform, cpu: u32, rows: Vec<Row>) -> Result<Self, CommandError> {
        let place = place_of(machine, cpu)?;
        Ok(Self { cpu, place, grid: TickGrid::from_hz(machine.hz.unwrap_or(250)), rows })
    }
}

fn place_of(machine: &Platform, cpu: u32) -> Result<&Cluster, CommandError> {
    let none = || CommandError::Request(format!("platform {} has no CPU {cpu}", machine.id));
    machine.cluster_of(cpu).ok_or_else(none)
}

/// What a governor says to one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The state.
    pub state: usize,
    /// The tick is stopped, or stays so.
    pub stop: bool,
    /// It asked for the sleep length.
    asked: bool,
    poll_limit: PollLimit,
}

/// The limit of the polling loop against the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollLimit {
    /// As far as the file tells.
    Same,
    /// The kernel's had been set back.
    Reset,
    Other,
}

impl Answer {
    /// Before the first row.
    pub const NONE: Self = Self { state: 0, stop: false, asked: false, poll_limit: PollLimit::Same };
}

/// A governor that is led through recorded decisions.
pub struct Follower<'a, C> {
    governor: &'a mut C,
    idle: IdleCpu<'a>,
    grid: TickGrid,
    before: Option<Row>,
}

impl<'a, C: Chooser> Follower<'a, C> {
    /// `governor` must be new, on the CPU of `live`.
    pub fn new(governor: &'a mut C, live: &'a LiveFile<'_>) -> Self {
        let idle = IdleCpu::new(live.cpu, &live.place.table, live.grid);
        Self { governor, idle, grid: live.grid, before: None }
    }

    /// Lets the CPU's device be as the kernel's was at `row`, as far as the file tells.
    fn find(&mut self, row: &Row) {
        let Some((last_state, poll_limit_ns)) = row.device else { return };
        let mut device = Device::used(last_state);
        device.poll_limit_ns = poll_limit_ns;
        device.poll_time_limit = row.poll_limit_before;
        device.last_residency_ns = row.residency_before_ns.cast_signed();
        *self.governor.device() = device;
        self.governor.set_disabled(row.disabled);
    }

    /// Compares the limit of the polling loop before a choice, and takes over the kernel's: one wrong limit shall not derail what
    /// comes after it.
    fn compare_poll_limit(&mut self, row: &Row) -> PollLimit {
        let Some((_, kernels_ns)) = row.device else { return PollLimit::Same };
        let device = self.governor.device();
        let ours_ns = std::mem::replace(&mut device.poll_limit_ns, kernels_ns);
        match (ours_ns == kernels_ns, kernels_ns) {
            (true, _) => PollLimit::Same,
            (false, 0) => PollLimit::Reset,
            (false, _) => PollLimit::Other,
        }
    }

    /// Asks with what the kernel knew; what the kernel then got is told when the next row comes.
    pub fn follow(&mut self, row: Row) -> Answer {
        let in_vain = row.asked_in_vain_before() && self.before.is_some();
        if let Some(before) = self.before.take() {
            // Only this row tells what the kernel measured for the stay before.
            let left = before.left(&row);
            if before.rejected {
                self.idle.reject(self.governor, left.exit_at_ns, &mut Nowhere);
            } else {
                self.idle.leave(self.governor, &left, &mut Nowhere);
            }
        }
        let now_ns = row.start_ns.saturating_add_signed(row.now_rel);
        if row.new_visit {
            self.idle.end_visit();
            self.idle.begin_visit(now_ns);
        } else {
            self.idle.interrupt_done(now_ns);
        }
        self.idle.set_disabled(self.governor, row.disabled);
        self.idle.force_tick(row.stopped_before);
        let poll_limit = self.compare_poll_limit(&row);
        let moment = row.moment(now_ns, self.grid);
        if in_vain {
            // The governor had been asked before, and a reschedule came before the state was entered.
            self.idle.enter(self.governor, &moment);
            self.idle.abort(self.governor);
            self.idle.force_tick(row.stopped_before);
        }
        let entered = self.idle.enter(self.governor, &moment);
        if row.given_up == Some(true) {
            self.idle.abort(self.governor);
        } else {
            self.before = Some(row);
        }
        Answer {
            state: entered.state,
            stop: entered.stop_tick || row.stopped_before,
            asked: entered.asked_sleep_length,
            poll_limit,
        }
    }
}

struct Nowhere;

impl Ledger for Nowhere {
    fn entry(&mut self, _entry: &Entry) {}
}

/// One recorded decision; `_rel` times count from `start_ns`.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its line in the file.
    pub line: u64,
    /// When, ns on the clock of the file.
    pub start_ns: u64,
    /// The choice; of one that was given up nobody knows.
    pub state: usize,
    latency_limit_ns: i64,
    /// States that were off, a bit each.
    pub disabled: u16,
    /// The tick was stopped before.
    pub stopped_before: bool,
    /// The kernel went the way of stopping the tick.
    pub stop_path: bool,
    new_visit: bool,
    /// The tick had run when the governor was last told of a stay.
    got_tick_before: bool,
    /// This stay's residency.
    pub residency_ns: u64,
    residency_before_ns: u64,
    poll_limit_before: bool,
    now_rel: i64,
    hrtimer_rel: Option<i64>,
    /// Time to the next timer event, ns, where the governor asked for it.
    pub sleep_length_ns: Option<i64>,
    exit_ns: u64,
    calls: i64,
    /// Nothing was entered; where the file does not say, rows of their own are missing for such selects.
    pub(crate) given_up: Option<bool>,
    /// The stay's end is not recorded: the CPU's last row, or what came next found no room.
    is_cut_off: bool,
    /// The state that was entered.
    pub entered: Option<StateIndex>,
    pub(crate) rejected: bool,
    delta_tick_ns: Option<i64>,
    /// The state of which the governor was last told, and the limit of the polling loop, ns.
    device: Option<(Option<StateIndex>, u64)>,
    /// The kernel's governor asked for the sleep length, as far as the file tells.
    pub asked: Option<bool>,
}

impl Row {
    /// The kernel asked its governor once more before this, in vain.
    pub(crate) fn aborted(&self) -> bool {
        self.residency_before_ns == 0 || self.calls > 1
    }

    /// The kernel asked its governor once more before this, and no row of its own says so.
    pub fn asked_in_vain_before(&self) -> bool {
        self.given_up.is_none() && self.aborted()
    }

    /// The end of this stay, as `next` tells it.
    fn left(&self, next: &Self) -> Left {
        // After an aborted select the next row's "previous residency" is that select's, 0.
        let residency_ns = if next.aborted() { self.residency_ns } else { next.residency_before_ns };
        let exit_at_ns = self.start_ns + residency_ns;
        Left {
            entered: self.entered.map_or(self.state, StateIndex::get),
            wake_at_ns: exit_at_ns,
            exit_at_ns,
            running_at_ns: exit_at_ns,
            handled_at_ns: self.start_ns + self.exit_ns.max(residency_ns),
            cause: if next.poll_limit_before { WakeCause::PollLimit } else { WakeCause::Unknown },
            tick_ran: next.got_tick_before,
        }
    }

    fn parting(&self, here: Answer) -> String {
        let tick = |stop: bool| if stop { "stop" } else { "keep" };
        let limit = |ns| if ns == NO_LATENCY_LIMIT_NS { "none".to_owned() } else { format!("{ns} ns") };
        format!(
            "line {}: kernel state {} {} the tick, here state {} {} it (sleep length {}, latency limit {}, tick {} before, \
             disabled {:b}{})",
            self.line,
            self.state,
            tick(self.stop_path),
            here.state,
            tick(here.stop),
            self.sleep_length_ns.map_or_else(|| "not asked".to_owned(), |ns| format!("{ns} ns")),
            limit(self.latency_limit_ns),
            if self.stopped_before { "stopped" } else { "running" },
            self.disabled,
            if self.aborted() { ", next to an aborted select" } else { "" }
        )
    }

    fn moment(&self, now_ns: u64, grid: TickGrid) -> Moment {
        let programmed = self.hrtimer_rel.map_or(i64::MAX, |rel| rel.saturating_sub(self.now_rel));
        let tick = grid.after(now_ns).wrapping_sub(now_ns) as i64;
        let computed_ns = if self.stopped_before { programmed } else { programmed.min(tick) };
        let delta_tick_ns = self.delta_tick_ns.unwrap_or(computed_ns);
        let sleep_length_ns = self.sleep_length_ns.unwrap_or(programmed);
        Moment {
            start_ns: self.start_ns,
            timers: Timers::Known { sleep_length_ns, delta_tick_ns },
            latency_limit_ns: self.latency_limit_ns,
            util: 0,
            iowait: 0,
            random: 0,
            wake_at_ns: self.start_ns + self.exit_ns,
        }
    }
}
