// SPDX-License-Identifier: GPL-2.0-only
//! Do the books of PELT stay possible whatever happens, and are they the sum of their parts?

use crate::common;

use common::Chance;
use idlewise_signal::pelt::{Config, HalfLife, Leave, Next, Pelt, Rq, Speed, Task};

const CPUS: usize = 3;
const TASKS: usize = 12;

/// Some CPUs and tasks, and who is where.
struct World {
    pelt: Pelt,
    cpus: Vec<Rq>,
    tasks: Vec<Task>,
    home: Vec<usize>,
    /// The task that each CPU runs.
    runs: Vec<Option<usize>>,
    now_ns: u64,
}

impl World {
    fn new(config: Config) -> Self {
        let pelt = Pelt::new(config).unwrap();
        let cpus: Vec<Rq> = [1024, 500, 160].map(Rq::new).to_vec();
        let tasks = (0..TASKS).map(|t| Task::new([1024, 335, 15][t % 3])).collect();
        Self { pelt, cpus, tasks, home: vec![0; TASKS], runs: vec![None; CPUS], now_ns: 1 }
    }

    fn switch(&mut self, cpu: usize, next: Option<usize>) {
        let mut prev = self.runs[cpu].map(|t| (t, self.tasks[t]));
        let prev_task = prev.as_mut().map(|(_, task)| task);
        match next {
            Some(n) if self.runs[cpu] != next => {
                let mut task = self.tasks[n];
                self.pelt.switch(&mut self.cpus[cpu], prev_task, Next::Fair(&mut task));
                self.tasks[n] = task;
            }
            Some(_) => return,
            None => {
                self.pelt.switch(&mut self.cpus[cpu], prev_task, Next::Idle);
            }
        }
        if let Some((t, task)) = prev {
            self.tasks[t] = task;
        }
        self.runs[cpu] = next;
    }

    fn queued(&self, cpu: usize) -> Vec<usize> {
        (0..TASKS).filter(|t| self.home[*t] == cpu && self.tasks[*t].is_queued()).collect()
    }

    fn step(&mut self, chance: &mut Chance) {
        self.now_ns += chance.below(3_000_000);
        let cpu = chance.below(CPUS as u64) as usize;
        let task = chance.below(TASKS as u64) as usize;
        let irq_ns = if chance.below(4) == 0 { chance.below(100_000) } else { 0 };
        let home = self.home[task];
        for at in [cpu, home] {
            self.pelt.pass(&mut self.cpus[at], self.now_ns, if at == cpu { irq_ns } else { 0 }, 0);
        }
        match chance.below(8) {
            0 | 1 if !self.tasks[task].is_queued() => {
                if home != cpu {
                    self.pelt.remove(&mut self.cpus[home], &mut self.tasks[task], self.now_ns);
                    self.home[task] = cpu;
                }
                if chance.below(16) == 0 && !self.tasks[task].is_attached() {
                    self.tasks[task] = Task::new(self.tasks[task].weight());
                    self.pelt.start(&self.cpus[cpu], &mut self.tasks[task]);
                }
                self.pelt.enqueue(&mut self.cpus[cpu], &mut self.tasks[task]);
                if self.runs[cpu].is_none() {
                    self.switch(cpu, Some(task));
                }
            }
            2 | 3 => {
                if let Some(t) = self.runs[cpu] {
                    self.pelt.dequeue(&mut self.cpus[cpu], &mut self.tasks[t], Leave::Sleeps);
                    let next = self.queued(cpu).first().copied();
                    self.switch(cpu, next);
                }
            }
            4 if self.tasks[task].is_queued() && !self.tasks[task].is_running() && home != cpu => {
                self.pelt.dequeue(&mut self.cpus[home], &mut self.tasks[task], Leave::Migrates);
                self.home[task] = cpu;
                self.pelt.enqueue(&mut self.cpus[cpu], &mut self.tasks[task]);
                if self.runs[cpu].is_none() {
                    self.switch(cpu, Some(task));
                }
            }
            5 => {
                self.pelt.age(&mut self.cpus[cpu]);
            }
            6 => {
                let speed = Speed { frequency: 256 * (1 + chance.small(4)), ..self.cpus[cpu].speed() };
                self.cpus[cpu].set_speed(speed);
            }
            _ => {
                let curr = self.runs[cpu].map(|t| &mut self.tasks[t]);
                self.pelt.tick(&mut self.cpus[cpu], curr);
            }
        }
    }

    fn check(&self) {
        let most = u64::from(self.pelt.config().sum_max);
        for (number, rq) in self.cpus.iter().enumerate() {
            let queued = self.queued(number);
            assert_eq!(rq.runnable_tasks() as usize, queued.len());
            let weight: u64 = queued.iter().map(|t| u64::from(self.tasks[*t].weight())).sum();
            assert_eq!(rq.weight(), weight);
            let estimate: u32 = queued.iter().map(|t| self.pelt.estimate(&self.tasks[*t])).sum();
            // A task's estimate loses its flag while it is queued, and is else what it was.
            assert_eq!(rq.estimate(), estimate);
            for avg in [rq.fair(), rq.irq()] {
                assert!(avg.frac < 1024 && avg.last_ns % 1024 == 0, "{avg:?}");
            }
            assert_eq!(
                (rq.fair().last_ns >> 10) & 1023,
                u64::from(rq.fair().frac),
                "the phase of all queues is the same"
            );
            assert!(rq.irq().util <= 1024 && u64::from(rq.irq().util_sum) <= most << 10);
            assert!(rq.clock().task_ns <= rq.clock().wall_ns && rq.clock().pelt_ns <= rq.clock().fast_ns);
            assert!(self.pelt.cpu_util(rq) <= u64::from(rq.speed().capacity));
            assert!(self.pelt.busy(rq) <= u64::from(rq.speed().capacity));
        }
        for task in &self.tasks {
            let avg = task.avg();
            assert!(avg.util <= 1024 && u64::from(avg.util_sum) <= most << 10, "{avg:?}");
            assert!(avg.load_sum <= most && avg.load <= u64::from(task.weight()), "{avg:?}");
            assert!(avg.runnable >= avg.util || !self.pelt.config().runnable, "{avg:?}");
        }
    }

    /// All that sleeps in place or is queued, aged to the queue's time, against the queue.
    fn sums(&mut self, cpu: usize) -> (u64, u64) {
        self.pelt.pass(&mut self.cpus[cpu], self.now_ns, 0, 0);
        let rq = &mut self.cpus[cpu];
        self.pelt.tick(rq, self.runs[cpu].map(|t| &mut self.tasks[t]));
        self.pelt.age(rq);
        let mut parts = 0;
        for t in (0..TASKS).filter(|t| self.home[*t] == cpu) {
            let mut task = self.tasks[t];
            if task.is_attached() {
                if task.is_queued() && !task.is_running() {
                    self.pelt.dequeue(&mut rq.clone(), &mut task, Leave::Returns);
                }
                self.pelt.sync(rq, &mut task);
                parts += task.avg().util;
            }
        }
        (parts, self.cpus[cpu].fair().util)
    }
}

fn play(config: Config, seed: u64) -> World {
    let (mut world, mut chance) = (World::new(config), Chance::new(seed));
    for _ in 0..20_000 {
        world.step(&mut chance);
        world.check();
    }
    world
}

#[test]
fn books_stay_possible_under_random_schedules() {
    let new = Config::kernel(6, 12).unwrap();
    let mut seed = 1;
    for config in [
        new,
        Config::kernel(6, 1).unwrap(),
        Config::kernel(5, 4).unwrap(),
        new.with_half_life(HalfLife::Ms16),
        new.with_half_life(HalfLife::Ms8),
        new.with_clock_shift(2),
    ] {
        seed += 1;
        play(config, seed);
    }
}

#[test]
fn a_queue_is_the_sum_of_its_tasks_but_for_rounding() {
    for seed in 0..10 {
        let mut world = play(Config::kernel(6, 12).unwrap(), 100 + seed);
        for cpu in 0..CPUS {
            let (parts, whole) = world.sums(cpu);
            assert!(parts.abs_diff(whole) <= 40, "seed {seed}, CPU {cpu}: {parts} in a queue of {whole}");
        }
    }
}

#[test]
fn the_same_schedule_makes_the_same_books() {
    let config = Config::kernel(6, 12).unwrap();
    let (a, b) = (play(config, 7), play(config, 7));
    assert!(a.cpus == b.cpus && a.tasks == b.tasks);
}
