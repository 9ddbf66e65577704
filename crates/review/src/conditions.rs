// SPDX-License-Identifier: GPL-2.0-only
//! `--fail-if` of a review: the measures of `compare`, over all recordings, and what only a series has.

use idlewise_recording::CommandError;
use idlewise_score::Unit;
use idlewise_score::measure::DIFFER;
use idlewise_stats::GroupedChanges;
use idlewise_study::compare::{Check, MeasureChange, Measured};
use idlewise_study::condition::{ComparedMetric, Condition, Counting, help, measures, vocabulary};

use crate::report::{Against, GovernorReview, ReviewReport, Row};

/// Metrics of a series besides the measures of `compare`.
const OWN: [(&str, Counting, &str); 4] = [
    ("new_findings", Counting::Number, "findings that the base has not"),
    ("worse", Counting::Number, "measures shown to be worse"),
    ("problems", Counting::Number, "patches that cannot be judged"),
    ("blocks", Counting::Number, "basic blocks of a decision"),
];

/// Reads conditions on the measures and on what only a series has.
pub(crate) fn read(texts: &[String]) -> Result<Vec<Condition>, CommandError> {
    let metrics: Vec<(&str, Counting)> =
        vocabulary().into_iter().chain(OWN.map(|(name, counting, _)| (name, counting))).collect();
    texts.iter().map(|text| Condition::read(text, &metrics)).collect()
}

/// The help of `--fail-if`, and what the command ends with.
#[must_use]
pub fn condition_help() -> String {
    let own = OWN.map(|(name, _, what)| format!("  {name}:\n      1000, +100, +2% ({what})\n")).concat();
    format!(
        "{}{own}A condition is checked after each patch, against the base; measures are means over all recordings.\n\n\
         Exit status: 0 all is judged, 1 a --fail-if holds, else 2: failure, or a patch could not be judged.",
        help()
    )
}

/// What a condition meets in a report.
pub(crate) fn check(report: &ReviewReport, condition: &Condition) -> Check {
    let at = condition.metric();
    let measure = measures().nth(at);
    let mut measured = Vec::new();
    let own = at.checked_sub(measures().count()).and_then(|own| OWN.get(own));
    if let Some(("problems", ..)) = own {
        let n = report.problems().len() as f64;
        measured.push(condition.measure("the series", &number(0.0, n)));
    } else {
        for governor in &report.governors {
            for row in governor.rows.iter().filter(|row| row.same_as.is_none()) {
                let place = format!("{} {}", row.row, governor.governor);
                let met = match (measure, own) {
                    (Some(measure), _) => {
                        row.against_base.as_ref().map(|a| met(condition, &place, measure, a))
                    }
                    (None, Some((name, ..))) => {
                        of_row(name, governor, row).map(|met| condition.measure(&place, &met))
                    }
                    (None, None) => unreachable!("a condition is about a metric that there is"),
                };
                measured.extend(met);
            }
        }
    }
    condition.check(measured)
}

fn of_row(name: &str, governor: &GovernorReview, row: &Row) -> Option<ComparedMetric<'static>> {
    let against = row.against_base.as_ref();
    match name {
        "new_findings" => row.check.as_ref().map(|c| number(0.0, c.new.len() as f64)),
        "worse" => against.map(|a| number(0.0, a.effects.iter().filter(|e| e.is_worse()).count() as f64)),
        _ => {
            against?;
            let base = governor.rows.iter().find_map(|row| row.blocks)?;
            Some(number(base, row.blocks?))
        }
    }
}

fn number(a: f64, b: f64) -> ComparedMetric<'static> {
    let change_pct = if a == b { Some(0.0) } else { (a != 0.0).then(|| (b - a) * 100.0 / a) };
    ComparedMetric { a, b, change: b - a, change_pct, shown: &|v| format!("{}", (v * 100.0).round() / 100.0) }
}

/// Means over all recordings; of changes that alone, since it is not that of the mean values.
pub(crate) fn met(
    condition: &Condition,
    place: &str,
    measure: &'static idlewise_score::Measure,
    against: &Against,
) -> Measured {
    let mut measured = of_means(condition, place, measure, against);
    if condition.of_change() && against.on.len() > 1 {
        let change = measured.words.split(" (").next().unwrap_or_default();
        measured.words = change.to_owned();
    }
    measured
}

fn of_means(
    condition: &Condition,
    place: &str,
    measure: &'static idlewise_score::Measure,
    against: &Against,
) -> Measured {
    let n = against.on.len().max(1) as f64;
    if measure == DIFFER {
        return condition.measure(place, &number(0.0, against.differ_pct));
    }
    let changes: Vec<&MeasureChange> =
        against.on.iter().filter_map(|on| on.changes.iter().find(|c| c.measure == measure)).collect();
    let mean = |of: &dyn Fn(&MeasureChange) -> f64| changes.iter().map(|c| of(c)).sum::<f64>() / n;
    let (a, b) = (mean(&|c| c.a), mean(&|c| c.b));
    let each: Option<Vec<(&str, f64)>> = changes.iter().map(|c| Some(("", c.change_pct?))).collect();
    let change_pct = each.and_then(|each| GroupedChanges::of(&each, false).mean());
    if measure.unit == Unit::Energy {
        // Machines have different units: before is 100.
        let after = change_pct.map_or(f64::NAN, |pct| 100.0 + pct);
        return condition.measure(place, &ComparedMetric { change_pct, ..number(100.0, after) });
    }
    condition.measure(place, &ComparedMetric { change_pct, ..number(a, b) })
}
