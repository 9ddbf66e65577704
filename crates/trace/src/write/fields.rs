// SPDX-License-Identifier: GPL-2.0-only
//! How the kinds of fields are written: what [`crate::kernel::meaning::kinds`] reads, the other way round.

use idlewise_model::{Asked, CpuMask, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector};

use super::Names;
use super::row::{Row, Val};
use crate::kernel::meaning::kinds::{
    ArmedAt, Below, Bits, Cpus, Dependency, EnteredState, Function, Handler, IoWait, Mode, NameEnd, Newer,
    Number, Pointer, PrevState, Reason, Softirq, TargetCpu, TargetCpus, TargetReason, Task, Text, WheelFlags,
};
use crate::kernel::meaning::{Keys, event_of, reason};

/// How a field of type `T` is written.
pub(super) trait Written<T> {
    /// Adds it to `row`, whose event has the names `events`.
    fn write<'a>(value: &'a T, keys: Keys, events: &[&'static str], names: &'a impl Names, row: &mut Row<'a>);
}

/// Fields that are one value under their first name.
macro_rules! plain {
    ($($kind:ident { $($type:ty = $val:expr;)+ })+) => {$($(
        impl Written<$type> for $kind {
            fn write<'a>(
                value: &'a $type,
                keys: Keys,
                _: &[&'static str],
                _: &'a impl Names,
                row: &mut Row<'a>,
            ) {
                let val: fn(&'a $type) -> Val<'a> = $val;
                row.push(keys.name, val(value));
            }
        }
    )+)+};
}

plain! {
    Number {
        u8 = |n| Val::Number((*n).into());
        u32 = |n| Val::Number((*n).into());
        i32 = |n| Val::Number((*n).into());
        u64 = |n| Val::Number((*n).into());
        i64 = |n| Val::Number((*n).into());
        bool = |yes| Val::Number((*yes).into());
    }
    Bits {
        u16 = |bits| Val::Bits((*bits).into());
        Asked = |asked| Val::Bits(asked.0);
    }
    EnteredState { Option<u32> = |state| Val::Number(state.unwrap_or(u32::MAX).into()); }
    TargetCpu { u32 = |cpu| Val::TargetCpu(*cpu); }
    IoWait { bool = |waited| Val::IoWait(*waited); }
    Softirq { u32 = |vec| Val::Softirq(*vec); }
    Below { bool = |below| Val::Below(*below); }
    Pointer { u64 = |at| Val::Pointer(*at); }
    PrevState { u64 = |state| Val::PrevState(*state); }
    Mode { HrtimerMode = |mode| Val::Mode(mode.0); }
    WheelFlags { TimerFlags = |flags| Val::Flags(flags.0); }
    Dependency { u32 = |bits| Val::Dependency(*bits); }
    Text { GovernorName = |name| Val::Text(name.as_str()); }
    Reason { Ipi = |ipi| Val::Reason(reason(*ipi)); }
    Cpus { CpuMask = |cpus| Val::Cpus(*cpus); }
    TargetCpus { CpuMask = |cpus| Val::Cpus(*cpus); }
    TargetReason { Ipi = |ipi| Val::Reason(reason(*ipi)); }
}

/// Numbers that are left out where the kernel did not record them.
macro_rules! newer {
    ($($type:ty),+) => {$(
        impl Written<Option<$type>> for Newer {
            fn write<'a>(
                value: &'a Option<$type>,
                keys: Keys,
                _: &[&'static str],
                _: &'a impl Names,
                row: &mut Row<'a>,
            ) {
                if let Some(n) = *value {
                    row.push(keys.name, Val::Number(n.into()));
                }
            }
        }
    )+};
}

newer!(bool, u64);

impl Written<u64> for Function {
    fn write<'a>(at: &'a u64, keys: Keys, _: &[&'static str], names: &'a impl Names, row: &mut Row<'a>) {
        row.push(keys.name, Val::Function(*at, names.symbol(*at)));
    }
}

/// The task's name comes before its number.
impl Written<i32> for Task {
    fn write<'a>(pid: &'a i32, keys: Keys, _: &[&'static str], names: &'a impl Names, row: &mut Row<'a>) {
        for comm in keys.also {
            row.push(comm, Val::Comm(*pid, names.comm(*pid)));
        }
        row.push(keys.name, Val::Number((*pid).into()));
    }
}

/// The handler's name comes behind the interrupt's number.
impl Written<i32> for Handler {
    fn write<'a>(irq: &'a i32, keys: Keys, _: &[&'static str], names: &'a impl Names, row: &mut Row<'a>) {
        row.push(keys.name, Val::Number((*irq).into()));
        for name in keys.also {
            row.push(name, Val::Text(names.irq_name(*irq).unwrap_or("")));
        }
    }
}

/// Text has the time left, for which the row must hold when the timer expires.
impl Written<u64> for ArmedAt {
    fn write<'a>(now: &'a u64, keys: Keys, _: &[&'static str], _: &'a impl Names, row: &mut Row<'a>) {
        let expires = row.fields().iter().find(|(key, _)| keys.also.contains(key));
        let expires = expires.and_then(|(_, value)| value.number());
        debug_assert!(expires.is_some(), "{} comes before {:?}", keys.name, keys.also);
        row.push(keys.name, expires.map_or(Val::Number((*now).into()), |at| Val::ArmedAt(at, *now)));
    }
}

/// The event's name says it.
impl Written<bool> for NameEnd {
    fn write<'a>(has: &'a bool, keys: Keys, events: &[&'static str], _: &'a impl Names, row: &mut Row<'a>) {
        let called = events.iter().find(|name| name.ends_with(keys.name) == *has);
        row.name = called.unwrap_or(&row.name);
    }
}

impl Written<Vector> for NameEnd {
    fn write<'a>(vector: &'a Vector, keys: Keys, _: &[&'static str], _: &'a impl Names, row: &mut Row<'a>) {
        row.name = event_of(*vector, keys.name).unwrap_or(row.name);
    }
}
