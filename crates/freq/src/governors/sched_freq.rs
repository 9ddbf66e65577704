// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock};
use crate::governor::{Answer, Governor, GovernorInfo};
use crate::params::{Default, Params, count, percent, us};
use crate::{Event, Relation, Signals};

pub(super) const V3_18: GovernorInfo = GovernorInfo {
    id: "sched-freq",
    summary: "Android's before schedutil: classes publish requests, a thread with throttles sets the clock",
    kernel: "Android 3.18",
    fed_by: "util: fair class or WALT; rt_util, dl_bandwidth",
    evaluates: "wake-up, sleep, balancing; tick if the clock is too low",
    notes: "The scheduler's hook does not call it. Wakeups, sleeps and balancing publish what each class asks of the CPU, \
            on the CPU's own scale; when the last task goes to sleep it publishes 0 and does not evaluate, so that the \
            clock falls only when another CPU or task evaluates. The tick evaluates only while the clock is below the \
            highest and no longer enough; with WALT the margin counts twice, 1.56 a window. In the tick 3.18 asks too \
            little of little CPUs, by their capacity; 4.4 does not. A slow driver has a thread that sleeps until its \
            throttles end, and nothing wakes it before; its timer counts as one of the first CPU's.",
    follows_scheduler: true,
    params: &[
        us(
            "up_throttle_us",
            Default::Derived("latency; 500 if unknown"),
            "after a switch, least time before a higher clock",
        ),
        us("down_throttle_us", Default::Number(50_000), "after a switch, least time before a lower clock"),
        count("capacity_margin", 1024, 10_240, 1280, "headroom, of 1024"),
        percent(
            "boost",
            0,
            100,
            0,
            "added to the utilisation: this percentage of the difference between it and 1024",
        ),
    ],
    contradiction: None,
    new: |params, clock| Box::new(SchedFreq::new(false, params, clock)),
};

pub(super) const V4_4: GovernorInfo = GovernorInfo {
    id: "sched-freq-4.4",
    summary: "sched-freq of 4.4: with WALT the largest class counts, ticks ask on the CPU's own scale",
    kernel: "Android 4.4",
    notes: "",
    new: |params, clock| Box::new(SchedFreq::new(true, params, clock)),
    ..V3_18
};

const SCALE: u64 = 1024;

/// Android's governor before schedutil, `sched`: each class publishes what it wants of its CPU, a thread sets the clock
/// (signal-behaviour.md C6).
#[derive(Clone, Debug)]
struct SchedFreq {
    /// As in 4.4, not 3.18.
    later: bool,
    margin: u64,
    boost_pct: u64,
    up_ns: u64,
    down_ns: u64,
    cpus: Vec<PerCpu>,
    requested: Option<u32>,
    thread: Thread,
}

/// What a CPU's classes ask for, 0 to 1024 of the CPU's own highest clock.
#[derive(Clone, Debug, Default)]
struct PerCpu {
    cfs: u64,
    rt: u64,
    dl: u64,
    total: u64,
}

/// The thread that calls a slow driver, with what it keeps between two calls.
#[derive(Clone, Debug, Default)]
struct Thread {
    set: Option<u32>,
    up_at: u64,
    down_at: u64,
    /// A throttle is being slept off; nothing wakes the thread before.
    asleep_until: Option<u64>,
}

impl SchedFreq {
    fn new(later: bool, params: &Params, clock: &Clock) -> Self {
        let latency = match clock.driver.transition_latency_ns {
            0 => 500_000,
            ns => ns,
        };
        Self {
            later,
            margin: params.number("capacity_margin"),
            boost_pct: params.number("boost"),
            up_ns: params.us_if_known("up_throttle_us").unwrap_or(latency),
            down_ns: params.us("down_throttle_us"),
            cpus: vec![PerCpu::default(); clock.cpus.len()],
            requested: None,
            thread: Thread::default(),
        }
    }

    /// Only a clock that is no longer enough is looked at in the tick.
    fn tick(
        &mut self,
        clock: &Clock,
        at: usize,
        (util, boosted): (u64, u64),
        capacity: u64,
        signals: &dyn Signals,
    ) -> bool {
        let scale = (u64::from(clock.cur) << 10) / u64::from(clock.table.highest()).max(1);
        let now = capacity.saturating_mul(scale) >> 10;
        let Some(this) = self.cpus.get(at) else { return false };
        if now >= capacity {
            return false;
        }
        let (wanted, short) = if signals.windowed() {
            let wanted = util.saturating_mul(self.margin) >> 10;
            (wanted, wanted > now)
        } else {
            let wanted =
                (boosted.saturating_add(this.rt).saturating_mul(self.margin) >> 10).saturating_add(this.dl);
            (boosted, wanted >= now)
        };
        // 3.18 publishes what is of the machine's scale as if it were of the CPU's own: a quirk, too little on little CPUs.
        let wanted = if self.later { own_scale(wanted, capacity) } else { wanted };
        short && self.publish_cfs(at, wanted, signals)
    }

    fn publish_cfs(&mut self, at: usize, value: u64, signals: &dyn Signals) -> bool {
        // WALT counts all classes already; 4.4 takes the largest instead.
        let less = signals.windowed() && !self.later;
        self.publish(at, signals, |c| {
            let value = if less { value.saturating_sub(c.rt.saturating_add(c.dl)) } else { value };
            std::mem::replace(&mut c.cfs, value) != value
        })
    }

    /// Whether the CPU's total became another.
    fn publish(&mut self, at: usize, signals: &dyn Signals, set: impl FnOnce(&mut PerCpu) -> bool) -> bool {
        let (margin, largest) = (self.margin, self.later && signals.windowed());
        let Some(this) = self.cpus.get_mut(at) else { return false };
        if !set(this) {
            return false;
        }
        let total = if largest {
            this.cfs.max(this.rt).max(this.dl).saturating_mul(margin) >> 10
        } else {
            (this.cfs.saturating_add(this.rt).saturating_mul(margin) >> 10).saturating_add(this.dl)
        };
        std::mem::replace(&mut this.total, total) != total
    }

    fn request(&mut self, clock: &mut Clock, t_ns: u64) -> Answer {
        let total = self.cpus.iter().map(|c| c.total).max().unwrap_or(0);
        let highest = if self.later { clock.table.highest() } else { clock.limits.max_khz };
        let raw = total.saturating_mul(u64::from(highest)) >> 10;
        let khz = clock.resolve(u32::try_from(raw).unwrap_or(u32::MAX), Relation::Low);
        if self.requested == Some(khz) {
            return Answer::default();
        }
        self.requested = Some(khz);
        if clock.driver.fast_switch { clock.switch(t_ns, khz).into() } else { self.run_thread(clock, t_ns) }
    }

    /// As far as the thread gets now.
    fn run_thread(&mut self, clock: &mut Clock, t_ns: u64) -> Answer {
        let woke = self.thread.asleep_until.is_some_and(|until| t_ns >= until);
        if woke {
            self.thread.asleep_until = None;
        }
        let nothing = Answer { change: Change::None, timers: woke };
        let Some(khz) = self.requested.filter(|khz| self.thread.set != Some(*khz)) else { return nothing };
        if clock.busy() || self.thread.asleep_until.is_some() || clock.driver.fast_switch {
            return nothing;
        }
        let gate = if khz < clock.cur { self.thread.down_at } else { self.thread.up_at };
        if t_ns <= gate {
            self.thread.asleep_until = Some(gate.saturating_add(1));
            return Answer { change: Change::None, timers: true };
        }
        self.thread.set = Some(khz);
        let change = clock.drive(t_ns, khz, Relation::Low);
        if change == Change::None {
            self.throttle(t_ns);
        }
        Answer { change, timers: woke }
    }

    fn throttle(&mut self, t_ns: u64) {
        self.thread.up_at = t_ns.saturating_add(self.up_ns);
        self.thread.down_at = t_ns.saturating_add(self.down_ns);
    }
}

impl Governor for SchedFreq {
    fn event(
        &mut self,
        clock: &mut Clock,
        at: usize,
        t_ns: u64,
        event: Event,
        signals: &dyn Signals,
    ) -> Answer {
        let Some(&cpu) = clock.cpus.get(at) else { return Answer::default() };
        let capacity = signals.capacity(cpu).max(1);
        let util = signals.util(cpu).min(capacity);
        let boosted = util.saturating_add(self.boost_pct * SCALE.saturating_sub(util) / 100);
        let evaluate = match event {
            Event::Wake | Event::Sleep | Event::Balance => {
                self.publish_cfs(at, own_scale(boosted, capacity), signals)
            }
            Event::LastSleep => {
                // The clock falls only when somebody else evaluates.
                self.publish_cfs(at, 0, signals);
                false
            }
            Event::Tick => self.tick(clock, at, (util, boosted), capacity, signals),
            Event::Rt => {
                let rt = own_scale(signals.rt_util(cpu), capacity);
                self.publish(at, signals, |c| std::mem::replace(&mut c.rt, rt) != rt)
            }
            Event::Dl => {
                let dl = signals.dl_bandwidth(cpu).min(SCALE);
                self.publish(at, signals, |c| std::mem::replace(&mut c.dl, dl) != dl)
            }
        };
        if evaluate { self.request(clock, t_ns) } else { Answer::default() }
    }

    /// When the thread wakes up: the first CPU's timer.
    fn next_timer(&self, at: usize, _idle: bool) -> Option<u64> {
        self.thread.asleep_until.filter(|_| at == 0)
    }

    fn timer(&mut self, clock: &mut Clock, _at: usize, t_ns: u64, _: &dyn Signals) -> Answer {
        self.run_thread(clock, t_ns)
    }

    fn transition_done(&mut self, clock: &mut Clock, t_ns: u64, _: &dyn Signals) -> Answer {
        let change = clock.done(t_ns);
        self.throttle(t_ns);
        if change == Change::None { self.run_thread(clock, t_ns) } else { change.into() }
    }

    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        match self.requested {
            Some(khz) => clock.drive(t_ns, khz, Relation::Low),
            None => clock.apply_limits(t_ns),
        }
    }
}

fn own_scale(util: u64, capacity: u64) -> u64 {
    (util.saturating_mul(SCALE) / capacity).min(SCALE)
}
