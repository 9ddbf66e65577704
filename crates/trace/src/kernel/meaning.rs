// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel's events mean, made of their declarations ([`idlewise_model::kernel_events`]): which fields of which
//! event make which [`EventKind`]. Each format adds only where it keeps a field ([`Layout`]) and how to get a value from
//! there ([`Values`]).

mod declared;
mod key;
pub(crate) mod kinds;
mod layout;
mod vectors;

use std::fmt::Debug;

use idlewise_model::{
    Asked, CpuMask, EventKind, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector, kernel_events,
};

pub(crate) use declared::{spelled, system_of, tasks_of};
pub(crate) use key::{Keys, Spelled};
use kinds::{Condition, Kind, Needs};
pub(crate) use layout::{Layout, Values};
pub(crate) use vectors::{event_of, ipi, reason};

/// No event has more fields that mean something.
pub(crate) const MOST_FIELDS: usize = 11;

macro_rules! op {
    ($(
        $(#[$doc:meta])* $kind:ident [$($system:literal $name:literal),+]
        { $($field:ident: $type:ty as $stored:ident [$key:literal $(, $also:literal)*],)+ }
        $(only $decides:ident as $guard:ident [$its_key:literal])?;
    )+) => {
        /// What to make of an event, with the places of its fields.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Op<F: Copy + Debug> {
            Other,
            /// Text that a program wrote to `trace_marker`.
            Marker { text: F },
            $($kind {
                $($decides: <kinds::$guard as Condition>::Place<F>,)?
                $($field: <kinds::$stored as Kind<$type>>::Place<F>,)+
            },)+
        }

        impl<F: Copy + Debug> Op<F> {
            /// What happened, of an event with id `id` and the values `v`.
            #[inline(always)]
            pub(crate) fn kind(&self, id: u16, v: &impl Values<F>) -> EventKind {
                match *self {
                    Self::Other => EventKind::Other { id },
                    Self::Marker { text } => marker(v.text(text)).unwrap_or(EventKind::Other { id }),
                    $(Self::$kind { $($field,)+ $($decides,)? } => {
                        $(if !kinds::$guard::holds($decides, v) {
                            return EventKind::Other { id };
                        })?
                        EventKind::$kind { $($field: <kinds::$stored as Kind<$type>>::get($field, v),)+ }
                    })+
                }
            }

            /// `None` with nothing missing: the event has no meaning here.
            fn declared<L: Layout<Field = F>>(
                system: &str,
                name: &str,
                n: &mut Needs<'_, L>,
            ) -> Option<Self> {
                $(if [$(($system, $name)),+].iter().any(|form| declared::fits(*form, system, name)) {
                    return Some(Self::$kind {
                        $($decides: kinds::$guard::find(n, $its_key, name)?,)?
                        $($field: <kinds::$stored as Kind<$type>>::find(
                            n, Keys { name: $key, also: &[$($also),*] }, name
                        )?,)+
                    });
                })+
                None
            }
        }
    };
}

kernel_events!(op);

impl<F: Copy + Debug> Op<F> {
    /// What to make of the event `system:name`. An event without a meaning here is [`Op::Other`].
    ///
    /// # Errors
    /// The name of a field that it needs and does not have.
    pub(crate) fn compile<L: Layout<Field = F>>(
        system: &str,
        name: &str,
        layout: &mut L,
    ) -> Result<Self, String> {
        if (system, name) == declared::MARKER {
            return Ok(layout.text("buf").map_or(Self::Other, |text| Self::Marker { text }));
        }
        let mut needs = Needs::new(layout);
        match (Self::declared(system, name, &mut needs), needs.missing) {
            (Some(op), _) => Ok(op),
            (None, None) => Ok(Self::Other),
            (None, Some(field)) => Err(field),
        }
    }
}

/// Frequencies that user space writes to the trace itself: `cpu_frequency_devlib: state=450000 cpu_id=5` (devlib, for
/// machines whose driver has no event).
#[cold]
fn marker(text: &[u8]) -> Option<EventKind> {
    let fields = text.strip_prefix(b"cpu_frequency")?;
    let fields = String::from_utf8_lossy(fields);
    let value = |key: &str| {
        fields.split_ascii_whitespace().find_map(|w| w.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
    };
    Some(EventKind::CpuFrequency { cpu: value("cpu_id")?, khz: value("state")? })
}
