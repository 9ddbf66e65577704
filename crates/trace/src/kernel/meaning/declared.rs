// SPDX-License-Identifier: GPL-2.0-only
//! The declarations of events as a table: their names, and the names of their fields.

use idlewise_model::{Asked, CpuMask, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector, kernel_events};

use super::key::Spelled;
use super::kinds::{self, Condition, Kind};
use super::vectors::is_x86_vector;

/// An event as its file declares it.
struct Event {
    forms: &'static [(&'static str, &'static str)],
    fields: &'static [Field],
}

/// A field as its file declares it.
struct Field {
    /// Its names; how a line of text spells the first, and the others.
    keys: &'static [&'static str],
    spelled: [Option<Spelled>; 2],
    /// The second name is that of the task's name.
    task: bool,
}

macro_rules! table {
    ($(
        $(#[$doc:meta])* $kind:ident [$($system:literal $name:literal),+]
        { $($field:ident: $type:ty as $stored:ident [$($key:literal),+],)+ }
        $(only $decides:ident as $guard:ident [$its_key:literal])?;
    )+) => {
        static EVENTS: &[Event] = &[$(Event {
            forms: &[$(($system, $name)),+],
            fields: &[
                $(Field {
                    keys: &[$($key),+],
                    spelled: <kinds::$stored as Kind<$type>>::SPELLED,
                    task: <kinds::$stored as Kind<$type>>::TASK,
                },)+
                $(Field { keys: &[$its_key], spelled: [<kinds::$guard as Condition>::SPELLED; 2], task: false },)?
            ],
        },)+];
    };
}

kernel_events!(table);

/// The event of text that programs write to `trace_marker`.
pub(super) const MARKER: (&str, &str) = ("ftrace", "print");

/// Whether `system:name` is the declared event `form`.
pub(super) fn fits(form: (&str, &str), system: &str, name: &str) -> bool {
    let named = match form.1.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => name == form.1,
    };
    named && form.0 == system
}

/// The system of the events that mean something here, for formats that do not name it.
pub(crate) fn system_of(name: &str) -> Option<&'static str> {
    let mut forms = EVENTS.iter().flat_map(|event| event.forms).chain(&[MARKER]);
    if let Some((system, _)) = forms.find(|(_, declared)| *declared == name) {
        return Some(system);
    }
    Some(match name {
        _ if is_x86_vector(name) => "irq_vectors",
        _ if name.starts_with("sched_") => "sched",
        _ if name.starts_with("hrtimer_") || name.starts_with("timer_") => "timer",
        _ if name.starts_with("tmigr_") => "timer_migration",
        _ => return None,
    })
}

/// How a line of text spells the field `name`, which is so in every event that has it; none where nobody reads it.
pub(crate) fn spelled(name: &str) -> Option<(&'static str, Spelled)> {
    let fields = EVENTS.iter().flat_map(|event| event.fields);
    fields.flat_map(Field::spellings).find(|(key, _)| *key == name)
}

impl Field {
    fn spellings(&self) -> impl Iterator<Item = (&'static str, Spelled)> {
        let [first, others] = self.spelled;
        let how = std::iter::once(first).chain(std::iter::repeat(others));
        self.keys.iter().zip(how).filter_map(|(key, how)| Some((*key, how?)))
    }
}

/// The fields of the event `system:name` that hold a task and its name.
pub(crate) fn tasks_of(system: &str, name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let event = EVENTS.iter().find(|event| event.forms.iter().any(|form| fits(*form, system, name)));
    let fields = event.map_or(&[][..], |event| event.fields);
    fields.iter().filter(|field| field.task).filter_map(|field| match field.keys {
        [pid, comm] => Some((*pid, *comm)),
        _ => None,
    })
}
