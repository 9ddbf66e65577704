// SPDX-License-Identifier: GPL-2.0-only
//! What woke a CPU, from what was seen between the idle entry and the next thing that the CPU did.

use idlewise_model::WakeCause;

use crate::armed::Due;

/// What an interrupt's name says about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IrqClass {
    Timer,
    Ipi,
    Device,
}

impl IrqClass {
    /// From a handler's name as in `/proc/interrupts` ("arch_timer", "IPI", "eth0").
    pub(crate) fn of(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        if name.contains("timer") || name.contains("hpet") || name == "twd" {
            Self::Timer
        } else if name.starts_with("ipi") {
            Self::Ipi
        } else {
            Self::Device
        }
    }
}

/// What was seen around one wake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// The first interrupt-like event, and when.
    pub(crate) first: Option<(WakeCause, u64)>,
    /// The tick's handler ran.
    pub(crate) tick: bool,
    /// When the earliest of the other hrtimers that fired had been due.
    pub(crate) hrtimer_due: Option<Due>,
    /// When the tick's timer that fired had been due.
    pub(crate) tick_due: Option<Due>,
    /// A wheel timer ran, or the timer softirq where wheel timers are not recorded.
    pub(crate) wheel: bool,
    /// Something else than the timer interrupt came too.
    pub(crate) other: bool,
    /// A remote CPU set the reschedule flag, or woke a task for this CPU.
    pub(crate) remote_wake: bool,
    /// When the last handler ended, ns.
    pub(crate) handled_ns: u64,
    /// A handler is running.
    pub(crate) in_handler: bool,
}

impl Evidence {
    pub(crate) fn interrupt(&mut self, cause: WakeCause, ts_ns: u64) {
        if !cause.is_timer() {
            self.other = true;
        }
        self.first.get_or_insert((cause, ts_ns));
        self.handled_ns = self.handled_ns.max(ts_ns);
    }

    pub(crate) fn handled(&mut self, ts_ns: u64) {
        self.handled_ns = self.handled_ns.max(ts_ns);
    }

    /// The cause, as far as events name it; [`WakeCause::Timer`] where the timer is not named.
    pub(crate) fn cause(&self) -> WakeCause {
        match self.first {
            Some((cause, _)) if !cause.is_timer() => cause,
            _ if self.hrtimer_due.is_some() => WakeCause::Hrtimer,
            _ if self.wheel => WakeCause::Wheel,
            // More than the tick came in the same wake.
            _ if self.tick && self.other => WakeCause::Irq,
            _ if self.tick => WakeCause::Tick,
            Some((cause, _)) => cause,
            None if self.remote_wake => WakeCause::Ipi,
            None => WakeCause::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use idlewise_model::Confidence;

    use super::*;

    #[test]
    fn interrupt_names_tell_timers_from_ipis_and_devices() {
        assert_eq!(IrqClass::of("arch_timer"), IrqClass::Timer);
        assert_eq!(IrqClass::of("IPI"), IrqClass::Ipi);
        assert_eq!(IrqClass::of("eth0-tx"), IrqClass::Device);
    }

    #[test]
    fn the_first_interrupt_names_the_cause_and_timers_are_told_apart() {
        let mut e = Evidence::default();
        assert_eq!(e.cause(), WakeCause::Unknown);
        e.interrupt(WakeCause::Timer, 10);
        assert_eq!(e.cause(), WakeCause::Timer);
        e.tick = true;
        assert_eq!(e.cause(), WakeCause::Tick);
        e.wheel = true;
        assert_eq!(e.cause(), WakeCause::Wheel);
        e.hrtimer_due = Some(Due { at_ns: 9, confidence: Confidence::Recorded });
        assert_eq!(e.cause(), WakeCause::Hrtimer);
        let mut ipi = Evidence::default();
        ipi.interrupt(WakeCause::Ipi, 5);
        ipi.interrupt(WakeCause::Timer, 6);
        ipi.tick = true;
        assert_eq!(ipi.cause(), WakeCause::Ipi);
    }
}
