// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

/// A way in which a recording can be dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HealthKind {
    /// The kernel dropped events because the buffer was full (counted in events where the kernel says how many,
    /// else one for each gap).
    LostEvents,
    /// Another recording begins in the same file; nobody knows what happened in between.
    NewRecording,
    /// The clock of one CPU went back.
    ClockBackwards,
    /// The clock jumped forward by more than an hour.
    ClockJump,
    /// An event whose id no format in the file describes.
    UnknownEvent,
    /// An event shorter than its format, or otherwise undecodable.
    BadEvent,
    /// A page of the ring buffer that makes no sense; the rest of the page was given up.
    BadPage,
    /// A CPU's data, or another part of the file, ends in the middle.
    Truncated,
    /// Something in the file that the reader leaves out on purpose.
    Ignored,
    /// An idle exit without an entry (normal once a CPU at the start of a recording).
    ExitWithoutEntry,
    /// An idle entry without an exit (normal once a CPU at the end of a recording).
    EntryWithoutExit,
    /// An idle state that the platform's table does not have.
    StateOutOfTable,
    /// A `cpu_idle_miss` that belongs to no idle period.
    MissWithoutStay,
}

impl HealthKind {
    /// All kinds, in the order of the tables.
    pub const ALL: [Self; 13] = [
        Self::LostEvents,
        Self::NewRecording,
        Self::ClockBackwards,
        Self::ClockJump,
        Self::UnknownEvent,
        Self::BadEvent,
        Self::BadPage,
        Self::Truncated,
        Self::Ignored,
        Self::ExitWithoutEntry,
        Self::EntryWithoutExit,
        Self::StateOutOfTable,
        Self::MissWithoutStay,
    ];

    /// The kind whose [`Self::name`] is `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|k| k.name() == name)
    }

    /// The word for JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LostEvents => "lost-events",
            Self::NewRecording => "new-recording",
            Self::ClockBackwards => "clock-backwards",
            Self::ClockJump => "clock-jump",
            Self::UnknownEvent => "unknown-event",
            Self::BadEvent => "bad-event",
            Self::BadPage => "bad-page",
            Self::Truncated => "truncated",
            Self::Ignored => "ignored",
            Self::ExitWithoutEntry => "exit-without-entry",
            Self::EntryWithoutExit => "entry-without-exit",
            Self::StateOutOfTable => "state-out-of-table",
            Self::MissWithoutStay => "miss-without-stay",
        }
    }

    /// What it is, for a reader of a table.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::LostEvents => "events lost by the kernel (buffer overrun)",
            Self::NewRecording => "further recordings that begin in the same file",
            Self::ClockBackwards => "times that go back on one CPU",
            Self::ClockJump => "jumps of the clock by more than an hour",
            Self::UnknownEvent => "events without a format description",
            Self::BadEvent => "events that do not fit their format",
            Self::BadPage => "broken ring-buffer pages",
            Self::Truncated => "parts of the file whose data ends in the middle",
            Self::Ignored => "parts of the file left out",
            Self::ExitWithoutEntry => "idle exits without entry",
            Self::EntryWithoutExit => "idle entries without exit",
            Self::StateOutOfTable => "idle entries into a state that the platform lacks",
            Self::MissWithoutStay => "cpu_idle_miss events without an idle period",
        }
    }

    /// The words for so many of them.
    #[must_use]
    pub fn describe_number(self, n: u64) -> &'static str {
        match self {
            _ if n != 1 => self.describe(),
            Self::LostEvents => "event lost by the kernel (buffer overrun)",
            Self::NewRecording => "further recording that begins in the same file",
            Self::ClockBackwards => "time that goes back on one CPU",
            Self::ClockJump => "jump of the clock by more than an hour",
            Self::UnknownEvent => "event without a format description",
            Self::BadEvent => "event that does not fit its format",
            Self::BadPage => "broken ring-buffer page",
            Self::Truncated => "part of the file whose data ends in the middle",
            Self::Ignored => "part of the file left out",
            Self::ExitWithoutEntry => "idle exit without entry",
            Self::EntryWithoutExit => "idle entry without exit",
            Self::StateOutOfTable => "idle entry into a state that the platform lacks",
            Self::MissWithoutStay => "cpu_idle_miss event without an idle period",
        }
    }
}

/// How often one kind of dirt was met, and where first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCount {
    pub count: u64,
    /// Where it was met first, in words ("CPU 3 at 12.345678 s", "byte 4096").
    pub first: String,
}

/// Counters of everything that was lost or doubtful in an input; empty for a clean one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    counts: BTreeMap<HealthKind, HealthCount>,
}

impl Health {
    /// Counts `n` more of `kind`; `place` names the place and is only asked for the first.
    pub fn add(&mut self, kind: HealthKind, n: u64, place: impl FnOnce() -> String) {
        if n == 0 {
            return;
        }
        let entry = self.counts.entry(kind).or_insert_with(|| HealthCount { count: 0, first: place() });
        entry.count = entry.count.saturating_add(n);
    }

    /// How many of `kind` were met.
    #[must_use]
    pub fn count(&self, kind: HealthKind) -> u64 {
        self.counts.get(&kind).map_or(0, |c| c.count)
    }

    /// All counters, in a fixed order.
    pub fn iter(&self) -> impl Iterator<Item = (HealthKind, &HealthCount)> {
        self.counts.iter().map(|(k, v)| (*k, v))
    }

    /// Whether nothing was met.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Adds the counts of `other`; where both met a kind, the place of `self` stays.
    pub fn merge(&mut self, other: &Self) {
        for (kind, c) in other.iter() {
            self.add(kind, c.count, || c.first.clone());
        }
    }
}
