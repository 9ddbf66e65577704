// SPDX-License-Identifier: GPL-2.0-only
//! Does WALT keep its books whatever happens? A scheduler that acts at random tells it, and a plain sum of the time
//! that each task ran is compared; then anything at all is called, in any order.

use crate::common;

use common::{Chance, GHZ, cpu, task};
use idlewise_signal::walt::{Config, CpuSpec, Policy, Scaling, Walt};

const CPUS: u32 = 4;
const TASKS: usize = 12;

fn specs() -> Vec<CpuSpec> {
    let kinds = [(160, 1_800_000), (160, 1_800_000), (498, 2_250_000), (1024, 2_800_000)];
    kinds.map(|(capacity, max_freq_khz)| CpuSpec { capacity, max_freq_khz }).to_vec()
}

fn config(chance: &mut Chance) -> Config {
    let mut config = if chance.below(4) == 0 { Config::rfc() } else { Config::android() };
    config.window_ns = [10_000_000, 16_000_000, 20_000_000, 100_000_000][chance.small(4) as usize];
    config.policy =
        [Policy::Recent, Policy::Max, Policy::MaxRecentAvg, Policy::Avg][chance.small(4) as usize];
    config.scaling = [Scaling::Frequency, Scaling::Efficiency, Scaling::Capacity][chance.small(3) as usize];
    config
}

/// A scheduler that acts at random, but never impossibly.
struct Machine {
    walt: Walt,
    tasks: Vec<u32>,
    now_ns: u64,
}

impl Machine {
    fn new(config: Config, specs: &[CpuSpec]) -> Self {
        let mut walt = Walt::new(config, specs).unwrap();
        walt.start(1).unwrap();
        let tasks = (0..TASKS).map(|_| walt.add_task(0, None).unwrap()).collect();
        Self { walt, tasks, now_ns: 1 }
    }

    fn runs(&self, t: u32) -> bool {
        self.walt.cpus().iter().any(|c| c.curr == t)
    }

    fn step(&mut self, chance: &mut Chance, frequencies: bool) {
        // Mostly short against a window, now and then many of them.
        let longest = [400_000_000, 30_000_000, 3_000_000, 50_000][(1 + chance.below(64)).ilog(3) as usize];
        self.now_ns += chance.below(longest);
        let now = self.now_ns;
        let c = chance.small(CPUS);
        let t = self.tasks[chance.small(TASKS as u32) as usize];
        let queued = self.walt.task(t).unwrap().queued;
        match chance.below(12) {
            0..=2 => self.walt.tick(c, now).unwrap(),
            3..=5 if !queued => self.walt.wake(t, c, now).unwrap(),
            6 if queued && !self.runs(t) => self.walt.migrate(t, c, now).unwrap(),
            7 | 8 => {
                let waits = |w: &Walt, t: &u32| w.task(*t).is_some_and(|p| p.queued && p.cpu == c);
                let next = self.tasks.iter().copied().find(|t| waits(&self.walt, t) && !self.runs(*t));
                let sleeps = chance.below(2) == 0;
                self.walt.switch(c, next.unwrap_or(c), sleeps || next.is_none(), now).unwrap();
            }
            9 => self.walt.switch_to_idle(c, true, now).unwrap(),
            10 if frequencies => {
                let most = self.walt.cpus()[c as usize].max_freq_khz;
                self.walt.set_frequency(c, most / 8 * (1 + chance.small(8)), now).unwrap();
            }
            _ => self.walt.tick(c, now).unwrap(),
        }
    }

    fn bring_up(&mut self) {
        for c in 0..CPUS {
            self.walt.tick(c, self.now_ns).unwrap();
        }
    }
}

#[test]
fn books_are_kept_whatever_a_scheduler_does() {
    for seed in 0..60 {
        let mut chance = Chance::new(seed);
        let config = config(&mut chance);
        let mut machine = Machine::new(config, &specs());
        let window = u64::from(config.window_ns);
        for step in 0..2_000 {
            machine.step(&mut chance, true);
            let walt = &machine.walt;
            for c in 0..CPUS {
                let account = cpu(walt, c as usize);
                let at = format!("seed {seed}, step {step}, CPU {c}: {account:?}");
                let queue = machine.tasks.iter().map(|t| task(walt, *t)).filter(|p| p.queued && p.cpu == c);
                let demand: u64 = queue.map(|p| u64::from(p.demand_ns)).sum();
                assert_eq!(account.demand_sum_ns, demand, "{at}");
                assert!(machine.now_ns >= account.window_start_ns, "{at}");
                assert_eq!((account.window_start_ns - 1) % window, 0, "{at}");
                assert!(walt.frequency_util(c).unwrap() <= account.capacity, "{at}");
                assert!(walt.placement_util(c).unwrap() <= account.capacity, "{at}");
            }
            for t in &machine.tasks {
                let p = task(walt, *t);
                let largest =
                    [p.sum_ns, p.demand_ns, p.curr_ns, p.prev_ns].into_iter().chain(p.history_ns).max();
                assert!(u64::from(largest.unwrap()) <= window, "seed {seed}, step {step}, task {t}: {p:?}");
                assert!(walt.task_util(*t).unwrap() <= 1024);
            }
        }
    }
}

/// Tasks stay where they are, so what a CPU was busy is what its tasks ran.
#[test]
fn busy_time_of_a_cpu_is_the_sum_of_its_tasks_shares() {
    for seed in 0..40 {
        let mut chance = Chance::new(seed);
        let full = CpuSpec { capacity: 1024, max_freq_khz: GHZ };
        let mut machine = Machine::new(Config::android(), &[full; CPUS as usize]);
        let mut compared = 0;
        for step in 0..3_000 {
            machine.now_ns += chance.below(4_000_000);
            let now = machine.now_ns;
            let which = chance.small(TASKS as u32);
            let (t, c) = (machine.tasks[which as usize], which % CPUS);
            let ours = machine.walt.cpus()[c as usize].curr == t;
            match chance.below(4) {
                0 if !ours => {
                    machine.walt.wake(t, c, now).unwrap();
                    machine.walt.switch(c, t, true, now).unwrap();
                }
                1 => machine.walt.switch_to_idle(c, true, now).unwrap(),
                _ => machine.walt.tick(c, now).unwrap(),
            }
            machine.bring_up();
            for c in 0..CPUS {
                let account = cpu(&machine.walt, c as usize);
                // A task that sleeps since the window before keeps its shares under their old names.
                let (mut prev, mut curr) = (0, 0);
                for t in machine.tasks.iter().skip(c as usize).step_by(CPUS as usize) {
                    let p = task(&machine.walt, *t);
                    let behind = account.window_start_ns.saturating_sub(p.mark_ns).div_ceil(20_000_000);
                    match if p.seen { behind } else { 9 } {
                        0 => (prev, curr) = (prev + p.prev_ns, curr + p.curr_ns),
                        1 => prev += p.curr_ns,
                        _ => (),
                    }
                }
                let sums = (account.prev_sum_ns, account.curr_sum_ns);
                assert_eq!(sums, (u64::from(prev), u64::from(curr)), "seed {seed}, step {step}, CPU {c}");
                compared += usize::from(sums.0 > 0 && sums.1 > 0);
            }
        }
        assert!(compared > 500, "seed {seed}: {compared}");
    }
}

/// Time that passes is either busy or idle: over whole windows, all that ran is found in their accounts.
#[test]
fn no_time_is_lost_or_counted_twice() {
    for seed in 0..40 {
        let mut chance = Chance::new(seed);
        let full = CpuSpec { capacity: 1024, max_freq_khz: GHZ };
        let mut machine = Machine::new(Config { window_ns: 10_000_000, ..Config::android() }, &[full]);
        let t = machine.tasks[0];
        let (mut ran, mut counted, mut window) = (0, 0, 1);
        machine.now_ns = 1;
        for _ in 0..4_000 {
            let since = machine.now_ns;
            // Never a whole window at once, so that every one is seen to close.
            machine.now_ns += chance.below(9_000_000);
            let runs = machine.walt.cpus()[0].curr == t;
            ran += if runs { machine.now_ns - since } else { 0 };
            match (chance.below(3), runs) {
                (0, true) => machine.walt.switch_to_idle(0, true, machine.now_ns).unwrap(),
                (0, false) => {
                    machine.walt.wake(t, 0, machine.now_ns).unwrap();
                    machine.walt.switch(0, t, true, machine.now_ns).unwrap();
                }
                _ => machine.walt.tick(0, machine.now_ns).unwrap(),
            }
            let account = cpu(&machine.walt, 0);
            if account.window_start_ns != window {
                window = account.window_start_ns;
                counted += account.prev_sum_ns;
            }
            assert_eq!(counted + account.curr_sum_ns, ran, "seed {seed} at {} ns", machine.now_ns);
        }
        assert!(ran > 1_000_000_000);
    }
}

#[test]
fn the_same_events_give_the_same_books() {
    let play = |seed| {
        let mut chance = Chance::new(seed);
        let config = config(&mut chance);
        let mut machine = Machine::new(config, &specs());
        (0..5_000).for_each(|_| machine.step(&mut chance, true));
        let tasks: Vec<_> = machine.tasks.iter().map(|t| task(&machine.walt, *t)).collect();
        (machine.walt.cpus().to_vec(), tasks)
    };
    assert_eq!(play(7), play(7));
    assert_ne!(play(7), play(8));
}

/// Any call with any argument, also times that jump and numbers of nothing.
#[test]
fn nothing_that_is_told_breaks_it() {
    for seed in 0..200 {
        let mut chance = Chance::new(seed);
        let mut config = config(&mut chance);
        config.freq_account_wait_time = chance.below(2) == 0;
        config.account_wait_time = chance.below(2) == 0;
        config.io_is_busy = chance.below(2) == 0;
        let specs: Vec<CpuSpec> = (0..=chance.below(4))
            .map(|_| CpuSpec { capacity: chance.any() as u32, max_freq_khz: chance.any() as u32 })
            .collect();
        let mut walt = Walt::new(config, &specs).unwrap();
        let mut refused = 0;
        for _ in 0..2_000 {
            let time = match chance.below(8) {
                0 => chance.any(),
                1 => u64::MAX,
                2 => 0,
                _ => chance.below(1 << 36),
            };
            let number = |chance: &mut Chance| match chance.below(50) {
                0 => chance.any() as u32,
                _ => chance.small(6),
            };
            let (a, b) = (number(&mut chance), number(&mut chance));
            let flag = chance.below(2) == 0;
            let done = match chance.below(17) {
                0 => walt.start(time),
                1 => walt.add_task(a, flag.then_some(b)).map(drop),
                2 => walt.tick(a, time),
                3 => walt.wake(a, b, time),
                4 => walt.waking(a, time),
                5 => walt.migrate(a, b, time),
                6 => walt.enqueue(a),
                7..=9 => walt.switch(a, b, flag, time),
                10 => walt.irq(a, time, chance.any()),
                11 => walt.set_frequency(a, chance.any() as u32, time),
                12 => walt.set_io_wait(a, flag),
                13 => walt.exit(a),
                14 => walt.forget(a),
                15 => walt.add_irq_load(a, chance.any(), chance.any()),
                _ => walt.switch_to_idle(a, flag, time),
            };
            refused += u32::from(done.is_err());
            let _ =
                (walt.frequency_util(a), walt.placement_util(b), walt.task_util(a), walt.irq_load(a, time));
            for c in walt.cpus() {
                assert!(c.capacity_curr <= c.capacity && c.capacity <= 1024);
                assert!(walt.task(c.curr).is_some());
            }
        }
        assert!((50..1_950).contains(&refused), "seed {seed}: {refused} refused");
    }
}

#[test]
fn time_that_runs_backwards_has_not_passed() {
    let mut machine = Machine::new(Config::android(), &specs());
    let t = machine.tasks[0];
    machine.walt.wake(t, 3, 30_000_000).unwrap();
    machine.walt.switch(3, t, false, 30_000_000).unwrap();
    machine.walt.tick(3, 35_000_000).unwrap();
    let before = machine.walt.cpus()[3];
    machine.walt.tick(3, 1).unwrap();
    machine.walt.tick(3, 34_000_000).unwrap();
    assert_eq!(machine.walt.cpus()[3], before);
    assert_eq!(before.curr_sum_ns, 5_000_000);
}
