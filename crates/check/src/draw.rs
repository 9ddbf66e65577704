// SPDX-License-Identifier: GPL-2.0-only
//! Sequences of idle periods: random ones, and ones that follow what the governor chose.

use idlewise_model::{MAX_STATES, NEVER_NS, NO_LATENCY_LIMIT_NS, Random};

use crate::machine::Machine;
use crate::step::{End, Step};
use crate::world::{CPUS, Decision};

/// What kind of idle periods follow each other for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Timers wake the CPU.
    Timers,
    /// Interrupts that no timer announced, while the next timer is far.
    Interrupts,
    /// Timers and interrupts in turn.
    Mixed,
    /// Times at the edges of what governors tell apart.
    Edges,
    /// The state that was just chosen is disabled, or the limit falls below its exit latency.
    Chase,
    /// Drivers refuse entries, and reschedules come before them.
    Refusals,
    /// The tick ends idle periods again and again.
    Ticks,
}

const MODES: [Mode; 7] =
    [Mode::Timers, Mode::Interrupts, Mode::Mixed, Mode::Edges, Mode::Chase, Mode::Refusals, Mode::Ticks];

/// Steps of a mode, at most.
const LONGEST_MODE: u64 = 160;
/// No idle period of a sequence is longer, ns.
const LONGEST_NS: u64 = 2_000_000_000;

/// What stays for a while on a CPU.
#[derive(Clone, Copy)]
struct Setting {
    disabled: u16,
    limit_ns: i64,
    /// The state chosen last.
    chosen: Option<usize>,
}

/// Draws one step after the other.
pub(crate) struct Draw<'m> {
    machine: &'m Machine,
    random: Random,
    mode: Mode,
    left: u64,
    settings: [Setting; CPUS],
    edges: Vec<i64>,
}

impl<'m> Draw<'m> {
    /// The sequence number `n` of a seed.
    pub(crate) fn new(machine: &'m Machine, seed: u64, n: u64) -> Self {
        let setting = Setting { disabled: 0, limit_ns: NO_LATENCY_LIMIT_NS, chosen: None };
        Self {
            machine,
            random: Random::stream(seed, n),
            mode: Mode::Mixed,
            left: 0,
            settings: [setting; CPUS],
            edges: edges(machine),
        }
    }

    /// What the governor decided in the step before.
    pub(crate) fn saw(&mut self, decision: &Decision) {
        let chosen = self.machine.table.index(decision.answer.into());
        self.settings[usize::from(decision.cpu)].chosen = chosen.map(|i| i.get());
    }

    /// The next step, on one of `cpus` CPUs.
    pub(crate) fn step(&mut self, cpus: u64) -> Step {
        if self.left == 0 {
            self.mode = self.one_of(&MODES);
            self.left = 1 + self.random.below(LONGEST_MODE);
            for cpu in 0..CPUS {
                self.settings[cpu].disabled = self.disabled();
                self.settings[cpu].limit_ns = self.limit();
            }
        }
        self.left -= 1;
        let cpu = self.random.below(cpus) as usize;
        if self.random.below(32) == 0 {
            self.settings[cpu].disabled = self.disabled();
        }
        if self.random.below(32) == 0 {
            self.settings[cpu].limit_ns = self.limit();
        }
        if self.mode == Mode::Chase {
            self.chase(cpu);
        }
        let timer_ns = self.timer();
        let end = self.end(timer_ns);
        let again = match self.mode {
            Mode::Ticks => self.random.below(8) != 0,
            Mode::Interrupts | Mode::Edges => self.random.below(2) == 0,
            _ => self.random.below(4) == 0,
        };
        let tick_ns = self.machine.tick_ns();
        Step {
            cpu: cpu as u8,
            timer_ns,
            tick_in_ns: self.random.below(tick_ns + 1).cast_signed(),
            limit_ns: self.settings[cpu].limit_ns,
            disabled: self.settings[cpu].disabled,
            util: if self.random.below(2) == 0 { 0 } else { self.random.below(1025) as u32 },
            iowait: if self.random.below(7) == 0 { self.random.below(4) as u32 } else { 0 },
            random: self.random.draw() as u32,
            end,
            again,
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.random.below(all.len() as u64) as usize]
    }

    /// A mask of disabled states.
    fn disabled(&mut self) -> u16 {
        let states = self.machine.table.len() as u64;
        let all = (1_u16 << states) - 1;
        let one = 1 << self.random.below(states);
        match self.random.below(20) {
            0..10 => 0,
            10..14 => one,
            14..17 => all & !one,
            17 => all,
            _ => self.random.draw() as u16 & all,
        }
    }

    /// A limit of the exit latency, ns.
    fn limit(&mut self) -> i64 {
        let state = self.random.below(self.machine.table.len() as u64) as usize;
        let exit_ns = self.machine.table.states()[state].exit_latency_ns;
        match self.random.below(20) {
            0..11 => NO_LATENCY_LIMIT_NS,
            11..14 => 0,
            14 => self.random.below(1_000_000).cast_signed() / 1000 * 1000,
            15 => exit_ns,
            16 => exit_ns + 1000,
            _ => (exit_ns - 1000).max(0),
        }
    }

    /// Takes away what the governor just chose.
    fn chase(&mut self, cpu: usize) {
        let Some(chosen) = self.settings[cpu].chosen else { return };
        let all = (1_u16 << self.machine.table.len()) - 1;
        match self.random.below(4) {
            0 => self.settings[cpu].disabled = 1 << chosen,
            1 => self.settings[cpu].disabled = all & !(1 << chosen),
            2 => {
                let exit_ns = self.machine.table.states()[chosen].exit_latency_ns;
                self.settings[cpu].limit_ns = (exit_ns - 1000).max(0);
            }
            _ => self.settings[cpu].limit_ns = NO_LATENCY_LIMIT_NS,
        }
    }

    /// Time to the next timer, ns.
    fn timer(&mut self) -> i64 {
        let far = [NEVER_NS, NEVER_NS - 1_000_000_000, 50_000_000, 3_000_000_000];
        match self.mode {
            Mode::Interrupts | Mode::Ticks => self.one_of(&far),
            Mode::Edges => {
                let edges = self.edges.clone();
                self.one_of(&edges)
            }
            _ if self.random.below(8) == 0 => self.one_of(&far),
            _ => self.time().cast_signed(),
        }
    }

    /// A time of any magnitude, ns.
    fn time(&mut self) -> u64 {
        let bits = 8 + self.random.below(24);
        self.random.below(1 << bits)
    }

    fn end(&mut self, timer_ns: i64) -> End {
        let most = timer_ns.max(0).unsigned_abs().min(LONGEST_NS);
        let by_timer = most + self.random.below(3000);
        let by_interrupt = self.random.below(most.min(12_000_000) + 1);
        let (after_ns, tick) = match self.mode {
            Mode::Refusals if self.random.below(3) != 0 => {
                return if self.random.below(3) == 0 { End::Aborted } else { End::Rejected };
            }
            Mode::Timers => (by_timer, self.random.below(8) == 0),
            Mode::Interrupts => (self.time().min(by_interrupt), false),
            Mode::Ticks => (by_timer, true),
            _ if self.random.below(40) == 0 => return End::Rejected,
            // A timer was cancelled, or another CPU took it over.
            _ if self.random.below(8) == 0 => (self.time(), false),
            _ if self.random.below(2) == 0 => (by_timer, self.random.below(8) == 0),
            _ => (by_interrupt, self.random.below(8) == 0),
        };
        End::Woken { after_ns, tick }
    }
}

/// Times at which a governor may change its mind, ns.
fn edges(machine: &Machine) -> Vec<i64> {
    let tick_ns = machine.tick_ns().cast_signed();
    let mut at: Vec<i64> = vec![7_500, 15_000, tick_ns / 2, tick_ns, 2 * tick_ns, 3 * tick_ns];
    for state in machine.table.states() {
        let (exit_ns, residency_ns) = (state.exit_latency_ns, state.target_residency_ns);
        at.extend([exit_ns, residency_ns, exit_ns + residency_ns]);
    }
    assert!(at.len() <= 6 + 3 * MAX_STATES);
    let mut edges: Vec<i64> = at.iter().flat_map(|at| [at - 1, *at, at + 1]).collect();
    edges.extend([NEVER_NS, NEVER_NS - 1, NEVER_NS - 1_000_000, 0, 1, -1, -1000, -5_000_000]);
    edges
}
