// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::buffers::totals;
use super::facts::Facts;
use super::look::{self, monotonic};
use super::plan::{Companion, Plan};
use super::session::describe;
use super::spool::{self, Spool};
use super::stop::Stop;
use super::wait::{self, Ended};
use idlewise_live::tracefs::{Instance, Tracefs};
use idlewise_live::{Host, Journal, LiveError};

/// What one run of a command took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunTime {
    /// From its start to its end.
    pub wall: Duration,
    /// CPU time of all its processes, in steps of 10 ms. Other load on the machine hardly touches it.
    pub cpu: Duration,
}

/// Run times of a command with and without recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Of each block the run without, two with, and one without.
    pub blocks: Vec<[RunTime; 4]>,
    /// Events recorded in all runs.
    pub events: u64,
    /// Events lost in all runs.
    pub lost: u64,
    /// As in [`super::session::Recorded`].
    pub moved: Option<PathBuf>,
}

/// Gives what else is to record in a run, if anything.
pub type NewCompanion<'c> = dyn FnMut() -> Result<Option<Box<dyn Companion>>, LiveError> + 'c;

/// Runs the plan's command without, with, with, without recording, `blocks` times, after a run that counts for nothing. `journal`
/// as in [`super::session::record`]; `companion` is asked before each run with recording.
///
/// # Errors
/// [`LiveError`] when something is missing or refused, the command fails or is stopped.
pub fn costs(
    host: &Host,
    plan: &Plan,
    journal: &mut Journal,
    companion: &mut NewCompanion<'_>,
    blocks: usize,
    stop: &mut Stop,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Costs, LiveError> {
    let tracefs = Tracefs::of(host)?;
    let moved = spool::make_folder(&plan.parts, plan.force)?;
    let begun = Begun::new(host, &tracefs, plan, journal);
    let result = begun.and_then(|mut b| b.measure(plan, companion, blocks, stop, journal, progress));
    // The pages of a measurement are nobody's recording.
    let _ = spool::remove(&plan.parts);
    result.map(|costs| Costs { moved, ..costs })
}

/// A measurement that has begun.
struct Begun<'h> {
    host: &'h Host,
    instance: Instance,
    page: usize,
    out: Costs,
}

impl<'h> Begun<'h> {
    fn new(host: &'h Host, tracefs: &Tracefs, plan: &Plan, journal: &mut Journal) -> Result<Self, LiveError> {
        let cpus = look::online(host);
        let buffer_kib = plan.buffer_kib.unwrap_or_else(|| spool::buffer_kib(host, cpus.len()));
        let path = tracefs.own_instance();
        journal.made(&path, None)?;
        let instance = Instance::make(path, buffer_kib)?;
        let page = describe(host, tracefs, &instance, &Facts::of(host, &cpus))?.page_size();
        let out = Costs { blocks: Vec::new(), events: 0, lost: 0, moved: None };
        Ok(Self { host, instance, page, out })
    }

    fn measure(
        &mut self,
        plan: &Plan,
        companion: &mut NewCompanion<'_>,
        blocks: usize,
        stop: &mut Stop,
        journal: &mut Journal,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Costs, LiveError> {
        let (mut done, of) = (0, blocks * 4);
        self.run(plan, None, stop, journal)?;
        for _ in 0..blocks {
            let mut block = [RunTime::default(); 4];
            for (took, with) in block.iter_mut().zip([false, true, true, false]) {
                *took = self.run(plan, with.then_some(&mut *companion), stop, journal)?;
                done += 1;
                progress(done, of);
            }
            self.out.blocks.push(block);
        }
        Ok(self.out.clone())
    }

    /// One run, recorded where a companion may be asked for.
    fn run(
        &mut self,
        plan: &Plan,
        with: Option<&mut NewCompanion<'_>>,
        stop: &mut Stop,
        journal: &mut Journal,
    ) -> Result<RunTime, LiveError> {
        let recorded = with.is_some();
        let mut companion = with.map_or(Ok(None), |new| new())?;
        self.instance.clear()?;
        // Events that are on cost something even where nothing is recorded.
        if recorded {
            self.instance.enable()?
        } else {
            self.instance.disable()?
        }
        let mut spool = Spool::new(&plan.parts, &self.instance, self.page)?;
        self.instance.record(recorded)?;
        if let Some(c) = companion.as_mut() {
            c.start()?;
        }
        let cpu = children_cpu(self.host)?;
        let start = monotonic();
        let ended = wait::through(plan, &mut spool, stop, journal, &mut |_| ())?;
        let wall = monotonic().saturating_sub(start);
        let cpu = children_cpu(self.host)?.saturating_sub(cpu);
        companion.as_mut().map_or(Ok(()), |c| c.stop())?;
        self.instance.record(false)?;
        if ended != Ended::Command(std::process::ExitStatus::default()) {
            let why = "the command failed or was stopped: nothing was measured".to_owned();
            return Err(LiveError::Command { why });
        }
        if recorded {
            let (events, lost, _) = totals(&self.instance)?;
            self.out.events += events;
            self.out.lost += lost;
        }
        Ok(RunTime { wall, cpu })
    }
}

/// CPU time of all children that have ended, and theirs: `cutime` and `cstime` of /proc/PID/stat, its fields 16 and 17 (proc(5)).
fn children_cpu(host: &Host) -> Result<Duration, LiveError> {
    let path = host.proc.join("self/stat");
    let text = fs::read_to_string(&path).map_err(LiveError::io(&path))?;
    // The name, field 2, stands in brackets and may hold anything.
    let fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: u64 = fields.split(' ').skip(13).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second().max(1)))
}
