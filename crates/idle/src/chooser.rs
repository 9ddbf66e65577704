// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Choice, Device, Inputs, Instance, Seat, Slot};

use crate::Moment;

/// Who decides for one CPU: a governor in C, or the oracle.
pub trait Chooser {
    /// Whether it looks at the future in [`Moment`].
    const FORESEES: bool = false;

    /// Which state, and may the tick be stopped? `moment` holds the future and `tick` what will become of the next
    /// tick; a governor looks at neither.
    fn select(&mut self, inputs: &Inputs, moment: &Moment, tick: TickAhead) -> Choice;
    /// The stay in `entered` is over; the local clock is at `now_ns`.
    fn reflect(&mut self, entered: usize, now_ns: u64);
    /// The cpuidle device that governor and core share.
    fn device(&mut self) -> &mut Device;
    /// The disabled states changed; bit i for state i.
    fn set_disabled(&mut self, mask: u16);
}

/// The next tick, as the core knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickAhead {
    /// When it is due, ns; [`crate::NEVER_AT_NS`] while it is stopped.
    pub due_ns: u64,
    /// Whether the core would stop it if asked (`governor-behaviour.md` 1.3).
    pub may_stop: bool,
}

/// A hosted governor deciding for one of its CPUs.
pub struct Hosted<'i>(Seat<'i>);

impl<'i> Hosted<'i> {
    /// `slot` is what [`Instance::add_cpu`] gave for the CPU.
    #[inline]
    pub fn new(instance: &'i mut Instance, slot: Slot) -> Self {
        Self(instance.seat(slot))
    }
}

impl Chooser for Hosted<'_> {
    #[inline]
    fn select(&mut self, inputs: &Inputs, _moment: &Moment, _tick: TickAhead) -> Choice {
        self.0.select(inputs)
    }

    #[inline]
    fn reflect(&mut self, entered: usize, now_ns: u64) {
        self.0.reflect(entered, now_ns);
    }

    #[inline]
    fn device(&mut self) -> &mut Device {
        self.0.device()
    }

    fn set_disabled(&mut self, mask: u16) {
        self.0.set_disabled(mask);
    }
}
