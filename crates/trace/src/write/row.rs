// SPDX-License-Identifier: GPL-2.0-only
//! An event as the kernel would describe it: system, name, fields.

use idlewise_model::CpuMask;

use crate::kernel::meaning::MOST_FIELDS;

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Val<'a> {
    Number(i128),
    /// A CPU that a task is woken for.
    TargetCpu(u32),
    /// Whether a task waited for I/O.
    IoWait(bool),
    /// A set of bits.
    Bits(u32),
    /// A set of CPUs.
    Cpus(CpuMask),
    /// An address that is no function's.
    Pointer(u64),
    Function(u64, Option<&'a str>),
    /// The name of a task, where it is known.
    Comm(i32, Option<&'a str>),
    Text(&'a str),
    /// Why a CPU interrupts another.
    Reason(&'static str),
    PrevState(u64),
    Mode(u32),
    /// Flags of a wheel timer.
    Flags(u32),
    Dependency(u32),
    /// The verdict of a `cpu_idle_miss`.
    Below(bool),
    /// The jiffies at which a wheel timer that expires at the first of them was armed.
    ArmedAt(u64, u64),
    Softirq(u32),
}

impl Val<'_> {
    /// What the field holds in a recording of the kernel; `None` for a text.
    pub(super) fn number(self) -> Option<u64> {
        Some(match self {
            // Negative ones as the kernel's 64 bits.
            Val::Number(n) => n as u64,
            Val::Pointer(n) | Val::Function(n, _) | Val::PrevState(n) | Val::ArmedAt(_, n) => n,
            Val::Bits(n)
            | Val::TargetCpu(n)
            | Val::Mode(n)
            | Val::Flags(n)
            | Val::Dependency(n)
            | Val::Softirq(n) => n.into(),
            Val::Below(yes) | Val::IoWait(yes) => yes.into(),
            Val::Comm(..) | Val::Text(_) | Val::Reason(_) | Val::Cpus(_) => return None,
        })
    }
}

/// An event as the kernel would describe it.
pub(super) struct Row<'a> {
    /// Empty where nobody knows.
    pub(super) system: &'a str,
    pub(super) name: &'a str,
    fields: [(&'static str, Val<'a>); MOST_FIELDS],
    n: usize,
    /// Whether idlewise understands it: then these are all fields that it needs.
    pub(super) understood: bool,
}

impl<'a> Row<'a> {
    pub(super) fn new(system: &'a str, name: &'a str) -> Self {
        Self { system, name, fields: [("", Val::Number(0)); MOST_FIELDS], n: 0, understood: true }
    }

    pub(super) fn push(&mut self, key: &'static str, value: Val<'a>) {
        debug_assert!(self.n < MOST_FIELDS, "{} has more than {MOST_FIELDS} fields", self.name);
        if let Some(place) = self.fields.get_mut(self.n) {
            *place = (key, value);
            self.n += 1;
        }
    }

    pub(super) fn fields(&self) -> &[(&'static str, Val<'a>)] {
        self.fields.get(..self.n).unwrap_or_default()
    }
}
