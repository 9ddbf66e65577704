// SPDX-License-Identifier: GPL-2.0-only
//! A machine to try governors on: signals that say what they are given, and policies to order.

use idlewise_freq::{Change, Driver, Hook, Limits, Need, Policy, Setup, Signals, Table};

/// One millisecond, ns.
pub(crate) const MS: u64 = 1_000_000;

/// What each CPU says; CPUs beyond the list say what the last one says.
#[derive(Clone, Debug)]
pub(crate) struct Said(pub(crate) Vec<Cpu>);

#[derive(Clone, Debug)]
pub(crate) struct Cpu {
    pub(crate) capacity: u64,
    pub(crate) util: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    pub(crate) rt: u64,
    pub(crate) dl: u64,
    pub(crate) capped: bool,
    pub(crate) walt: bool,
    pub(crate) idle_calls: u64,
    pub(crate) idle_ns: u64,
    pub(crate) iowait_ns: u64,
}

impl Default for Cpu {
    fn default() -> Self {
        Self {
            capacity: 1024,
            util: 0,
            min: 0,
            max: 1024,
            rt: 0,
            dl: 0,
            capped: false,
            walt: false,
            idle_calls: 0,
            idle_ns: 0,
            iowait_ns: 0,
        }
    }
}

impl Said {
    pub(crate) fn util(util: u64) -> Self {
        Self(vec![Cpu { util, ..Cpu::default() }])
    }

    pub(crate) fn utils(utils: &[u64]) -> Self {
        Self(utils.iter().map(|&util| Cpu { util, ..Cpu::default() }).collect())
    }

    fn of(&self, cpu: u32) -> &Cpu {
        self.0.get(cpu as usize).unwrap_or_else(|| self.0.last().unwrap())
    }
}

impl Signals for Said {
    fn capacity(&self, cpu: u32) -> u64 {
        self.of(cpu).capacity
    }
    fn need(&self, cpu: u32) -> Need {
        let c = self.of(cpu);
        Need { util: c.util, min: c.min, max: c.max.min(c.capacity) }
    }
    fn freq_util(&self, cpu: u32) -> u64 {
        self.of(cpu).util
    }
    fn util(&self, cpu: u32) -> u64 {
        self.of(cpu).util
    }
    fn windowed(&self) -> bool {
        self.of(0).walt
    }
    fn rt_util(&self, cpu: u32) -> u64 {
        self.of(cpu).rt
    }
    fn dl_bandwidth(&self, cpu: u32) -> u64 {
        self.of(cpu).dl
    }
    fn clamps(&self, cpu: u32) -> (u64, u64) {
        (self.of(cpu).min, self.of(cpu).max)
    }
    fn capped(&self, cpu: u32) -> bool {
        self.of(cpu).capped
    }
    fn idle_calls(&self, cpu: u32) -> u64 {
        self.of(cpu).idle_calls
    }
    fn idle_ns(&self, cpu: u32, _: u64) -> u64 {
        self.of(cpu).idle_ns
    }
    fn iowait_ns(&self, cpu: u32, _: u64) -> u64 {
        self.of(cpu).iowait_ns
    }
}

/// The desktop of signal-behaviour.md C11, kHz.
pub(crate) const I7: [u32; 16] = [
    1_600_000, 1_700_000, 1_900_000, 2_000_000, 2_100_000, 2_200_000, 2_400_000, 2_500_000, 2_600_000,
    2_800_000, 2_900_000, 3_000_000, 3_100_000, 3_300_000, 3_400_000, 3_401_000,
];

/// Pixel 6's big CPUs: those operating points that the golden numbers of C2 need, kHz.
pub(crate) const BIG: [u32; 5] = [500_000, 984_000, 1_106_000, 1_277_000, 2_802_000];

/// A driver that switches at once, 10 us of latency, clocks that are accounted for.
pub(crate) fn fast() -> Driver {
    Driver { transition_latency_ns: 10_000, fast_switch: true, ..Driver::default() }
}

/// A driver that sleeps while it switches.
pub(crate) fn slow(latency_ns: u64) -> Driver {
    Driver { transition_latency_ns: latency_ns, fast_switch: false, ..fast() }
}

/// CPUs 0.. of one policy at its lowest clock, HZ=250.
pub(crate) fn setup(cpus: u32, khz: &[u32], driver: Driver) -> Setup {
    Setup {
        cpus: (0..cpus).collect(),
        table: Table::new(khz.to_vec()).unwrap(),
        limits: Limits::NONE,
        start_khz: khz[0],
        driver,
        tick_ns: 4 * MS,
    }
}

pub(crate) fn policy(setup: Setup, governor: &str) -> Policy {
    Policy::new(setup, &governor.parse().unwrap()).unwrap()
}

/// A fair hook of CPU 0 on itself.
pub(crate) fn hook(policy: &mut Policy, t_ns: u64, signals: &Said) -> Change {
    policy.hook(&Hook::fair(0, t_ns), signals).change
}

/// The hook of a task that waited for I/O.
pub(crate) fn iowait_hook(policy: &mut Policy, t_ns: u64, signals: &Said) -> Change {
    policy.hook(&Hook { iowait: true, ..Hook::fair(0, t_ns) }, signals).change
}

/// What one CPU was doing until now: idle for so long in all, ns.
pub(crate) fn idled(idle_ns: u64) -> Said {
    Said(vec![Cpu { idle_ns, ..Cpu::default() }])
}

/// Ends the switch under way, and those that follow from it, at once.
pub(crate) fn settle(policy: &mut Policy, signals: &Said) -> u32 {
    while let Some(moving) = policy.moving() {
        let _ = policy.transition_done(moving.ends_ns, signals);
    }
    policy.cur_khz()
}
