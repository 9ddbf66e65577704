// SPDX-License-Identifier: GPL-2.0-only
use crate::{Event, EventKind, Note, NoteId};

/// A mark that lies farther than this from everything that the kernel did is not of the recorded time, ns: an hour.
const FAR_NS: u64 = 3_600_000_000_000;

/// The time that a recording covers. Recorders write marks of their own into a trace, such as a clock's reading at time 0:
/// where they lie hours from all events that are understood, they are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    understood: Option<(u64, u64)>,
    all: Option<(u64, u64)>,
}

impl Span {
    /// Extends the span by the time of `event`.
    #[inline]
    pub fn add(&mut self, event: &Event) {
        let with = |span: Option<(u64, u64)>| {
            let (first, last) = span.unwrap_or((event.ts_ns, event.ts_ns));
            Some((first.min(event.ts_ns), last.max(event.ts_ns)))
        };
        self.all = with(self.all);
        if !matches!(event.kind, EventKind::Other { .. }) {
            self.understood = with(self.understood);
        }
    }

    /// Time of the first and of the last event, ns; nothing without events.
    #[must_use]
    pub fn ends_ns(&self) -> Option<(u64, u64)> {
        let (Some(all), Some(understood)) = (self.all, self.understood) else { return self.all };
        let near = |mark_ns: u64, ns: u64| if mark_ns.abs_diff(ns) > FAR_NS { ns } else { mark_ns };
        Some((near(all.0, understood.0), near(all.1, understood.1)))
    }

    /// What was left out, in words.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        let (all, kept) = (self.all?, self.ends_ns()?);
        let far = if all.0 == kept.0 { all.1 } else { all.0 };
        (all != kept).then(|| {
            NoteId::FarMark.note(format!(
                "a mark at {}.{:09} s lies more than an hour from all that happened: it is not of the recorded time",
                far / 1_000_000_000,
                far % 1_000_000_000
            ))
        })
    }

    /// Whether a silence of `silence_ns` is between a mark and events, not one of the recording.
    #[must_use]
    pub fn is_far(silence_ns: u64) -> bool {
        silence_ns > FAR_NS
    }
}
