// SPDX-License-Identifier: GPL-2.0-only
//! Whether limits of power or heat hold the clocks of a running machine: powercap's limits against the running average of what
//! it draws, the kernel's counters of throttling, and what the processor itself names. Rules and sources are in
//! docs/concepts/running-limits.md.

mod powercap;
mod reasons;
mod throttle;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Host;
use powercap::Zone;
use reasons::Register;
use throttle::ThrottleCounters;

pub use powercap::{PowerLimitUse, window};
pub use throttle::Throttling;

/// What limited a machine in a span of time.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Limiting {
    /// How long the span was, s.
    pub seconds: f64,
    /// Whether something held clocks down; null where that is not known.
    pub limited: Option<bool>,
    /// Zones of powercap that count energy.
    pub zones: usize,
    /// The limits of powercap that are on.
    pub power: Vec<PowerLimitUse>,
    /// What the kernel counted of throttling because of heat; null where it counts none.
    pub throttling: Option<Throttling>,
    /// What the processor named as holding its clock at the samples; null where that may not be read, or is not known of it.
    pub reasons: Option<Vec<String>>,
}

/// Samples the limits of a machine again and again. Averages go on from span to span.
#[derive(Debug)]
pub struct LimitWatch {
    host: Host,
    zones: Vec<Zone>,
    counted: usize,
    registers: Vec<Register>,
    reasons: Vec<String>,
    /// A register could not be read in this span.
    unread: bool,
    throttle: ThrottleCounters,
    began: Duration,
    sampled: Duration,
}

impl LimitWatch {
    /// Finds what the machine has, and begins a span; `at` is now, on any clock that does not go back.
    #[must_use]
    pub fn begin(host: &Host, at: Duration) -> Self {
        let mut watch = Self {
            host: host.clone(),
            zones: powercap::zones(host),
            counted: powercap::counted(host),
            registers: reasons::registers(host),
            reasons: Vec::new(),
            unread: false,
            throttle: ThrottleCounters::read(host),
            began: at,
            sampled: at,
        };
        watch.sample(at);
        watch
    }

    /// Whether there is anything to sample.
    #[must_use]
    pub fn sees_something(&self) -> bool {
        !self.zones.is_empty() || !self.registers.is_empty() || self.throttle.counts()
    }

    /// Samples power: a few files, whatever the number of CPUs.
    pub fn sample(&mut self, at: Duration) {
        let from = self.sampled.saturating_sub(self.began);
        let time = at.saturating_sub(self.sampled);
        for zone in &mut self.zones {
            zone.sample(from, time);
        }
        for register in &self.registers {
            let Some(reasons) = register.reasons() else {
                self.unread = true;
                continue;
            };
            for reason in reasons {
                if !self.reasons.iter().any(|r| r == reason) {
                    self.reasons.push(reason.to_owned());
                }
            }
        }
        self.sampled = at;
    }

    /// Samples everything, reports the span that ends now, and begins the next.
    pub fn end(&mut self, at: Duration) -> Limiting {
        self.sample(at);
        let time = at.saturating_sub(self.began);
        let throttle = ThrottleCounters::read(&self.host);
        let throttling = throttle.since(&self.throttle, time);
        let power: Vec<PowerLimitUse> = self.zones.iter_mut().flat_map(|z| z.end(time)).collect();
        let named = std::mem::take(&mut self.reasons);
        // Without all of them that none was named says nothing.
        let unread = std::mem::take(&mut self.unread) && named.is_empty();
        let reasons = (!self.registers.is_empty() && !unread).then_some(named);
        (self.throttle, self.began) = (throttle, at);
        let (seconds, zones) = (time.as_secs_f64(), self.counted);
        Limiting { seconds, limited: None, zones, power, throttling, reasons }.judged()
    }
}

impl Limiting {
    fn judged(mut self) -> Self {
        let acts = |l: &PowerLimitUse| l.acting_pct > 0.0;
        let hot = self.throttling.as_ref().is_some_and(|t| t.count > 0 || t.longest_pct() > 0.0);
        let named = self.reasons.as_ref().is_some_and(|r| !r.is_empty());
        let open = self.power.iter().any(|l| l.unknown_pct > 0.0);
        let seen = !self.power.is_empty() || self.reasons.is_some();
        self.limited = match hot || named || self.power.iter().any(acts) {
            true => Some(true),
            false => (seen && !open).then_some(false),
        };
        self
    }

    /// Whether it is limited, and by what, in a line.
    #[must_use]
    pub fn verdict(&self) -> String {
        match self.limited {
            Some(true) => format!("limited: {}", self.causes().join("; ")),
            Some(false) => "not limited".to_owned(),
            None if self.power.is_empty() && self.zones > 0 => {
                "powercap shows no limit that is on: power limits not known".to_owned()
            }
            None if self.power.is_empty() => {
                "no powercap counters on this machine: power limits not known".to_owned()
            }
            None if self.power.iter().all(|l| l.mean_w.is_none()) => {
                "not known: powercap's energy is not readable (root only since Linux 5.10)".to_owned()
            }
            None => {
                let longest = self.power.iter().filter(|l| l.unknown_pct > 0.0).map(|l| l.window_s);
                let longest = window(longest.fold(0.0, f64::max));
                format!(
                    "not known: watched for {:.3} s, too short for an average over {longest}",
                    self.seconds
                )
            }
        }
    }

    fn causes(&self) -> Vec<String> {
        let acting = self.power.iter().filter(|l| l.acting_pct > 0.0);
        let mut out: Vec<String> = acting
            .map(|l| format!("{} for {:.1} % of {:.3} s", l.name(), l.acting_pct, self.seconds))
            .collect();
        let hot = self.throttling.iter().filter(|t| t.count > 0 || t.longest_pct() > 0.0);
        out.extend(hot.map(|t| format!("heat, {}", t.words())));
        let named = self.reasons.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        out.extend((!named.is_empty()).then(|| format!("the processor names {named}")));
        out
    }

    /// The verdict, then each limit with what was drawn against it, then throttling.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut out = vec![self.verdict()];
        out.extend(self.power.iter().map(PowerLimitUse::words));
        out.push(match &self.throttling {
            Some(t) => format!("heat: {}", t.words()),
            None => "heat: no counters of throttling on this machine".to_owned(),
        });
        out
    }
}
