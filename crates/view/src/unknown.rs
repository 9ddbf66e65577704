// SPDX-License-Identifier: GPL-2.0-only
//! Why a table has `?`: a line below it for each reason.

use idlewise_report::{Line, Table, UNKNOWN};
use idlewise_score::Score;

/// What may be unknown in a score, and when it is.
type Reason = (&'static str, fn(&Score) -> bool);
const REASONS: [Reason; 4] = [
    ("there is no wakeup, and so no share and no mean", |s| s.wakeups == 0),
    ("tick wakes: the recording does not show whether the tick or an event caused the wakeups", |s| {
        s.ticks.is_none()
    }),
    (
        "tick kept, tick stopped: the recording does not show for any entry whether the tick was kept or \
        stopped",
        |s| s.ticks_kept.is_none(),
    ),
    ("latency: all wakeups were by the tick or the polling limit, none by an event", |s| {
        s.wakeups > 0 && s.latency.known(()).is_none()
    }),
];
/// Where no score says why.
const OTHER: &str = "no value, a share of none, or a change against a value that is 0 or not known";

/// The reasons for each `?` in `tables`, which show `scores` with the names of their rows or columns.
pub(super) fn lines<'s>(
    tables: &[Table],
    scores: impl IntoIterator<Item = (&'s str, &'s Score)>,
) -> Vec<Line> {
    if !tables.iter().any(has_unknown) {
        return Vec::new();
    }
    let scores: Vec<(&str, &Score)> = scores.into_iter().collect();
    let reason = |(why, holds): &Reason| {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in scores.iter().filter(|(_, s)| holds(s)) {
            if !names.contains(name) {
                names.push(name);
            }
        }
        (!names.is_empty()).then(|| Line::new(UNKNOWN, format!("{}: {why}", names.join(", "))))
    };
    let found: Vec<Line> = REASONS.iter().filter_map(reason).collect();
    if found.is_empty() { vec![Line::new(UNKNOWN, OTHER)] } else { found }
}

/// Whether a value in it, or a change in brackets, is not known.
fn has_unknown(table: &Table) -> bool {
    let is_unknown = |cell: &String| cell.split([' ', '(', ')', ',']).any(|word| word == UNKNOWN);
    table.rows.iter().any(|row| row.iter().skip(table.text_columns).any(is_unknown))
}
