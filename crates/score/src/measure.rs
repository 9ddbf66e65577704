// SPDX-License-Identifier: GPL-2.0-only
//! What a score measures: one row for each number, from which tables, CSV, `--fail-if`, sensitivity and the JSON page are made.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Latency, Score};

/// One number of a [`Score`], or of the comparison of two.
#[derive(Debug)]
pub struct Measure {
    /// In `--fail-if`, in the JSON and CSV of a comparison.
    pub name: &'static str,
    /// In tables. Where it has the platform's energy unit, the table adds that.
    pub label: &'static str,
    /// What it says, in a few words.
    pub meaning: &'static str,
    /// What it is counted in.
    pub unit: Unit,
    /// Which way is better, all else being equal.
    pub better: Better,
    /// The value; nothing where the score does not know it, or where it is no number of a single score.
    pub of: fn(&Score) -> Option<Number>,
    /// Where it is in the JSON of a score, `*` for each of several that are added up; else where it is in a comparison's.
    pub json: &'static str,
    /// Its column in the CSV of `replay` and `score`; nothing where it is no number of a single score.
    pub column: Option<&'static str>,
    /// Columns of a higher edition follow those of all lower ones, so that a new measure may stand here in its place and
    /// still move none of the older columns of measures.
    pub column_edition: u8,
    /// Where else it is used.
    pub places: &'static [Place],
}

/// What a measure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A share, %.
    Share,
    /// A time that somebody waits, ns; tables show it in the unit that fits.
    Time,
    /// A time that the whole run adds up to, ns; tables show it in s.
    Span,
    /// The platform's energy: mJ, or relative.
    Energy,
}

/// Which way of a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    Less,
    More,
    /// Neither: it explains other numbers.
    Neither,
}

/// Where a measure is used, but for CSV and JSON, which have all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Row of the tables of `replay` and `compare`, `changes[]` in JSON, `--fail-if`.
    Compared,
    /// Row of these tables only where a governor has any of it.
    WhereAny,
    /// Likewise, and in the CSV of a comparison: the governor did something wrong.
    Fault,
    /// `--fail-if` and the table by CPUs: a number of two runs together, which no score has.
    Common,
    /// In brackets behind the value in `replay`, and in `change` in its JSON: the change against the baseline.
    Baseline,
    /// Column of the tables by CPU and cluster.
    Parts,
    /// Column of the table of `score`.
    Recorded,
    /// Fact about `idle` of `simulate`: a count for each second, a latency as that of leaving a state.
    Simulated,
    /// `--sensitivity` shows whether the ranking of the governors by it depends on uncertain sleep lengths.
    Ranking,
}

/// A value of a measure, exact where it is a whole number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Things, or ns.
    Whole(u64),
    Real(f64),
}

impl Number {
    /// The value as a number that can be computed with.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Whole(n) => n as f64,
            Self::Real(v) => v,
        }
    }
}

/// As a program reads it: all digits, no unit.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(n) => n.fmt(f),
            Self::Real(v) => v.fmt(f),
        }
    }
}

/// All of them, in the order in which tables show them. Whoever adds one adds a row here, and what it counts to [`Score`].
pub static MEASURES: [Measure; 24] = [
    Measure {
        name: "wakeups",
        label: "wakeups",
        meaning: "idle periods that ended; fewer are better, all else being equal",
        unit: Unit::Count,
        better: Better::Less,
        of: |s| count(s.wakeups),
        json: "wakeups",
        column: Some("wakeups"),
        column_edition: 0,
        places: &[Place::Compared, Place::Baseline, Place::Parts, Place::Recorded, Place::Simulated],
    },
    Measure {
        name: "too_deep",
        label: "too deep %",
        meaning: "idle periods shorter than the target residency of their state, % of wakeups",
        unit: Unit::Share,
        better: Better::Less,
        of: |s| share(s.too_deep_pct),
        json: "too_deep_pct",
        column: Some("too_deep_pct"),
        column_edition: 0,
        places: &[
            Place::Compared,
            Place::Baseline,
            Place::Parts,
            Place::Recorded,
            Place::Ranking,
            Place::Simulated,
        ],
    },
    Measure {
        name: "too_shallow",
        label: "too shallow %",
        meaning: "idle periods that would have paid for the next enabled deeper state, % of wakeups",
        unit: Unit::Share,
        better: Better::Less,
        of: |s| share(s.too_shallow_pct),
        json: "too_shallow_pct",
        column: Some("too_shallow_pct"),
        column_edition: 0,
        places: &[
            Place::Compared,
            Place::Baseline,
            Place::Parts,
            Place::Recorded,
            Place::Ranking,
            Place::Simulated,
        ],
    },
    Measure {
        name: "rejected",
        label: "rejected",
        meaning: "entries that the driver refused",
        unit: Unit::Count,
        better: Better::Less,
        of: |s| count(s.rejected),
        json: "rejected",
        column: Some("rejected"),
        column_edition: 0,
        places: &[Place::Recorded],
    },
    Measure {
        name: "idle",
        label: "idle",
        meaning: "time in idle states",
        unit: Unit::Span,
        better: Better::Neither,
        of: |s| count(s.idle_ns),
        json: "idle_ns",
        column: Some("idle_ns"),
        column_edition: 0,
        places: &[Place::Recorded],
    },
    Measure {
        name: "ticks",
        label: "tick wakes",
        meaning: "wakeups by the tick alone",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| s.ticks.map(Number::Whole),
        json: "ticks",
        column: Some("tick_wakes"),
        column_edition: 0,
        places: &[Place::Compared, Place::Parts, Place::Recorded, Place::Simulated],
    },
    Measure {
        name: "tick_kept",
        label: "tick kept",
        meaning: "entries at which the tick ran on",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| s.ticks_kept.map(Number::Whole),
        json: "ticks_kept",
        column: Some("tick_kept"),
        column_edition: 0,
        places: &[Place::Recorded],
    },
    Measure {
        name: "tick_stopped",
        label: "tick stopped",
        meaning: "entries at which the tick was stopped",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| s.ticks_stopped.map(Number::Whole),
        json: "ticks_stopped",
        column: Some("tick_stopped"),
        column_edition: 0,
        places: &[Place::Compared, Place::Recorded, Place::Simulated],
    },
    Measure {
        name: "tick_stopped_before",
        label: "stopped before",
        meaning: "entries before which the tick was already stopped in the same idle visit",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| s.ticks_stopped_before.map(Number::Whole),
        json: "ticks_stopped_before",
        column: Some("tick_stopped_before"),
        column_edition: 1,
        places: &[Place::Recorded],
    },
    Measure {
        name: "during_exit",
        label: "during an exit",
        meaning: "wake events while the CPU was leaving a state",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| count(s.overtaken),
        json: "overtaken",
        column: Some("during_exit"),
        column_edition: 0,
        places: &[Place::WhereAny],
    },
    Measure {
        name: "latency_mean",
        label: "latency mean",
        meaning: "wakeup latency: mean",
        unit: Unit::Time,
        better: Better::Less,
        of: |s| time(&s.latency, Number::Real(s.latency.mean_ns)),
        json: "latency.mean_ns",
        column: Some("latency_mean_ns"),
        column_edition: 0,
        places: &[Place::Compared, Place::Baseline, Place::Parts, Place::Simulated],
    },
    Measure {
        name: "latency_p50",
        label: "latency p50",
        meaning: "wakeup latency: median",
        unit: Unit::Time,
        better: Better::Less,
        of: |s| time(&s.latency, Number::Whole(s.latency.p50_ns)),
        json: "latency.p50_ns",
        column: Some("latency_p50_ns"),
        column_edition: 0,
        places: &[Place::Compared, Place::Recorded],
    },
    Measure {
        name: "latency_p99",
        label: "latency p99",
        meaning: "wakeup latency: 99th percentile",
        unit: Unit::Time,
        better: Better::Less,
        of: |s| time(&s.latency, Number::Whole(s.latency.p99_ns)),
        json: "latency.p99_ns",
        column: Some("latency_p99_ns"),
        column_edition: 0,
        places: &[Place::Compared, Place::Parts, Place::Recorded, Place::Simulated],
    },
    Measure {
        name: "latency_max",
        label: "latency max",
        meaning: "wakeup latency: the longest",
        unit: Unit::Time,
        better: Better::Less,
        of: |s| time(&s.latency, Number::Whole(s.latency.max_ns)),
        json: "latency.max_ns",
        column: Some("latency_max_ns"),
        column_edition: 0,
        places: &[Place::Compared],
    },
    Measure {
        name: "energy",
        label: "idle energy",
        meaning: "energy of the idle periods, of the idle loop, and of being awake for the tick alone",
        unit: Unit::Energy,
        better: Better::Less,
        of: |s| Some(Number::Real(s.energy)),
        json: "energy",
        column: Some("energy"),
        column_edition: 0,
        places: &[Place::Compared, Place::Baseline, Place::Parts, Place::Ranking],
    },
    Measure {
        name: "tick_unknown",
        label: "tick unknown",
        meaning: "entries of which it is not known what became of the tick",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| count(s.ticks_unknown),
        json: "ticks_unknown",
        column: Some("tick_unknown"),
        column_edition: 0,
        places: &[],
    },
    Measure {
        name: "chose_disabled",
        label: "chose a disabled state",
        meaning: "choices of a state that was off, although another was on",
        unit: Unit::Count,
        better: Better::Less,
        of: |s| count(s.breaches.disabled),
        json: "breaches.disabled",
        column: Some("chose_disabled"),
        column_edition: 0,
        places: &[Place::Fault],
    },
    Measure {
        name: "chose_over_limit",
        label: "chose above the limit",
        meaning: "choices of a state above the latency limit, although one that was on kept it",
        unit: Unit::Count,
        better: Better::Less,
        of: |s| count(s.breaches.over_limit),
        json: "breaches.over_limit",
        column: Some("chose_over_limit"),
        column_edition: 0,
        places: &[Place::Fault],
    },
    Measure {
        name: "chose_no_state",
        label: "answers out of range",
        meaning: "choices that are no state of the machine",
        unit: Unit::Count,
        better: Better::Less,
        of: |s| count(s.breaches.no_state),
        json: "breaches.no_state",
        column: Some("chose_no_state"),
        column_edition: 0,
        places: &[Place::Fault],
    },
    Measure {
        name: "rejected_time",
        label: "rejected, time",
        meaning: "time from entries to their refusal",
        unit: Unit::Span,
        better: Better::Less,
        of: |s| count(s.rejected_ns),
        json: "rejected_ns",
        column: Some("rejected_ns"),
        column_edition: 0,
        places: &[],
    },
    Measure {
        name: "loop_time",
        label: "idle loop, time",
        meaning: "time that CPUs ran for the idle loop alone: decisions, sleep lengths, stopping the tick, asking again",
        unit: Unit::Span,
        better: Better::Less,
        of: |s| count(s.loop_ns),
        json: "loop_ns",
        column: Some("loop_ns"),
        column_edition: 2,
        places: &[],
    },
    Measure {
        name: "loop_energy",
        label: "idle loop",
        meaning: "of the energy, that of the idle loop",
        unit: Unit::Energy,
        better: Better::Less,
        of: |s| Some(Number::Real(s.loop_energy)),
        json: "loop_energy",
        column: Some("loop_energy"),
        column_edition: 2,
        places: &[],
    },
    Measure {
        name: "unplaced",
        label: "unplaced",
        meaning: "idle periods in states that the machine does not have",
        unit: Unit::Count,
        better: Better::Neither,
        of: |s| count(s.unplaced.values().map(|u| u.entries).sum()),
        json: "unplaced.*.entries",
        column: Some("unplaced"),
        column_edition: 0,
        places: &[],
    },
    Measure {
        name: "differ",
        label: "other choice %",
        meaning: "wake events before which the two chose differently",
        unit: Unit::Share,
        better: Better::Neither,
        of: |_| None,
        json: "waits.differ_pct",
        column: None,
        column_edition: 0,
        places: &[Place::Common],
    },
];

impl Measure {
    /// Whether it is used in `place`.
    #[must_use]
    pub fn is_in(&self, place: Place) -> bool {
        self.places.contains(&place)
    }

    /// All that are used in `place`, in the order of the table.
    pub fn all_in(place: Place) -> impl Iterator<Item = &'static Self> {
        MEASURES.iter().filter(move |m| m.is_in(place))
    }

    /// Its value in `score`; not a number where that does not know it.
    #[must_use]
    pub fn value(&self, score: &Score) -> f64 {
        (self.of)(score).map_or(f64::NAN, Number::as_f64)
    }

    /// All with a column in the CSV of `replay` and `score`, in the order of the columns.
    #[must_use]
    pub fn by_column() -> Vec<(&'static str, &'static Self)> {
        let mut all: Vec<_> = MEASURES.iter().filter_map(|m| Some((m.column?, m))).collect();
        all.sort_by_key(|(_, m)| m.column_edition);
        all
    }
}

impl PartialEq for Measure {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Unit {
    /// What a column of numbers in this unit ends with; `energy` is the platform's unit of energy.
    #[must_use]
    pub fn suffix(self, energy: &str) -> String {
        match self {
            Self::Count => String::new(),
            Self::Share => "_pct".to_owned(),
            Self::Time | Self::Span => "_ns".to_owned(),
            Self::Energy => format!("_{energy}"),
        }
    }
}

/// The row of this name; asked at compile time, so that a wrong name does not compile.
const fn row(name: &str) -> &'static Measure {
    let mut at = 0;
    loop {
        assert!(at < MEASURES.len(), "no measure has this name");
        if same(MEASURES[at].name.as_bytes(), name.as_bytes()) {
            return &MEASURES[at];
        }
        at += 1;
    }
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

// Those that code asks for by name.
/// The measures that decide between governors, in the order in which an answer shows them.
pub static DECIDING: [&Measure; 6] =
    [ENERGY, LATENCY_MEAN, LATENCY_P99, row("too_deep"), TOO_SHALLOW, row("wakeups")];
/// Share of wakeups that would have paid for a deeper state.
pub static TOO_SHALLOW: &Measure = row("too_shallow");
/// The mean wakeup latency, ns.
pub static LATENCY_MEAN: &Measure = row("latency_mean");
/// 99th percentile of the wakeup latency.
pub static LATENCY_P99: &Measure = row("latency_p99");
/// Energy of the idle periods.
pub static ENERGY: &Measure = row("energy");
/// Wake events at which two governors choose differently.
pub static DIFFER: &Measure = row("differ");

fn share(pct: f64) -> Option<Number> {
    (!pct.is_nan()).then_some(Number::Real(pct))
}

fn count(n: u64) -> Option<Number> {
    Some(Number::Whole(n))
}

/// One of the times of `of`.
fn time(of: &Latency, ns: Number) -> Option<Number> {
    of.known(ns)
}
