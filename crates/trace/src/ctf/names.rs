// SPDX-License-Identifier: GPL-2.0-only
//! From the names in a CTF trace to the kernel's. LTTng puts the kernel's system before most names and calls some fields
//! its own way, as the metadata of its traces shows; `perf data convert` keeps `system:name` and the fields.

use super::compile::{Fields, Found, find};
use super::program::Field;
use crate::kernel::meaning::Layout;

/// How LTTng's name of an event begins, the kernel's system, and what LTTng put before the kernel's name. The first that
/// fits counts.
const BEGINNINGS: [(&str, &str, &str); 10] = [
    ("power_", "power", "power_"),
    ("sched_", "sched", ""),
    ("block_", "block", ""),
    ("irq_softirq_", "irq", "irq_"),
    ("irq_handler_", "irq", ""),
    ("x86_irq_vectors_", "irq_vectors", "x86_irq_vectors_"),
    ("ipi_", "ipi", ""),
    ("timer_hrtimer_", "timer", "timer_"),
    ("timer_itimer_", "timer", "timer_"),
    ("timer_", "timer", ""),
];

/// The kernel's name of a field and LTTng's: its `pid` is the process, `tid` the task.
const FIELDS: [(&str, &str); 3] = [("pid", "tid"), ("prev_pid", "prev_tid"), ("next_pid", "next_tid")];

/// LTTng counts priorities from the end of the real-time ones: its 20 is the kernel's 120.
const PRIORITIES: [&str; 2] = ["prev_prio", "next_prio"];
const REAL_TIME_PRIORITIES: i16 = 100;

/// System and name of the kernel's event; the system is `lttng` for LTTng's own events and those without a rule.
pub(crate) fn kernel_name(name: &str) -> (&str, &str) {
    if let Some(both) = name.split_once(':') {
        return both;
    }
    let rule = BEGINNINGS.iter().find(|(beginning, ..)| name.starts_with(beginning));
    match rule {
        Some((_, system, cut)) => (system, name.strip_prefix(cut).unwrap_or(name)),
        None => ("lttng", name),
    }
}

/// The kernel's name of a field of an event, which is one of LTTng's as told, and what to add to its number.
pub(crate) fn kernel_field(name: &str, lttng: bool) -> (&str, i16) {
    let renamed = FIELDS.iter().find(|(_, own)| lttng && *own == name);
    let add = if lttng && PRIORITIES.contains(&name) { REAL_TIME_PRIORITIES } else { 0 };
    (renamed.map_or(name, |(kernel, _)| kernel), add)
}

/// The fields of an event, asked for by the kernel's names.
pub(super) struct KernelFields<'f> {
    pub(super) fields: &'f Fields,
    /// The event is one of LTTng's.
    pub(super) lttng: bool,
}

impl KernelFields<'_> {
    fn find(&self, name: &str) -> Option<&Found> {
        let renamed = FIELDS.iter().find(|(kernel, _)| self.lttng && *kernel == name);
        renamed.and_then(|(_, own)| find(self.fields, own)).or_else(|| find(self.fields, name))
    }
}

impl Layout for KernelFields<'_> {
    type Field = Field;

    fn number(&mut self, name: &str) -> Option<Field> {
        let Some(Found::Number(num, _)) = self.find(name) else { return None };
        let add = if self.lttng && PRIORITIES.contains(&name) { REAL_TIME_PRIORITIES } else { 0 };
        Some(Field::Number { num: *num, add })
    }

    fn text(&mut self, name: &str) -> Option<Field> {
        if let Some(Found::Text(field)) = self.find(name) { Some(*field) } else { None }
    }
}
