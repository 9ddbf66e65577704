// SPDX-License-Identifier: GPL-2.0-only
//! The cpufreq core's rules and the frequency governors, as integer state machines.
//!
//! A [`Policy`] is one clock, the CPUs that share it and the governor that sets it. The caller, a simulator, owns time
//! and tells it what happens: the scheduler's hook ([`Policy::hook`]), timers, ends of switches, new limits. The answer
//! says what to do: nothing, another clock at once ([`Change::Now`]), a switch that takes its time ([`Change::Start`]).
//! What governors read of CPUs comes through [`Signals`], so that PELT and WALT can feed any of them.
//!
//! ```
//! use idlewise_freq::{Change, Config, Driver, Hook, Limits, Need, Policy, Setup, Signals, Table};
//!
//! struct Busy(u64);
//! impl Signals for Busy {
//!     fn capacity(&self, _: u32) -> u64 { 1024 }
//!     fn need(&self, _: u32) -> Need { Need { util: self.0, min: 0, max: 1024 } }
//!     fn freq_util(&self, _: u32) -> u64 { self.0 }
//!     fn util(&self, _: u32) -> u64 { self.0 }
//!     fn idle_calls(&self, _: u32) -> u64 { 0 }
//!     fn idle_ns(&self, _: u32, _: u64) -> u64 { 0 }
//! }
//!
//! let driver = Driver { transition_latency_ns: 5_000_000, fast_switch: true, ..Driver::default() };
//! let table = Table::new(vec![500_000, 1_106_000, 2_802_000])?;
//! let setup =
//!     Setup { cpus: vec![6, 7], table, limits: Limits::NONE, start_khz: 500_000, driver, tick_ns: 4_000_000 };
//! let mut policy = Policy::new(setup, &"schedutil:rate_limit_us=500".parse::<Config>()?)?;
//! let _ = policy.start(0, &Busy(0));
//! let answer = policy.hook(&Hook::fair(6, 1_000_000), &Busy(300));
//! assert_eq!(answer.change, Change::Now { khz: 1_106_000 });
//! # Ok::<(), idlewise_freq::FreqError>(())
//! ```
//!
//! Clocks are kHz, times ns, utilisations and capacities 0 to 1024. Whatever numbers come in, nothing panics: what would
//! overflow stays at the largest number. Section numbers (C2) are those of docs/reference/signal-behaviour.md.

mod clock;
mod config;
mod error;
mod governor;
mod governors;
mod iowait;
mod params;
mod policy;
mod sampler;
mod signals;
mod steps;
mod table;

pub use clock::{Change, Driver, Moving, RateRule, Setup};
pub use config::Config;
pub use error::FreqError;
pub use governor::{Answer, GovernorInfo};
pub use governors::list;
pub use params::{Default as ParamDefault, Kind as ParamKind, ParamInfo};
pub use policy::Policy;
pub use signals::{Event, Hook, Need, Signals};
pub use steps::Steps;
pub use table::{Limits, Relation, Table};
