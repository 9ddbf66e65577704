// SPDX-License-Identifier: GPL-2.0-only
//! The clocks that a trace may be recorded with (Documentation/trace/ftrace.rst, `trace_clock`).

use idlewise_model::{Note, NoteId};

/// A clock that jumps further than an hour is counted.
pub(crate) const JUMP_NS: u64 = 3_600_000_000_000;

/// From the buffer's times to the trace's, as the file asks for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Multiplier and shift, for time stamp counters.
    pub(crate) scale: Option<(u32, u32)>,
    /// Added after scaling, ns.
    pub(crate) offset: i64,
}

impl Clock {
    #[inline(always)]
    pub(crate) fn time(self, raw: u64) -> u64 {
        let ns = match self.scale {
            None => raw,
            Some((mult, shift)) => ((u128::from(raw) * u128::from(mult)) >> shift.min(127)) as u64,
        };
        ns.wrapping_add_signed(self.offset)
    }
}

/// The clock that the text of `trace_clock` selects: "local global [mono]" to "mono"; a single name stays.
pub(crate) fn selected(list: &str) -> String {
    let chosen = list.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
    chosen.unwrap_or_else(|| list.trim()).to_owned()
}

/// What the user of a result should know of a clock. `in_ns` says that the file tells how to make nanoseconds of it.
/// hrtimers expire on CLOCK_MONOTONIC, which is the clock "mono"; the distance of "local", "global" and "perf" from it is
/// found in the events.
pub(crate) fn remark(clock: &str, in_ns: bool) -> Option<Note> {
    let mut id = NoteId::TraceClock;
    let mut no_ns = |words| {
        id = NoteId::NoNanoseconds;
        words
    };
    let what = match clock {
        "counter" => no_ns("numbers the events: nothing can be said of time"),
        "uptime" => no_ns("counts ticks of 10 ms: times are in these units, far too coarse for idle periods"),
        "x86-tsc" | "ppc-tb" if !in_ns => {
            no_ns("counts cycles, of which the file does not tell the length: times are in cycles")
        }
        "mono_raw" => {
            "is not steered as CLOCK_MONOTONIC is: timers seem to drift against it by up to 500 ppm"
        }
        "boot" => "goes on in system suspend, unlike CLOCK_MONOTONIC: timers seem late after one",
        "tai" => "is set when the time of day is: timers seem to jump then",
        _ => return None,
    };
    Some(id.note(format!("the clock {clock:?} {what}; the clock \"mono\" is best")))
}

/// A time of an event as messages show it, from ns.
pub(crate) fn seconds(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}
