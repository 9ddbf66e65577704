// SPDX-License-Identifier: GPL-2.0-only
//! What woke a CPU, from what was seen between the idle entry and the next thing that the CPU did.

use idlewise_model::{Confidence, WakeCause};

use crate::armed::{Due, Fired};

/// What was seen around one wake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Evidence {
    /// The first interrupt-like event, and when.
    pub(crate) first: Option<(WakeCause, u64)>,
    /// The tick's handler ran, in whichever interrupt.
    pub(crate) tick: bool,
    /// It ran in the first timer interrupt.
    pub(crate) woke_by_tick: bool,
    /// When the earliest of the other hrtimers that fired in the first timer interrupt had been due.
    pub(crate) hrtimer_due: Option<Due>,
    /// When the tick's timer that fired in the first timer interrupt had been due.
    pub(crate) tick_due: Option<Due>,
    /// A wheel timer ran after the first timer interrupt, or the timer softirq where wheel timers are not recorded.
    pub(crate) wheel: bool,
    /// How many timer interrupts came.
    pub(crate) timer_interrupts: u32,
    /// After the first interrupt came another that was no timer's, or one in which a timer other than the tick fired.
    pub(crate) more: bool,
    /// A remote CPU set the reschedule flag, or woke a task for this CPU.
    pub(crate) remote_wake: bool,
    /// When the last handler ended, ns.
    pub(crate) handled_ns: u64,
    /// A handler is running.
    pub(crate) in_handler: bool,
}

impl Evidence {
    pub(crate) fn interrupt(&mut self, cause: WakeCause, ts_ns: u64) {
        self.timer_interrupts += u32::from(cause.is_timer());
        self.more |= self.first.is_some() && !cause.is_timer();
        self.first.get_or_insert((cause, ts_ns));
        self.handled_ns = self.handled_ns.max(ts_ns);
    }

    /// A timer fires at `ts_ns`. What fires in a later interrupt than the first did not end the idle period.
    pub(crate) fn timer(&mut self, fired: Fired, ts_ns: u64) {
        let in_first = self.timer_interrupts <= 1;
        match fired {
            Fired::Tick(due) => {
                self.tick = true;
                if in_first {
                    self.woke_by_tick = true;
                    self.tick_due = due;
                }
            }
            Fired::Hrtimer(due) if in_first => {
                let due = due.unwrap_or(Due { at_ns: ts_ns, confidence: Confidence::Bounded });
                self.hrtimer_due =
                    Some(self.hrtimer_due.filter(|first| first.at_ns <= due.at_ns).unwrap_or(due));
            }
            Fired::Wheel if in_first => self.wheel = true,
            Fired::Hrtimer(_) | Fired::Wheel => self.more = true,
        }
    }

    pub(crate) fn handled(&mut self, ts_ns: u64) {
        self.handled_ns = self.handled_ns.max(ts_ns);
    }

    /// The first interrupt is the cause, as far as events name it; [`WakeCause::Timer`] where the timer is not named.
    pub(crate) fn cause(&self) -> WakeCause {
        match self.first {
            Some((cause, _)) if !cause.is_timer() => cause,
            _ if self.hrtimer_due.is_some() => WakeCause::Hrtimer,
            _ if self.wheel => WakeCause::Wheel,
            _ if self.woke_by_tick => WakeCause::Tick,
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
    fn the_first_interrupt_names_the_cause_and_timers_are_told_apart() {
        let mut e = Evidence::default();
        assert_eq!(e.cause(), WakeCause::Unknown);
        e.interrupt(WakeCause::Timer, 10);
        assert_eq!(e.cause(), WakeCause::Timer);
        e.timer(Fired::Tick(None), 11);
        assert_eq!(e.cause(), WakeCause::Tick);
        e.timer(Fired::Wheel, 12);
        assert_eq!(e.cause(), WakeCause::Wheel);
        e.timer(Fired::Hrtimer(Some(Due { at_ns: 9, confidence: Confidence::Recorded })), 13);
        assert_eq!(e.cause(), WakeCause::Hrtimer);
        assert!(!e.more, "all of one interrupt");
        let mut ipi = Evidence::default();
        ipi.interrupt(WakeCause::Ipi, 5);
        ipi.interrupt(WakeCause::Timer, 6);
        ipi.timer(Fired::Tick(None), 7);
        assert_eq!(ipi.cause(), WakeCause::Ipi);
        assert!(ipi.tick);
    }

    #[test]
    fn what_comes_after_the_tick_in_one_wake_is_not_what_woke() {
        let ticked = || {
            let mut e = Evidence::default();
            e.interrupt(WakeCause::Timer, 10);
            e.timer(Fired::Tick(Some(Due { at_ns: 9, confidence: Confidence::Recorded })), 11);
            e
        };
        let mut ipi = ticked();
        ipi.interrupt(WakeCause::Ipi, 20);
        assert_eq!((ipi.cause(), ipi.more), (WakeCause::Tick, true));
        let mut timer = ticked();
        timer.interrupt(WakeCause::Timer, 20);
        timer.timer(Fired::Hrtimer(None), 21);
        assert_eq!((timer.cause(), timer.more), (WakeCause::Tick, true));
        assert_eq!(timer.tick_due.map(|due| due.at_ns), Some(9));
        let mut tick = ticked();
        tick.interrupt(WakeCause::Timer, 20);
        tick.timer(Fired::Tick(None), 21);
        assert_eq!((tick.cause(), tick.more), (WakeCause::Tick, false));
        let mut late = Evidence::default();
        late.interrupt(WakeCause::Timer, 10);
        late.timer(Fired::Hrtimer(None), 11);
        late.interrupt(WakeCause::Timer, 20);
        late.timer(Fired::Tick(None), 21);
        assert_eq!((late.cause(), late.tick), (WakeCause::Hrtimer, true));
    }
}
