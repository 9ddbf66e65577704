// SPDX-License-Identifier: GPL-2.0-only

/// A frequency governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GovernorInfo {
    /// What a [`crate::Config`] calls it.
    pub id: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Which kernels have it so.
    pub kernel: &'static str,
    /// What it reads.
    pub fed_by: &'static str,
    /// When it evaluates.
    pub evaluates: &'static str,
    /// The section of docs/reference/signal-behaviour.md that says what it does: `C2`.
    pub source: &'static str,
    /// What may be set.
    pub params: &'static [ParamInfo],
}

/// A parameter of a frequency governor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its name, the kernel's where the kernel has one.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Without it.
    pub default: Default,
    /// us, kHz, % and so on; empty for a bare number.
    pub unit: &'static str,
    /// What it does.
    pub help: &'static str,
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Number {
        /// No less than this.
        min: u64,
        /// No more than this.
        max: u64,
    },
    /// [`crate::Steps`] with values between the two.
    Steps {
        /// No less than this.
        min: u64,
        /// No more than this.
        max: u64,
    },
}

/// What a parameter is without being set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// This number.
    Number(u64),
    /// What the words say, which depends on the machine.
    Derived(&'static str),
    /// There is none.
    Required,
}

impl ParamInfo {
    /// What values there are, for an error message.
    #[must_use]
    pub fn range(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        match self.kind {
            Kind::Number { min, max } => format!("a whole number from {min} to {max}{unit}"),
            Kind::Steps { min, max } => {
                format!(
                    "`value` or `value kHz:value kHz:value ...`, clocks ascending, values from {min} to {max}{unit}"
                )
            }
        }
    }

    /// The default in words.
    #[must_use]
    pub fn default_text(&self) -> String {
        match self.default {
            Default::Number(n) => n.to_string(),
            Default::Derived(words) => words.to_owned(),
            Default::Required => "none, must be given".to_owned(),
        }
    }
}

/// An hour in us: no limit is longer.
const HOUR_US: u64 = 3_600_000_000;

const fn us(name: &'static str, default: Default, help: &'static str) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min: 0, max: HOUR_US }, default, unit: "us", help }
}

/// A period, which is never nothing.
const fn period(name: &'static str, default: Default, help: &'static str) -> ParamInfo {
    ParamInfo { kind: Kind::Number { min: 1, max: HOUR_US }, ..us(name, default, help) }
}

const fn count(name: &'static str, min: u64, max: u64, default: u64, help: &'static str) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min, max }, default: Default::Number(default), unit: "", help }
}

const fn percent(name: &'static str, min: u64, max: u64, default: u64, help: &'static str) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min, max }, default: Default::Number(default), unit: "%", help }
}

const fn switch(name: &'static str, default: u64, help: &'static str) -> ParamInfo {
    count(name, 0, 1, default, help)
}

const fn khz(name: &'static str, default: Default, help: &'static str) -> ParamInfo {
    ParamInfo { name, kind: Kind::Number { min: 0, max: u32::MAX as u64 }, default, unit: "kHz", help }
}

const RATE_LIMIT: &str = "least time from one change of the request to the next evaluation";

const SAMPLING_RATE: ParamInfo = period(
    "sampling_rate",
    Default::Derived("two ticks, or 1.5 x latency if that is longer"),
    "from one sample to the next",
);

const IO_IS_BUSY: ParamInfo =
    switch("io_is_busy", 0, "1: waiting for I/O counts as busy; the kernel's default for ondemand on Intel");

const SCHED_FREQ: [ParamInfo; 4] = [
    us(
        "up_throttle_us",
        Default::Derived("latency; 500 if unknown"),
        "after a switch, least time before a higher clock",
    ),
    us("down_throttle_us", Default::Number(50_000), "after a switch, least time before a lower clock"),
    count("capacity_margin", 1024, 10_240, 1280, "headroom, of 1024"),
    percent("boost", 0, 100, 0, "added to the utilisation: this part of what is missing to the whole"),
];

/// All frequency governors, in the order of a help text.
#[must_use]
pub fn list() -> &'static [GovernorInfo] {
    &LIST
}

static LIST: [GovernorInfo; 13] = [
    GovernorInfo {
        id: "schedutil",
        summary: "follows the scheduler's utilisation with a quarter of headroom",
        kernel: "6.12",
        fed_by: "need: all classes, runnable boost, limits",
        evaluates: "hook, after the rate limit",
        source: "C2",
        params: &[us("rate_limit_us", Default::Derived("latency x 1.5; 1000 if unknown"), RATE_LIMIT)],
    },
    GovernorInfo {
        id: "schedutil-6.1",
        summary: "schedutil before 6.8: no runnable boost, headroom on the frequency",
        kernel: "6.1",
        fed_by: "freq_util: all classes in one number",
        evaluates: "hook, after the rate limit",
        source: "C3",
        params: &[us("rate_limit_us", Default::Derived("latency x 1000, at most 10000"), RATE_LIMIT)],
    },
    GovernorInfo {
        id: "schedutil-4.8",
        summary: "schedutil of 2016: the fair class alone, evaluations at a fixed distance",
        kernel: "4.7 to 4.9",
        fed_by: "util: fair class; flags of the others",
        evaluates: "hook, a rate limit after the last evaluation",
        source: "C4",
        params: &[
            us("rate_limit_us", Default::Derived("latency x 1000"), "least time between two evaluations"),
            switch("iowait_boost", 0, "1: a task that waited for I/O asks for the highest clock, as in 4.9"),
            switch(
                "highest_base",
                0,
                "1: the base is the highest clock, as if utilisation were scaled by the clock",
            ),
        ],
    },
    GovernorInfo {
        id: "schedutil-android-4.4",
        summary: "Android's early schedutil: one rate limit up, one down",
        kernel: "Android 4.4, 4.9",
        fed_by: "util: fair class or WALT; rt_util with PELT",
        evaluates: "hook, after the shorter rate limit",
        source: "C5",
        params: &[
            us(
                "up_rate_limit_us",
                Default::Derived("latency x 1000"),
                "least time before the request may rise",
            ),
            us(
                "down_rate_limit_us",
                Default::Derived("latency x 1000"),
                "least time before the request may fall",
            ),
            percent(
                "boost",
                0,
                100,
                0,
                "added to the utilisation: this part of what is missing to the whole",
            ),
        ],
    },
    GovernorInfo {
        id: "sched-pixel",
        summary: "Pixel 6's: schedutil of 5.10 with margins and two rate limits",
        kernel: "Pixel 5.10",
        fed_by: "freq_util: all classes in one number",
        evaluates: "hook, after the shorter rate limit",
        source: "C5",
        params: &[
            us("up_rate_limit_us", Default::Number(500), "least time before the request may rise"),
            us(
                "down_rate_limit_us",
                Default::Number(20_000),
                "least time before the request may fall; 5000 on the phone's little CPUs",
            ),
            count(
                "down_scale_pow",
                0,
                8,
                0,
                "the limit down is lengthened by this power of old clock / new clock",
            ),
            count("capacity_margin", 1024, 10_240, 1280, "headroom, of 1024"),
        ],
    },
    GovernorInfo {
        id: "sched-freq",
        summary: "Android's before schedutil: classes publish requests, a thread with throttles sets the clock",
        kernel: "Android 3.18",
        fed_by: "util: fair class or WALT; rt_util, dl_bandwidth",
        evaluates: "wake-up, sleep, balancing; tick if the clock is too low",
        source: "C6",
        params: &SCHED_FREQ,
    },
    GovernorInfo {
        id: "sched-freq-4.4",
        summary: "sched-freq of 4.4: with WALT the largest class counts, ticks ask on the CPU's own scale",
        kernel: "Android 4.4",
        fed_by: "util: fair class or WALT; rt_util, dl_bandwidth",
        evaluates: "wake-up, sleep, balancing; tick if the clock is too low",
        source: "C6",
        params: &SCHED_FREQ,
    },
    GovernorInfo {
        id: "ondemand",
        summary: "to the highest clock when a sample is busy, else in proportion to the load",
        kernel: "6.12",
        fed_by: "idle_ns, iowait_ns",
        evaluates: "hook, a sampling period after the last sample",
        source: "C7",
        params: &[
            SAMPLING_RATE,
            percent("up_threshold", 1, 100, 95, "a load above this asks for the highest clock"),
            count(
                "sampling_down_factor",
                1,
                100_000,
                1,
                "at the highest clock samples are this many times farther apart",
            ),
            count(
                "powersave_bias",
                0,
                1000,
                0,
                "the target is lowered by this many thousandths; two clocks share the time",
            ),
            IO_IS_BUSY,
        ],
    },
    GovernorInfo {
        id: "conservative",
        summary: "a step up when busy, a step down when idle",
        kernel: "6.12",
        fed_by: "idle_ns, iowait_ns",
        evaluates: "hook, a sampling period after the last sample",
        source: "C8",
        params: &[
            SAMPLING_RATE,
            percent("up_threshold", 1, 100, 80, "a load above this steps up"),
            percent("down_threshold", 0, 99, 20, "a load below this steps down"),
            percent("freq_step", 0, 100, 5, "a step, of the highest clock allowed; 0: the clock stays"),
            count("sampling_down_factor", 1, 10, 1, "this many samples make a step down"),
            IO_IS_BUSY,
        ],
    },
    GovernorInfo {
        id: "interactive",
        summary: "Android's of old: timers on each CPU, fast up to a clock for interaction, slowly beyond",
        kernel: "Android 3.x to 4.9",
        fed_by: "idle_ns, iowait_ns",
        evaluates: "a timer on each CPU while it is awake; at the end of idling if overdue",
        source: "C9",
        params: &[
            period("timer_rate", Default::Number(20_000), "from one look to the next"),
            us(
                "timer_slack",
                Default::Number(80_000),
                "how much later an idle CPU above the lowest clock is woken up to look",
            ),
            ParamInfo {
                name: "target_loads",
                kind: Kind::Steps { min: 1, max: 100 },
                default: Default::Number(90),
                unit: "%",
                help: "the load to aim at; may differ from clock to clock",
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
    },
    GovernorInfo {
        id: "performance",
        summary: "the highest clock allowed",
        kernel: "all",
        fed_by: "nothing",
        evaluates: "when limits change",
        source: "C10",
        params: &[],
    },
    GovernorInfo {
        id: "powersave",
        summary: "the lowest clock allowed",
        kernel: "all",
        fed_by: "nothing",
        evaluates: "when limits change",
        source: "C10",
        params: &[],
    },
    GovernorInfo {
        id: "fixed",
        summary: "one clock, the kernel's userspace",
        kernel: "all",
        fed_by: "nothing",
        evaluates: "when limits change",
        source: "C10",
        params: &[khz("khz", Default::Required, "the clock; the next operating point at or above it")],
    },
];
