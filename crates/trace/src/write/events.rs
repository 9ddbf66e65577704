// SPDX-License-Identifier: GPL-2.0-only
//! An understood event as the kernel's own event again.

use idlewise_model::{Asked, GovernorName, HrtimerMode, Ipi, TimerFlags};
use idlewise_model::{CpuMask, Event, EventKind, Vector, kernel_events};

use super::Names;
use super::fields::Written;
use super::row::Row;
use crate::kernel::meaning::{Keys, kinds};

macro_rules! rows {
    ($(
        $(#[$doc:meta])* $kind:ident [$system:literal $name:literal $(, $others:literal $other:literal)*]
        { $($field:ident: $type:ty as $stored:ident [$key:literal $(, $also:literal)*],)+ }
        $(only $decides:ident as $guard:ident [$its_key:literal])?;
    )+) => {
        impl<'a> Row<'a> {
            /// `None` for events that the reader made.
            pub(super) fn of(event: &'a Event, names: &'a impl Names) -> Option<Self> {
                Some(match &event.kind {
                    EventKind::Lost { .. } => return None,
                    EventKind::Other { id } => {
                        let full = names.event_name(*id).unwrap_or("unknown");
                        let (system, name) = full.split_once(':').unwrap_or(("", full));
                        let mut row = Self::new(system, name);
                        row.understood = false;
                        row
                    }
                    $(EventKind::$kind { $($field),+ } => {
                        let events = [$name $(, $other)*];
                        let mut row = Self::new($system, $name);
                        $({
                            let keys = Keys { name: $key, also: &[$($also),*] };
                            <kinds::$stored as Written<$type>>::write($field, keys, &events, names, &mut row);
                        })+
                        row
                    })+
                })
            }
        }
    };
}

kernel_events!(rows);

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::kernel::meaning::{Layout, Op, Spelled, Values, forms, spelled};
    use crate::write::row::Val;
    use crate::write::{FtraceText, PerfettoWriter};
    use crate::{TraceFile, TraceMeta};

    /// An event that has every field.
    struct Complete;

    impl Layout for Complete {
        type Field = ();

        fn number(&mut self, _: &str) -> Option<()> {
            Some(())
        }

        fn text(&mut self, name: &str) -> Option<()> {
            matches!(spelled(name), Some((_, Spelled::Word | Spelled::Rest))).then_some(())
        }
    }

    impl Values<()> for Complete {
        fn u64(&self, (): ()) -> u64 {
            1
        }

        fn i64(&self, (): ()) -> i64 {
            1
        }

        fn text(&self, (): ()) -> &[u8] {
            b"/"
        }

        /// Lower addresses are none.
        fn function(&self, (): ()) -> u64 {
            1 << 40
        }
    }

    struct Nameless;

    impl Names for Nameless {
        fn comm(&self, _: i32) -> Option<&str> {
            None
        }

        fn symbol(&self, _: u64) -> Option<&str> {
            None
        }

        fn event_name(&self, _: u16) -> Option<&str> {
            None
        }

        fn irq_name(&self, _: i32) -> Option<&str> {
            None
        }
    }

    #[test]
    fn every_declared_event_is_read_and_written_and_read_again() {
        let mut kinds = Vec::new();
        for (system, name) in forms() {
            let name = name.replace('*', "irq_work");
            let op = Op::compile(system, &name, &mut Complete).unwrap();
            assert!(!matches!(op, Op::Other), "{system}:{name} has no meaning");
            let event = Event { ts_ns: 1_000, cpu: 1, pid: 1, kind: op.kind(7, &Complete) };
            assert!(!matches!(event.kind, EventKind::Other { .. }), "{system}:{name}: {event:?}");
            let row = Row::of(&event, &Nameless).unwrap();
            // What several of the kernel's events mean is written as the first.
            assert!(
                forms()
                    .any(|form| form.0 == row.system && row.name.ends_with(form.1.trim_start_matches('*')))
            );
            for (key, value) in row.fields() {
                let named = matches!(value, Val::Comm(..)) && key.ends_with("comm");
                assert!(named || spelled(key).is_some(), "{system}:{name}: nobody reads {key}");
            }
            let mut text = FtraceText::new(Vec::new(), &TraceMeta::default()).unwrap();
            text.event(&event, &Nameless).unwrap();
            let mut perfetto = PerfettoWriter::new(Vec::new(), &TraceMeta::default()).unwrap();
            perfetto.event(&event, &Nameless).unwrap();
            for bytes in [text.finish().unwrap(), perfetto.finish().unwrap()] {
                let file = TraceFile::from_bytes(Path::new("written"), bytes).unwrap();
                let read: Vec<Event> = file.events().unwrap().collect();
                assert_eq!(read, [event], "{system}:{name} in {}", file.meta().format);
            }
            kinds.push(std::mem::discriminant(&event.kind));
        }
        kinds.dedup();
        assert!(kinds.len() >= 38, "only {} kinds are declared", kinds.len());
    }
}
