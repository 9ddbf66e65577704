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
