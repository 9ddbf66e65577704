// SPDX-License-Identifier: GPL-2.0-only
//! Block devices and sources of requests.

use idlewise_workload::{Arrivals, Completion, Distribution, Random};

use crate::state::Sim;
use idlewise_parts::SimError;
use idlewise_parts::queue::{Irq, QueuedEvent};
use idlewise_parts::timers::Waiter;
use idlewise_parts::watch::{HrtimerOf, SimEvent, Watch};

/// A drawn time, ns.
pub(crate) fn sample(distribution: &Distribution, random: &mut Random) -> u64 {
    distribution.sample_ns(&mut || random.draw())
}

/// So many requests of all sources together are kept at most, since they are not answered.
const MOST_REQUESTS: u32 = 1 << 22;

impl<W: Watch> Sim<'_, W> {
    /// `task`, on `c`, asks a device for something.
    pub(crate) fn submit(&mut self, c: usize, device: u32, task: u32) {
        let d = &mut self.devices.0[device as usize];
        d.asked.push((task, self.now_ns));
        if self.workload.devices[device as usize].depth.is_none_or(|depth| d.busy < depth) {
            self.serve(c, c as u32, device, task);
        } else {
            d.waiting.push_back((task, c as u32));
        }
    }

    /// The device begins with a request of `asker`; `c` is what makes it. A timer that answers is its own, unless the device has
    /// another CPU: no kernel sets one there, and a trace has none.
    fn serve(&mut self, c: usize, asker: u32, device: u32, task: u32) {
        let spec = &self.workload.devices[device as usize];
        let by_timer = spec.completion != Completion::Irq;
        let fixed = self.program.device_cpus[device as usize];
        let cpu = fixed.unwrap_or(if by_timer { c as u32 } else { asker });
        let d = &mut self.devices.0[device as usize];
        d.busy += 1;
        let ns = sample(&spec.latency, &mut d.random);
        let waiter = Waiter::Device { device, task };
        let timers = &mut self.cpus[cpu as usize].timers;
        let at_ns = self.now_ns + ns;
        let set = match spec.completion {
            Completion::Irq => {
                let irq = Irq::Device { device, task };
                self.queue.push(at_ns, QueuedEvent::Interrupt { cpu, irq });
                return;
            }
            Completion::Hrtimer => {
                timers.add(at_ns, 0, waiter);
                SimEvent::TimerSet { timer: HrtimerOf::Device(task), soft_ns: at_ns, hard_ns: at_ns }
            }
            Completion::WheelTimer => {
                let at_ns = timers.add_to_wheel(self.now_ns, ns, self.machine.grid, waiter);
                SimEvent::WheelSet { task, at_ns }
            }
        };
        if fixed.is_none() {
            self.watch.seen(self.now_ns, cpu, set);
        }
        self.set_timer(cpu as usize);
    }

    /// The handler of a device: `task` has its answer, and the device goes on.
    pub(crate) fn device_done(&mut self, c: usize, device: u32, task: u32) {
        let d = &mut self.devices.0[device as usize];
        d.busy = d.busy.saturating_sub(1);
        if let Some(i) = d.asked.iter().position(|(t, _)| *t == task) {
            let (_, asked_ns) = d.asked.swap_remove(i);
            d.latency_ns.push(u32::try_from(self.now_ns - asked_ns).unwrap_or(u32::MAX));
        }
        if let Some((next, cpu)) = d.waiting.pop_front() {
            self.serve(c, cpu, device, next);
        }
        self.wake(task, Some(c), self.called_at_ns(c));
    }

    /// When what the CPU handles came about: it may have had to leave an idle state first.
    pub(crate) fn called_at_ns(&self, c: usize) -> u64 {
        self.cpus[c].stay.map_or(self.now_ns, |s| s.wake_at_ns)
    }

    /// The first requests of all sources are on their way.
    pub(crate) fn begin_arrivals(&mut self) {
        for (number, source) in (0..).zip(&self.workload.sources) {
            let random = &mut self.sources.0[number as usize].random;
            let (times, first, left) = match &source.arrivals {
                Arrivals::Open { gap } => (1, gap, 0),
                Arrivals::Bursts { every, requests, .. } => (1, every, *requests),
                Arrivals::Closed { clients, think } => (*clients, think, 0),
            };
            for _ in 0..times {
                let ns = sample(first, random);
                self.queue.push(ns, QueuedEvent::Arrival { source: number, left });
            }
        }
    }

    /// A request arrives: its interrupt is raised, and the next one of an open loop is on its way.
    pub(crate) fn arrival(&mut self, source: u32, left: u32) {
        if self.requests >= MOST_REQUESTS {
            self.failure = Some(SimError::TooManyRequests {
                workload: self.workload.name.clone(),
                source_name: self.workload.sources[source as usize].name.clone(),
                waiting: self.requests,
                at_ns: self.now_ns,
            });
            return;
        }
        self.requests += 1;
        let s = &mut self.sources.0[source as usize];
        s.coming.push_back(self.now_ns);
        let mut again = |after: &Distribution, left| {
            // Time passes between any two.
            let ns = sample(after, &mut s.random).max(1);
            self.queue.push(self.now_ns + ns, QueuedEvent::Arrival { source, left });
        };
        match &self.workload.sources[source as usize].arrivals {
            Arrivals::Open { gap } => again(gap, 0),
            // The first of a burst calls the next burst.
            Arrivals::Bursts { every, requests, gap } => {
                if left == *requests {
                    again(every, *requests);
                }
                if left > 1 {
                    again(gap, left - 1);
                }
            }
            Arrivals::Closed { .. } => {}
        }
        let s = &self.sources.0[source as usize];
        let of_task = || s.takers.front().map_or(0, |t| self.tasks[*t].cpu);
        let cpu = self.program.source_cpus[source as usize].unwrap_or_else(of_task);
        self.interrupt(cpu as usize, Irq::Request { source });
    }

    /// The handler of a source: the request waits for a task, or one that waited takes it.
    pub(crate) fn request_came(&mut self, c: usize, source: u32) {
        let s = &mut self.sources.0[source as usize];
        let Some(came_ns) = s.coming.pop_front() else { return };
        if let Some(task) = s.takers.pop_front() {
            self.taken(task, source, came_ns);
            self.wake(task, Some(c), self.called_at_ns(c));
        } else if s.is_taken {
            s.waiting.push_back(came_ns);
        } else {
            self.requests -= 1;
        }
        if let Some(queue) = self.program.source_calls[source as usize] {
            self.call_all(c, queue);
        }
    }

    /// Whether a request was there for the task to take; else it waits for one.
    pub(crate) fn take_request(&mut self, task: u32, source: u32) -> bool {
        let s = &mut self.sources.0[source as usize];
        match s.waiting.pop_front() {
            Some(came_ns) => {
                self.taken(task, source, came_ns);
                true
            }
            None => {
                s.takers.push_back(task);
                false
            }
        }
    }

    /// The task has a request, and keeps it if it is ever answered.
    fn taken(&mut self, task: u32, source: u32, came_ns: u64) {
        if self.sources.0[source as usize].is_answered {
            self.tasks[task].requests.push((source, came_ns));
        } else {
            self.requests -= 1;
        }
    }

    /// The task's oldest request is answered; in a closed loop its client thinks and asks again.
    pub(crate) fn answer(&mut self, task: u32, source: u32) {
        let requests = &mut self.tasks[task].requests;
        let Some(i) = requests.iter().position(|(of, _)| *of == source) else { return };
        let (_, came_ns) = requests.remove(i);
        self.requests -= 1;
        let s = &mut self.sources.0[source as usize];
        s.latency_ns.push(u32::try_from(self.now_ns - came_ns).unwrap_or(u32::MAX));
        if let Arrivals::Closed { think, .. } = &self.workload.sources[source as usize].arrivals {
            let ns = sample(think, &mut s.random);
            self.queue.push(self.now_ns + ns, QueuedEvent::Arrival { source, left: 0 });
        }
    }
}
