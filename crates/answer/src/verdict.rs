// SPDX-License-Identifier: GPL-2.0-only
use idlewise_recording::candidate::Bound;
use idlewise_stats::Interval;
use schemars::JsonSchema;
use serde::Serialize;

use crate::small::{SMALL_LATENCY_NS, SMALL_PCT};
use crate::spread::{Shown, Spread};
use crate::table::{Column, Contender, Quantity, Role};

/// What a governor comes to against the baseline, in a sentence.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Verdict {
    pub governor: String,
    pub words: String,
}

/// The way of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Better,
    Same,
    Worse,
}

/// A change of one measure.
#[derive(Clone, Copy, Debug)]
struct Effect {
    /// %.
    change: f64,
    /// The difference of the values; not a number over several recordings.
    difference: f64,
    interval: Option<Interval>,
    /// What several recordings show.
    shown: Option<Shown>,
}

/// The names of the columns that a sentence is about.
#[derive(Clone, Copy, Debug)]
pub struct Subjects<'n> {
    /// What is gained or lost for the user: a latency, a time of a frame.
    pub latency: &'n str,
    /// Its tail, which may go another way.
    pub tail: &'n str,
    pub energy: &'n str,
}

/// The subjects of a replay's sentences.
pub const USUAL: Subjects<'_> = Subjects { latency: "latency_mean", tail: "latency_p99", energy: "energy" };

/// What a sentence calls `column`.
fn phrase(column: &Column) -> &str {
    match column.name.as_str() {
        "latency_mean" => "mean latency",
        "latency_p99" => "p99 latency",
        _ => &column.label,
    }
}

/// `contender` against the baseline on one recording or workload, about `subjects`. `power_mw` makes of an energy difference the
/// mean power of a CPU, mW, where that is known.
#[must_use]
pub fn verdict(
    columns: &[Column],
    subjects: Subjects<'_>,
    contender: &Contender,
    base: &Contender,
    power_mw: Option<&dyn Fn(f64) -> f64>,
) -> Verdict {
    let find = |name: &str| {
        let at = columns.iter().position(|c| c.name == name);
        let effect = at.and_then(|at| {
            let (new, old) = (contender.cells.get(at)?, base.cells.get(at)?);
            let known = new.value.is_finite() && old.value.is_finite();
            let difference = new.value - old.value;
            known.then_some(Effect { change: new.change, difference, interval: new.interval, shown: None })
        });
        About { column: at.and_then(|at| columns.get(at)), effect }
    };
    let words = if contender.failure.is_some() {
        "no result".to_owned()
    } else {
        sentence(bound(contender.role, &contender.governor), subjects.map(find), power_mw)
    };
    Verdict { governor: contender.governor.clone(), words }
}

/// Each governor of `spreads` over several recordings.
#[must_use]
pub fn verdicts_over(columns: &[Column], spreads: &[Spread]) -> Vec<Verdict> {
    let mut out: Vec<Verdict> = Vec::new();
    for first in spreads {
        if out.iter().any(|v| v.governor == first.governor) {
            continue;
        }
        let find = |name: &str| {
            let found = spreads.iter().find(|s| s.governor == first.governor && s.column == name);
            let effect = found.filter(|s| s.recordings > 0).map(|s| Effect {
                change: s.mean,
                difference: f64::NAN,
                interval: s.interval,
                shown: s.shown,
            });
            About { column: columns.iter().find(|c| c.name == name), effect }
        };
        let bound = bound(first.role, &first.governor);
        let words = sentence(bound, USUAL.map(find), None) + &disagreement(&first.governor, spreads);
        out.push(Verdict { governor: first.governor.clone(), words });
    }
    out
}

/// `; recordings disagree: idle energy fell in 1 and rose in 1`, of what decides.
fn disagreement(governor: &str, spreads: &[Spread]) -> String {
    let of = |name: &str, what: &str| {
        let s = spreads.iter().find(|s| s.governor == governor && s.column == name)?;
        (s.fell > 0 && s.rose > 0).then(|| format!("{what} fell in {} and rose in {}", s.fell, s.rose))
    };
    let said = [of(USUAL.latency, "mean latency"), of(USUAL.energy, "idle energy")];
    let said: Vec<String> = said.into_iter().flatten().collect();
    let shown = spreads.iter().any(|s| s.governor == governor && s.shown.is_some());
    if said.is_empty() && !shown {
        return " (so far: too few recordings to show it)".to_owned();
    }
    if said.is_empty() { String::new() } else { format!("; recordings disagree: {}", said.join(", ")) }
}

impl<'n> Subjects<'n> {
    fn map<T>(self, of: impl Fn(&'n str) -> T) -> [T; 3] {
        [self.latency, self.tail, self.energy].map(of)
    }
}

/// A column, where the table has it, and how it changes.
#[derive(Clone, Copy, Debug)]
struct About<'c> {
    column: Option<&'c Column>,
    effect: Option<Effect>,
}

/// Which bound a contender is, if it is one.
fn bound(role: Role, governor: &str) -> Option<Bound> {
    Bound::called(governor).filter(|_| role == Role::Bound)
}

fn sentence(
    bound: Option<Bound>,
    [latency, tail, energy]: [About<'_>; 3],
    power_mw: Option<&dyn Fn(f64) -> f64>,
) -> String {
    let (lat_way, lat) = latency.described();
    let (en_way, mut en) = energy.described();
    if let (Some(energy), Some(power), Some(Way::Better | Way::Worse)) = (energy.effect, power_mw, en_way) {
        let mw = power(energy.difference);
        en += &format!(" ({} mW/CPU)", signed_number(mw));
    }
    if let Some(bound) = bound {
        return format!("a bound, knows {}: {en}", bound.knows());
    }
    use Way::{Better, Same, Worse};
    let words = match (lat_way, en_way) {
        (Some(Same), Some(Same)) if lat.starts_with(SAME) && en.starts_with(SAME) => {
            "no relevant difference".to_owned()
        }
        (Some(Better), Some(Worse)) => format!("{lat} for {en}"),
        (Some(Worse), Some(Better)) => format!("{en} for {lat}"),
        (Some(Better), Some(Better)) => format!("better in both: {lat}, {en}"),
        (Some(Worse), Some(Worse)) => format!("worse in both: {lat}, {en}"),
        _ => format!("{lat}, {en}"),
    };
    let words = if lat.is_empty() || en.is_empty() { format!("{lat}{en}") } else { words };
    let (tail_way, tail) = tail.described();
    match (lat_way, tail_way) {
        (Some(Better | Same), Some(Worse)) | (Some(Worse), Some(Better)) => format!("{words}; but {tail}"),
        _ => words,
    }
}

/// What a change that is none begins with.
const SAME: &str = "the same";

impl About<'_> {
    /// A change in words, and its way; no words where the table has no such column.
    fn described(&self) -> (Option<Way>, String) {
        let Some(column) = self.column else { return (None, String::new()) };
        let what = phrase(column);
        let small = if column.quantity == Quantity::Time { SMALL_LATENCY_NS } else { 0.0 };
        let Some(effect) = self.effect else { return (None, format!("{what} not known")) };
        if column.quantity == Quantity::Share {
            return points(column, effect);
        }
        let change = effect.change;
        let unclear = effect.interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high);
        match effect.shown {
            Some(Shown::Equivalent) => {
                return (Some(Way::Same), format!("{SAME} {what} (within 1 %: shown)"));
            }
            Some(Shown::Nothing) => return (None, format!("{what} ~ (nothing shown)")),
            _ if unclear => return (None, format!("{what} ~ (nothing shown)")),
            _ => {}
        }
        if effect.difference.abs() <= small || change.abs() < SMALL_PCT {
            return (Some(Way::Same), format!("{SAME} {what}"));
        }
        if !change.is_finite() {
            return (Some(Way::Worse), format!("{what} from none"));
        }
        (way(column, change), ratio_words(1.0 + change / 100.0, what))
    }
}

/// The way of `change`; nothing where neither way is better.
fn way(column: &Column, change: f64) -> Option<Way> {
    column.direction().map(|sign| if change * sign < 0.0 { Way::Better } else { Way::Worse })
}

/// A share that changes.
fn points(column: &Column, effect: Effect) -> (Option<Way>, String) {
    let unclear = effect.interval.is_some_and(|i| i.low <= 0.0 && 0.0 <= i.high);
    if unclear || effect.change.abs() < 0.05 {
        return (Some(Way::Same), format!("{SAME} {}", column.label));
    }
    (way(column, effect.change), format!("{} {:+.1}pp", column.label, effect.change))
}

/// Two digits that count, and the sign.
fn signed_number(v: f64) -> String {
    let decimals = if v == 0.0 || !v.is_finite() { 0.0 } else { 1.0 - v.abs().log10().floor() };
    format!("{v:+.*}", decimals.clamp(0.0, 9.0) as usize)
}

/// `about half the mean latency`, `1.9 % more idle energy`.
fn ratio_words(ratio: f64, what: &str) -> String {
    let near = |r: f64| (ratio / r - 1.0).abs() <= 0.08;
    let pct = (ratio - 1.0).abs() * 100.0;
    let pct = if pct < 9.95 { format!("{pct:.1}") } else { format!("{pct:.0}") };
    match ratio {
        r if r < 0.001 => format!("next to no {what}"),
        r if r < 0.095 => format!("1/{:.0} of the {what}", 1.0 / r),
        _ if near(0.5) => format!("about half the {what}"),
        _ if near(1.0 / 3.0) => format!("about a third of the {what}"),
        _ if near(0.25) => format!("about a quarter of the {what}"),
        _ if near(2.0) => format!("about twice the {what}"),
        r if r < 1.0 => format!("{pct} % less {what}"),
        r if r < 2.5 => format!("{pct} % more {what}"),
        r if r < 9.95 => format!("{r:.1} times the {what}"),
        r => format!("{r:.0} times the {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence_of(
        bound: Option<Bound>,
        pairs: [Option<(f64, f64)>; 3],
        power: Option<&dyn Fn(f64) -> f64>,
    ) -> String {
        let columns = Column::deciding("mJ");
        let effect = |(old, new): (f64, f64)| {
            let (difference, change) = (new - old, (new - old) * 100.0 / old);
            Effect { change, difference, interval: None, shown: None }
        };
        let names = USUAL.map(|n| columns.iter().find(|c| c.name == n));
        let [a, b, c] = pairs.map(|p| p.map(effect));
        let [x, y, z] = names;
        let about = |column, effect| About { column, effect };
        sentence(bound, [about(x, a), about(y, b), about(z, c)], power)
    }

    fn said(latency: (f64, f64), p99: (f64, f64), energy: (f64, f64)) -> String {
        sentence_of(None, [Some(latency), Some(p99), Some(energy)], None)
    }

    #[test]
    fn a_trade_names_what_is_gained_first() {
        let p99 = (199_000.0, 160_000.0);
        assert_eq!(
            said((21_200.0, 11_000.0), p99, (5.0, 5.1)),
            "about half the mean latency for 2.0 % more idle energy"
        );
        assert_eq!(
            said((11_000.0, 21_200.0), (160_000.0, 160_000.0), (5.1, 5.0)),
            "2.0 % less idle energy for about twice the mean latency"
        );
        assert_eq!(
            said((1000.0, 2900.0), (9000.0, 8000.0), (5.0, 6.0)),
            "worse in both: 2.9 times the mean latency, 20 % more idle energy; but 11 % less p99 latency"
        );
        assert_eq!(said((1000.0, 1050.0), p99, (5.0, 5.01)), "no relevant difference");
        assert_eq!(
            said((20_000.0, 1_200.0), p99, (5.0, 4.0)),
            "better in both: 1/17 of the mean latency, 20 % less idle energy"
        );
    }

    #[test]
    fn nothing_is_made_of_what_is_not_known() {
        let words = sentence_of(None, [None, None, Some((5.0, 6.0))], None);
        assert_eq!(words, "mean latency not known, 20 % more idle energy");
    }

    #[test]
    fn the_power_of_a_cpu_is_said_where_it_is_known() {
        let halved: &dyn Fn(f64) -> f64 = &|mj| mj / 2.0;
        let words = sentence_of(Some(Bound::Oracle), [None, None, Some((5.0, 4.0))], Some(halved));
        assert_eq!(words, "a bound, knows every wake event: 20 % less idle energy (-0.50 mW/CPU)");
    }
}
