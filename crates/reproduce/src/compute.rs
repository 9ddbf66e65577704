// SPDX-License-Identifier: GPL-2.0-only
//! Published numbers that no simulation is needed for.

use idlewise_platform::Platform;
use idlewise_signal::pelt::{Avg, Pelt, Speed};
use idlewise_signal::walt::{Config as WaltConfig, CpuSpec, Walt, WaltError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use idlewise_experiment::ExperimentError;
use idlewise_experiment::simulate::{Fact, FactSummary, FactUnit, pelt_of};

/// Values that follow from a formula, without a simulated run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Computed {
    /// How long PELT takes up and down: from the formula, and with the kernel's integers.
    PeltTimes,
    /// How long WALT remembers a task, and how soon it sees that a task is heavy or a CPU idle.
    WaltTimes,
}

const MS: u64 = 1_000_000;
/// PELT's period, ns.
const PERIOD: u64 = 1 << 20;
const HALF_LIFE: f64 = 32.0;
/// Where it is given up, ns.
const END: u64 = 1_000 * MS;

/// What the number is called, whether it rises, and which share of 1024 it reaches, per cent.
const TIMES: [(&str, bool, f64); 5] = [
    ("rise to 80 %", true, 80.0),
    ("rise to 95 %", true, 95.0),
    ("decay to 10 %", false, 10.0),
    ("decay to 1 %", false, 1.0),
    ("decay to 0", false, 0.0),
];

impl Computed {
    /// The values; those of WALT for the clocks of the platform's fastest CPU.
    pub(crate) fn facts(
        self,
        kernel: &str,
        platform: Option<&str>,
    ) -> Result<Vec<FactSummary>, ExperimentError> {
        match self {
            Self::PeltTimes => pelt_times(kernel),
            Self::WaltTimes => walt_times(kernel, platform),
        }
    }
}

fn fact(about: &str, name: &str, unit: FactUnit, value: Option<f64>) -> FactSummary {
    let fact =
        Fact { about: about.to_owned(), name: name.to_owned(), unit, value: value.unwrap_or(f64::NAN) };
    FactSummary::of(&fact, value.as_slice())
}

fn pelt_times(kernel: &str) -> Result<Vec<FactSummary>, ExperimentError> {
    let config = pelt_of(kernel)?;
    let pelt = Pelt::new(config)?;
    let mut out = Vec::new();
    let mut add = |about: &str, name: &str, ns: Option<f64>| {
        out.push(fact(about, name, FactUnit::Ns, ns));
    };
    for (name, rises, percent) in TIMES {
        let left = if rises { 100.0 - percent } else { percent } / 100.0;
        let periods = (left > 0.0).then(|| HALF_LIFE * -left.log2());
        add("formula, periods as ms", name, periods.map(|p| p * MS as f64));
        add("formula, time", name, periods.map(|p| p * PERIOD as f64));
        for (about, every_ns, as_ns) in [
            ("updates every ms", MS, MS),
            ("updates every 4 ms", 4 * MS, 4 * MS),
            ("updates every period, periods as ms", PERIOD, MS),
        ] {
            let updates = updates(&pelt, rises, percent, every_ns);
            add(about, name, updates.map(|n| (n * as_ns) as f64));
        }
    }
    Ok(out)
}

/// Updates until the average of a task that always runs, or that sleeps after it has always run, is there.
fn updates(pelt: &Pelt, rises: bool, percent: f64, every_ns: u64) -> Option<u64> {
    let goal = percent * 10.24;
    let mut avg = Avg::default();
    let mut now_ns = 0;
    let mut step = |runs: bool| {
        now_ns += every_ns;
        let one = u64::from(runs);
        if pelt.update(&mut avg, Speed::FULL, now_ns, one, one, runs) {
            pelt.publish(&mut avg, 1);
        }
        avg.util as f64
    };
    if !rises {
        for _ in 0..END / every_ns {
            step(true);
        }
    }
    let goal = goal.round();
    let reached = |util: f64| if rises { util >= goal } else { util <= goal };
    (1..=END / every_ns).find(|_| reached(step(rises)))
}

/// How long WALT remembers and needs with windows of 10 ms, read every ms, under a governor that adds a quarter to what it reads
/// once, or twice as sched-freq does in the tick.
fn walt_times(kernel: &str, platform: Option<&str>) -> Result<Vec<FactSummary>, ExperimentError> {
    let id = platform.ok_or_else(|| ExperimentError::Run("walt-times: expected a platform".to_owned()))?;
    let clocks = clocks_of(&idlewise_platform::find(id)?);
    let config = WaltConfig { window_ns: (10 * MS) as u32, ..WaltConfig::android() };
    let failed = |why: WaltError| ExperimentError::Run(format!("walt-times: {why}"));
    let window_ms = u64::from(config.window_ns) / MS;
    let mut out = Vec::new();
    for (about, margin) in [("margin once", 1.25), ("margin twice", 1.25 * 1.25)] {
        let mut add = |name: &str, unit: FactUnit, value: f64| out.push(fact(about, name, unit, Some(value)));
        add("PELT after 300 ms of sleep", FactUnit::Percent, pelt_kept(kernel, 300)?);
        let kept = One::new(config, &clocks, 0).and_then(|one| one.kept(300)).map_err(failed)?;
        add("demand after 300 ms of sleep", FactUnit::Percent, kept);
        let mut rises = |name: &str, khz: &[u32]| {
            let times = (0..window_ms).map(|phase| One::new(config, khz, phase)?.rises(margin));
            let times = times.collect::<Result<Vec<_>, _>>().map_err(failed)?;
            for (end, time) in [("at best", times.iter().min()), ("at worst", times.iter().max())] {
                let ms = time.copied().flatten();
                out.push(fact(about, &format!("{name}, {end}"), FactUnit::Ns, ms.map(|ms| (ms * MS) as f64)));
            }
            Ok::<_, ExperimentError>(())
        };
        rises("full demand at the highest clock", &clocks[clocks.len().saturating_sub(1)..])?;
        rises("full demand from the lowest clock", &clocks)?;
        let times = (0..window_ms).map(|phase| One::new(config, &clocks, phase)?.falls());
        let times = times.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        for (name, ms) in [
            ("busy time falls, at worst", times.iter().map(|(falls, _)| *falls).max()),
            ("busy time is gone, at worst", times.iter().map(|(_, gone)| *gone).max()),
        ] {
            out.push(fact(about, name, FactUnit::Ns, ms.map(|ms| (ms * MS) as f64)));
        }
    }
    Ok(out)
}

/// The clocks of the fastest CPU by rising kHz; one where the platform says nothing of clocks.
fn clocks_of(platform: &Platform) -> Vec<u32> {
    let fastest = platform.clusters.iter().max_by_key(|c| c.capacity);
    let clock = fastest.and_then(|c| c.clock.as_ref());
    let khz = |p: &idlewise_platform::ClockPoint| u32::try_from(p.khz).unwrap_or(u32::MAX);
    clock.map_or_else(|| vec![1_000_000], |c| c.points.iter().map(khz).collect())
}

/// What PELT keeps of a task that has always run, per cent, after so long.
fn pelt_kept(kernel: &str, sleep_ms: u64) -> Result<f64, ExperimentError> {
    let pelt = Pelt::new(pelt_of(kernel)?)?;
    let mut avg = Avg::default();
    let mut to = |now_ns: u64, runs: bool| {
        let one = u64::from(runs);
        if pelt.update(&mut avg, Speed::FULL, now_ns, one, one, runs) {
            pelt.publish(&mut avg, 1);
        }
        avg.util as f64
    };
    let before = (1..=END / MS).map(|n| to(n * MS, true)).last().unwrap_or(f64::NAN);
    Ok(100.0 * to(END + sleep_ms * MS, false) / before)
}

/// One task on one CPU under WALT, from so many ms after a window's begin on.
struct One {
    walt: Walt,
    task: u32,
    khz: Vec<u32>,
    began_ms: u64,
}

impl One {
    fn new(config: WaltConfig, khz: &[u32], began_ms: u64) -> Result<Self, WaltError> {
        let highest = khz.last().copied().unwrap_or(0);
        let mut walt = Walt::new(config, &[CpuSpec { capacity: 1024, max_freq_khz: highest }])?;
        walt.start(0)?;
        let task = walt.add_task(0, None)?;
        Ok(Self { walt, task, khz: khz.to_vec(), began_ms })
    }

    fn begins(&mut self, at_ms: u64) -> Result<(), WaltError> {
        self.walt.wake(self.task, 0, at_ms * MS)?;
        self.walt.switch(0, self.task, false, at_ms * MS)
    }

    fn window_ms(&self) -> u64 {
        u64::from(self.walt.config().window_ns) / MS
    }

    /// What is left of a heavy task's demand when it wakes up again, per cent.
    fn kept(mut self, sleep_ms: u64) -> Result<f64, WaltError> {
        let until_ms = 10 * self.window_ms();
        self.begins(0)?;
        (1..=until_ms).try_for_each(|ms| self.walt.tick(0, ms * MS))?;
        let util = |walt: &Walt, task: u32| walt.task_util(task).map_or(f64::NAN, f64::from);
        let before = util(&self.walt, self.task);
        self.walt.switch_to_idle(0, true, until_ms * MS)?;
        self.begins(until_ms + sleep_ms)?;
        Ok(100.0 * util(&self.walt, self.task) / before)
    }

    /// How long a task runs until its demand is a whole CPU, ms. At each window's end the clock is set to `margin` times the
    /// CPU's busy time; it begins with the lowest.
    fn rises(mut self, margin: f64) -> Result<Option<u64>, WaltError> {
        let highest = self.khz.last().copied().unwrap_or(0);
        self.walt.set_frequency(0, self.khz.first().copied().unwrap_or(0), 0)?;
        self.begins(self.began_ms)?;
        for ms in self.began_ms + 1..=END / MS {
            self.walt.tick(0, ms * MS)?;
            if self.walt.task_util(self.task) >= Some(1024) {
                return Ok(Some(ms - self.began_ms));
            }
            if ms % self.window_ms() == 0 {
                let util = self.walt.frequency_util(0).map_or(f64::NAN, f64::from);
                let wanted = margin * util / 1024.0 * f64::from(highest);
                let next = self.khz.iter().find(|khz| f64::from(**khz) >= wanted).copied();
                self.walt.set_frequency(0, next.unwrap_or(highest), ms * MS)?;
            }
        }
        Ok(None)
    }

    /// After a task that has always run goes to sleep: how long until the CPU's busy time falls, and until it is nothing, ms.
    fn falls(mut self) -> Result<(u64, u64), WaltError> {
        let until_ms = 10 * self.window_ms() + self.began_ms;
        self.begins(0)?;
        (1..=until_ms).try_for_each(|ms| self.walt.tick(0, ms * MS))?;
        let full = self.walt.frequency_util(0);
        self.walt.switch_to_idle(0, true, until_ms * MS)?;
        let mut falls = None;
        let mut ms = 0;
        while self.walt.frequency_util(0) > Some(0) && ms < END / MS {
            ms += 1;
            self.walt.tick(0, (until_ms + ms) * MS)?;
            falls = falls.or_else(|| (self.walt.frequency_util(0) < full).then_some(ms));
        }
        Ok((falls.unwrap_or(ms), ms))
    }
}
