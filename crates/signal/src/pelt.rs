// SPDX-License-Identifier: GPL-2.0-only
//! PELT, per-entity load tracking: what it is and when it errs is in `signals/pelt.c`.
//!
//! A [`Pelt`] is a kernel's settings, checked; it holds nothing else. Averages ([`Avg`]), tasks ([`Task`]) and CPUs
//! ([`Rq`]) are the caller's, wherever they lie; a call ages what it is given and allocates nothing. Whoever plays the
//! scheduler first lets time pass on a CPU ([`Pelt::pass`]), then says what happens there. What returns a bool says whether a
//! scheduler would ask the frequency's governor: a period of the queue has ended, or a task came or went.
//!
//! ```
//! use idlewise_signal::pelt::{Leave, Next, Pelt, Rq, Task};
//!
//! # fn main() -> Result<(), idlewise_signal::pelt::PeltError> {
//! const MS: u64 = 1_000_000;
//! let pelt = Pelt::kernel(6, 12)?;
//! let (mut cpu, mut task) = (Rq::new(1024), Task::new(1024));
//! pelt.pass(&mut cpu, MS, 0, 0);
//! pelt.start(&cpu, &mut task);
//! assert_eq!(task.avg().util, 512); // half of what is left of the CPU
//! pelt.enqueue(&mut cpu, &mut task);
//! pelt.switch(&mut cpu, None, Next::Fair(&mut task));
//! for ms in 2..=35 {
//!     pelt.pass(&mut cpu, ms * MS, 0, 0);
//!     pelt.tick(&mut cpu, Some(&mut task));
//! }
//! pelt.dequeue(&mut cpu, &mut task, Leave::Sleeps);
//! pelt.switch(&mut cpu, Some(&mut task), Next::Idle);
//! assert_eq!(pelt.cpu_util(&cpu), 770); // half of the rest after 32 periods
//! # Ok(())
//! # }
//! ```

use thiserror::Error;

use crate::c::pelt::{self as c, Class};

mod account;
mod config;
mod made;

pub use account::{Avg, Clock, Leave, Limits, Need, Place, Rq, Task};
pub use config::{Config, Estimate, HalfLife, Speed};

/// Why there is no such PELT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum PeltError {
    /// A setting is out of its range or does not go with another.
    #[error(
        "PELT needs a clock_shift of 0 to 2, a sum_max of what its half-life converges to or more, up to 65536, an \
         estimate_flag of 1 or 1 << 31, and old_steps with a half-life of 32 ms only"
    )]
    Config,
    /// Kernels before 4.3 had another PELT.
    #[error("the PELT of Linux {0}.{1} is not known: kernels before 4.3 had another one")]
    Kernel(u32, u32),
}

/// Weight of a task that only uses what is left (`SCHED_IDLE`).
const WEIGHT_IDLE: u64 = 3;

/// Weights of nice -20 to 19: each step is 1.25 times the next, 1024 at 0, rounded as the kernel's table has it.
const WEIGHTS: [u64; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

/// The weight of `nice`, -20 to 19, or of a task that uses what is left: 1024 for nice 0.
#[must_use]
pub fn weight(nice: Option<i8>) -> u64 {
    nice.map_or(WEIGHT_IDLE, |n| {
        WEIGHTS.get(usize::from((n.clamp(-20, 19) + 20).unsigned_abs())).copied().unwrap_or(1024)
    })
}

/// What a CPU runs from now on.
#[derive(Debug)]
pub enum Next<'a> {
    Idle,
    /// A fair task that is queued there.
    Fair(&'a mut Task),
    RealTime,
    Deadline,
}

/// PELT as a kernel has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pelt {
    config: Config,
}

impl Default for Pelt {
    /// As it was last described: Linux 6.12 and later.
    fn default() -> Self {
        Self { config: c::latest() }
    }
}

impl Pelt {
    /// With these settings.
    ///
    /// # Errors
    /// [`PeltError::Config`].
    pub fn new(config: Config) -> Result<Self, PeltError> {
        config.is_valid().then_some(Self { config }).ok_or(PeltError::Config)
    }

    /// As the kernel of that version has it.
    ///
    /// # Errors
    /// [`PeltError::Kernel`] before 4.3.
    pub fn kernel(major: u32, minor: u32) -> Result<Self, PeltError> {
        Self::new(Config::kernel(major, minor).ok_or(PeltError::Kernel(major, minor))?)
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What is left of `sum` after so many periods.
    #[must_use]
    pub fn decay(&self, sum: u64, periods: u64) -> u64 {
        c::decay(&self.config, sum, periods)
    }

    /// What an average is a share of, units.
    #[must_use]
    pub fn divider(&self, avg: &Avg) -> u32 {
        c::divider(&self.config, avg)
    }

    /// Brings the sums up to `now_ns` of their clock; `load` was there since the last update, `runnable` tasks ran or
    /// waited, one ran if `running`. Without load nothing ran. If time runs backwards, the sums go on from there. `speed`
    /// matters before 5.1 only. True if a period has ended, and [`Pelt::publish`] is due.
    #[inline]
    pub fn update(
        &self,
        avg: &mut Avg,
        speed: Speed,
        now_ns: u64,
        load: u64,
        runnable: u64,
        running: bool,
    ) -> bool {
        c::update(&self.config, &speed, avg, now_ns, (load, runnable, running))
    }

    /// Averages from the sums; `weight` of the load where the sum is without, else 1.
    #[inline]
    pub fn publish(&self, avg: &mut Avg, weight: u64) {
        c::publish(&self.config, avg, weight);
    }

    /// Time has passed on a CPU: `now_ns` is the wall's; interrupts took `irq_ns` of it, just before now, a hypervisor
    /// `steal_ns` of the rest. If time runs backwards, none has passed.
    #[inline]
    pub fn pass(&self, rq: &mut Rq, now_ns: u64, irq_ns: u64, steal_ns: u64) {
        c::pass(&self.config, rq, now_ns, irq_ns, steal_ns);
    }

    /// All averages of a CPU, as others age them for one that idles.
    #[inline]
    pub fn age(&self, rq: &mut Rq) -> bool {
        c::age(&self.config, rq)
    }

    /// Capacity that heat or firmware took since the last call, of 1024; told with every tick. True if the average is new.
    #[inline]
    pub fn lose_capacity(&self, rq: &mut Rq, lost: u64) -> bool {
        c::hardware(&self.config, rq, lost)
    }

    /// What is expected of a task that will be queued for the first time: half of what is left of the CPU, but no more than
    /// others of its weight.
    pub fn start(&self, rq: &Rq, task: &mut Task) {
        c::start(rq, task);
    }

    /// A task is woken up, is new, comes from another CPU or back. Nothing happens if it is queued.
    #[inline]
    pub fn enqueue(&self, rq: &mut Rq, task: &mut Task) -> bool {
        c::enqueue(&self.config, rq, task)
    }

    /// A task leaves its queue; [`Pelt::switch`] follows if it ran. Nothing happens if it is not queued.
    #[inline]
    pub fn dequeue(&self, rq: &mut Rq, task: &mut Task, why: Leave) -> bool {
        c::dequeue(&self.config, rq, task, why)
    }

    /// A CPU makes what it ran, `prev` if that was a fair task, give way to `next`.
    #[inline]
    pub fn switch(&self, rq: &mut Rq, prev: Option<&mut Task>, next: Next<'_>) -> bool {
        let (class, next) = match next {
            Next::Idle => (Class::Idle, None),
            Next::Fair(task) => (Class::Fair, Some(task)),
            Next::RealTime => (Class::RealTime, None),
            Next::Deadline => (Class::Deadline, None),
        };
        c::switch(&self.config, rq, prev, class, next)
    }

    /// Time has passed for what a CPU runs, `curr` if that is a fair task.
    #[inline]
    pub fn tick(&self, rq: &mut Rq, curr: Option<&mut Task>) -> bool {
        c::tick(&self.config, rq, curr)
    }

    /// A task that sleeps leaves `rq`, for another CPU or for good; `wall_ns` is now, which the CPU need not know. Nothing
    /// happens if it is queued.
    #[inline]
    pub fn remove(&self, rq: &mut Rq, task: &mut Task, wall_ns: u64) {
        c::remove(&self.config, rq, task, wall_ns);
    }

    /// A task that sleeps is looked at: it is aged as far as the averages of the queue where it ran last.
    pub fn sync(&self, rq: &Rq, task: &mut Task) {
        c::sync(&self.config, rq, task);
    }

    /// The fair tasks' utilisation is what someone else says of the time up to which the queue was updated, at most 1024; the
    /// tasks keep theirs.
    pub fn set_fair_util(&self, rq: &mut Rq, util: u32) {
        let util = util.min(Speed::FULL.capacity);
        rq.fair.util = u64::from(util);
        rq.fair.util_sum = util * self.divider(&rq.fair);
    }

    /// What a task is expected to use when it runs again.
    #[must_use]
    pub fn estimate(&self, task: &Task) -> u32 {
        c::estimate(&self.config, task)
    }

    /// How large a task is: its utilisation or its estimate.
    #[must_use]
    pub fn task_util(&self, task: &Task) -> u64 {
        c::task_util(&self.config, task)
    }

    /// How full a CPU is of fair tasks, 0 to its capacity.
    #[inline]
    #[must_use]
    pub fn cpu_util(&self, rq: &Rq) -> u64 {
        c::cpu_util(&self.config, rq, None, false)
    }

    /// The same; tasks that wait count as if they ran (6.5).
    #[inline]
    #[must_use]
    pub fn cpu_util_boost(&self, rq: &Rq) -> u64 {
        c::cpu_util(&self.config, rq, None, true)
    }

    /// How full a CPU would be if `task` were where it goes.
    #[inline]
    #[must_use]
    pub fn cpu_util_with(&self, rq: &Rq, task: &Task, place: Place, boost: bool) -> u64 {
        c::cpu_util(&self.config, rq, Some((task, place)), boost)
    }

    /// How fast a CPU has to be for `fair_util` of fair tasks, all else and its limits.
    #[inline]
    #[must_use]
    pub fn need(&self, rq: &Rq, fair_util: u64, limits: &Limits) -> Need {
        c::need(&self.config, rq, fair_util, limits)
    }

    /// How busy a CPU is, as governors of idle states ask it: 0 to its capacity. It is as stale as the averages are.
    #[inline]
    #[must_use]
    pub fn busy(&self, rq: &Rq) -> u64 {
        c::busy(&self.config, rq)
    }
}

/// The newest kernel whose PELT was compared with ours.
const NEWEST: (u32, u32) = (7, 3);
/// The last minor number of each major one before it.
const LAST_OF: [(u32, u32); 3] = [(4, 20), (5, 19), (6, 19)];

/// Whether there is a kernel of that number whose PELT is known.
///
/// # Errors
/// With the numbers that are.
pub fn known_kernel(major: u32, minor: u32) -> Result<(), String> {
    if (major, minor) > NEWEST || LAST_OF.iter().any(|(of, last)| *of == major && minor > *last) {
        let [four, five, six] = LAST_OF.map(|(_, last)| last);
        return Err(format!(
            "no kernel has this number, or none that is known here: the PELT and the fair scheduler of Linux 4.3 to \
             4.{four}, 5.0 to 5.{five}, 6.0 to 6.{six} and 7.0 to {}.{} are",
            NEWEST.0, NEWEST.1
        ));
    }
    Ok(())
}
