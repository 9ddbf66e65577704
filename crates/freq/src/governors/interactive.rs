// SPDX-License-Identifier: GPL-2.0-only
use crate::clock::{Change, Clock, passed};
use crate::governor::{Answer, Governor, GovernorInfo};
use crate::params::{Default, HOUR_US, Kind, ParamInfo, Params, khz, percent, period, switch, us};
use crate::sampler::{IO_IS_BUSY, idle_us};
use crate::{Relation, Signals, Steps};

pub(super) const INFO: GovernorInfo = GovernorInfo {
    id: "interactive",
    summary: "Android's former default: timers on each CPU, fast up to a clock for interaction, slowly \
        beyond",
    kernel: "Android 3.x to 4.9",
    fed_by: "idle_ns, iowait_ns",
    evaluates: "a timer on each CPU while it is awake; at the end of idling if overdue",
    notes: "The only one with timers on the CPUs. They wait while a CPU idles; above the lowest clock a second one, \
            `timer_slack` later, wakes it up. `target_loads` and `above_hispeed_delay` may be steps: \
            `85 1500000:90 1800000:99` is 85 below 1.5 GHz, 90 from there, 99 from 1.8 GHz. Timers are exact; a kernel's \
            fire with the next tick.",
    follows_scheduler: false,
    params: &[
        period("timer_rate", Default::Number(20_000), "from one sample to the next"),
        us(
            "timer_slack",
            Default::Number(80_000),
            "how much later a timer wakes an idle CPU up for a sample, above the lowest clock",
        ),
        ParamInfo {
            name: "target_loads",
            kind: Kind::Steps { min: 1, max: 100 },
            default: Default::Number(90),
            unit: "%",
            help: "the target load; may differ from clock to clock",
        },
        percent("go_hispeed_load", 1, 100, 99, "a load of this asks for hispeed_freq"),
        khz(
            "hispeed_freq",
            Default::Derived("the highest clock allowed at the start"),
            "the clock for interaction",
        ),
        ParamInfo {
            name: "above_hispeed_delay",
            kind: Kind::Steps { min: 0, max: HOUR_US },
            default: Default::Number(20_000),
            unit: "us",
            help: "how long to stay at hispeed_freq or above before going further up; may differ from clock to clock",
        },
        us("min_sample_time", Default::Number(80_000), "how long a clock stays before it falls"),
        us("boostpulse_duration", Default::Number(80_000), "how long a touch keeps hispeed_freq"),
        switch("boost", 0, "1: hispeed_freq or above always"),
        IO_IS_BUSY,
    ],
    contradiction: None,
    new: |params, clock| Box::new(Interactive::new(params, clock)),
};

/// Android's governor until schedutil: each CPU looks at itself every 20 ms while it is awake and asks for a clock at which
/// it would be busy to 90 %; the policy takes the highest (signal-behaviour.md C9).
#[derive(Clone, Debug)]
struct Interactive {
    rate_ns: u64,
    slack_ns: u64,
    target_loads: Steps,
    go_hispeed_load: u64,
    hispeed_khz: Option<u32>,
    above_hispeed_delay_us: Steps,
    min_sample_ns: u64,
    boosted: bool,
    pulse_ns: u64,
    pulse_until: u64,
    io_is_busy: bool,
    /// When the policy's clock last was found to be needed, when it last was at hispeed as far as the thread saw.
    floor_time: u64,
    hispeed_time: u64,
    cpus: Vec<PerCpu>,
}

#[derive(Clone, Debug, Default)]
struct PerCpu {
    /// When the CPU looks at itself next; waits while it idles.
    timer: u64,
    /// When an idle CPU is woken up to look.
    slack: Option<u64>,
    /// What the last update saw, us.
    at_us: u64,
    idle_us: u64,
    /// Since when `active` is counted, us.
    since_us: u64,
    /// Time not idle, each piece times its clock, us x kHz.
    active: u64,
    target: u32,
    floor: u32,
    floor_time: u64,
    hispeed_time: u64,
}

impl Interactive {
    fn new(params: &Params, clock: &Clock) -> Self {
        Self {
            rate_ns: params.us("timer_rate"),
            slack_ns: params.us("timer_slack"),
            target_loads: params.steps("target_loads"),
            go_hispeed_load: params.number("go_hispeed_load"),
            hispeed_khz: params.khz_if_known("hispeed_freq"),
            above_hispeed_delay_us: params.steps("above_hispeed_delay"),
            min_sample_ns: params.us("min_sample_time"),
            boosted: params.is_on("boost"),
            pulse_ns: params.us("boostpulse_duration"),
            pulse_until: 0,
            io_is_busy: params.is_on("io_is_busy"),
            floor_time: 0,
            hispeed_time: 0,
            cpus: vec![PerCpu::default(); clock.cpus.len()],
        }
    }

    /// The CPU's timer, its slack timer, or the end of its idling: looks if it is time to.
    fn run(&mut self, clock: &mut Clock, at: usize, t_ns: u64, signals: &dyn Signals) -> Answer {
        if self.cpus.get(at).is_none_or(|this| t_ns < this.timer) {
            return Answer::default();
        }
        let change =
            if self.sample(clock, at, t_ns, signals) { self.thread(clock, t_ns) } else { Change::None };
        self.arm(clock, at, t_ns, signals);
        Answer { change, timers: true }
    }

    fn hispeed(&self, clock: &Clock) -> u32 {
        self.hispeed_khz.unwrap_or(clock.limits.max_khz)
    }

    fn update(&mut self, clock: &Clock, at: usize, t_ns: u64, signals: &dyn Signals) {
        let Some((this, &cpu)) = self.cpus.get_mut(at).zip(clock.cpus.get(at)) else { return };
        let now_us = t_ns / 1000;
        let idle = idle_us(signals, cpu, t_ns, self.io_is_busy);
        let elapsed = now_us.saturating_sub(this.at_us);
        let active = elapsed.saturating_sub(idle.saturating_sub(this.idle_us));
        this.active = this.active.saturating_add(active.saturating_mul(u64::from(clock.cur)));
        this.at_us = now_us;
        this.idle_us = idle;
    }

    /// Counts from now on, and sets the timers. A CPU at the lowest clock may idle as long as it likes.
    fn arm(&mut self, clock: &Clock, at: usize, t_ns: u64, signals: &dyn Signals) {
        let Some((this, &cpu)) = self.cpus.get_mut(at).zip(clock.cpus.get(at)) else { return };
        this.at_us = t_ns / 1000;
        this.since_us = this.at_us;
        this.idle_us = idle_us(signals, cpu, t_ns, self.io_is_busy);
        this.active = 0;
        this.timer = t_ns.saturating_add(self.rate_ns);
        this.slack = (this.target > clock.limits.min_khz).then(|| this.timer.saturating_add(self.slack_ns));
    }

    /// Whether the CPU's target changed, or has to be seen to.
    fn sample(&mut self, clock: &Clock, at: usize, t_ns: u64, signals: &dyn Signals) -> bool {
        self.update(clock, at, t_ns, signals);
        let hispeed = self.hispeed(clock);
        let boosted = self.boosted || t_ns < self.pulse_until;
        let cur = clock.cur;
        let Some(this) = self.cpus.get(at) else { return false };
        let Some(average) = this.active.checked_div(this.at_us.saturating_sub(this.since_us)) else {
            return false;
        };
        // The load in % that the clock of 1 kHz would have.
        let at_one = average.saturating_mul(100);
        let load = at_one / u64::from(cur.max(1));
        let wanted = if boosted || load >= self.go_hispeed_load {
            if cur < hispeed { hispeed } else { self.choose(clock, at_one).max(hispeed) }
        } else {
            let wanted = self.choose(clock, at_one);
            if wanted > hispeed && cur < hispeed { hispeed } else { wanted }
        };
        let delay_ns = self.above_hispeed_delay_us.at(cur).saturating_mul(1000);
        if cur >= hispeed && wanted > cur && !passed(t_ns, self.hispeed_time, delay_ns) {
            return false;
        }
        let wanted = clock.resolve(wanted, Relation::Low);
        let floor_time = self.floor_time;
        let Some(this) = self.cpus.get_mut(at) else { return false };
        this.hispeed_time = t_ns;
        let since = this.floor_time.max(floor_time);
        if wanted < this.floor && this.target >= cur && !passed(t_ns, since, self.min_sample_ns) {
            return false;
        }
        if !boosted || wanted > hispeed {
            this.floor = wanted;
            if this.target >= cur || wanted >= cur {
                this.floor_time = t_ns;
            }
        }
        if wanted == this.target && this.target <= cur {
            return false;
        }
        this.target = wanted;
        true
    }

    /// The lowest clock whose load stays within its target, found from the present clock with the bounds seen on the way:
    /// targets may differ from clock to clock, so that a step may lead back.
    fn choose(&self, clock: &Clock, at_one: u64) -> u32 {
        let wants = |khz: u32| {
            let needed = at_one / self.target_loads.at(khz).max(1);
            clock.resolve(u32::try_from(needed).unwrap_or(u32::MAX), Relation::Low)
        };
        let (mut too_low, mut enough) = (0, u32::MAX);
        let mut khz = clock.cur;
        for _ in 0..=clock.table.khz().len().saturating_mul(2) {
            let next = wants(khz);
            if next > khz {
                too_low = khz;
                if next >= enough {
                    let between = clock.resolve(enough.saturating_sub(1), Relation::High);
                    if between <= too_low {
                        return enough;
                    }
                    khz = between;
                } else {
                    khz = next;
                }
            } else if next < khz {
                enough = khz;
                if next <= too_low {
                    let between = clock.resolve(too_low.saturating_add(1), Relation::Low);
                    if between >= enough {
                        return enough;
                    }
                    khz = between;
                } else {
                    khz = next;
                }
            } else {
                return khz;
            }
        }
        khz
    }

    /// The thread that sets the policy's clock: the highest of its CPUs' targets.
    fn thread(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        let target = self.cpus.iter().map(|c| c.target).max().unwrap_or(clock.cur);
        self.floor_time = self.cpus.iter().map(|c| c.floor_time).max().unwrap_or(t_ns);
        if target != clock.heading() {
            let at_target = self.cpus.iter().filter(|c| c.target == target);
            self.hispeed_time = at_target.map(|c| c.hispeed_time).min().unwrap_or(t_ns);
        }
        clock.drive(t_ns, target, Relation::High)
    }
}

impl Governor for Interactive {
    fn start(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        // The limit at the start, as the kernel keeps it, unless a clock was given.
        self.hispeed_khz = self.hispeed_khz.or(Some(clock.limits.max_khz));
        self.floor_time = t_ns;
        self.hispeed_time = t_ns;
        for at in 0..self.cpus.len() {
            if let Some(this) = self.cpus.get_mut(at) {
                this.target = clock.cur;
                this.floor = clock.cur;
                this.floor_time = t_ns;
                this.hispeed_time = t_ns;
            }
            self.arm(clock, at, t_ns, signals);
        }
        Answer { change: Change::None, timers: true }
    }

    fn idle_end(&mut self, clock: &mut Clock, at: usize, t_ns: u64, signals: &dyn Signals) -> Answer {
        self.run(clock, at, t_ns, signals)
    }

    fn next_timer(&self, at: usize, idle: bool) -> Option<u64> {
        let this = self.cpus.get(at)?;
        if idle { this.slack } else { Some(this.timer) }
    }

    fn timer(&mut self, clock: &mut Clock, at: usize, t_ns: u64, signals: &dyn Signals) -> Answer {
        self.run(clock, at, t_ns, signals)
    }

    /// The clock is about to change: what was counted so far was at the old one.
    fn transition_done(&mut self, clock: &mut Clock, t_ns: u64, signals: &dyn Signals) -> Answer {
        for at in 0..self.cpus.len() {
            self.update(clock, at, t_ns, signals);
        }
        clock.done(t_ns).into()
    }

    fn limits(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        let (min, max) = (clock.limits.min_khz, clock.limits.max_khz);
        for this in &mut self.cpus {
            this.target = this.target.clamp(min, max);
        }
        clock.apply_limits(t_ns)
    }

    /// A touch: hispeed at once, and for a while (`boostpulse`).
    fn boost_pulse(&mut self, clock: &mut Clock, t_ns: u64) -> Change {
        self.pulse_until = t_ns.saturating_add(self.pulse_ns);
        let hispeed = self.hispeed(clock);
        for this in &mut self.cpus {
            if this.target < hispeed {
                this.target = hispeed;
                this.hispeed_time = t_ns;
            }
            this.floor = hispeed;
            this.floor_time = t_ns;
        }
        self.thread(clock, t_ns)
    }
}
