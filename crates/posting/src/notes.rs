// SPDX-License-Identifier: GPL-2.0-only
//! What is to be known of recordings: many say the same.

use idlewise_model::Note;
use idlewise_report::Line;
use idlewise_review::Evidence;

/// Lines about recordings; where not all `details` are wanted, one of those that are about the same.
pub(crate) fn lines(on: &Evidence, details: bool) -> Vec<Line> {
    let mut kinds: Vec<(&Note, usize)> = Vec::new();
    for warning in &on.warnings {
        match kinds.iter_mut().find(|(first, _)| !details && first.id == warning.id) {
            Some((_, n)) => *n += 1,
            None => kinds.push((warning, 1)),
        }
    }
    let others = |n: usize| match n {
        1 => String::new(),
        2 => " (and one more like it: -v)".to_owned(),
        n => format!(" (and {} more like it: -v)", n - 1),
    };
    let mut out: Vec<Line> =
        kinds.iter().map(|(note, n)| Line::new("note", format!("{}{}", note.words, others(*n)))).collect();
    if details || on.left_out.len() == 1 {
        out.extend(on.left_out.iter().map(|l| Line::new("note", format!("left out: {}: {}", l.name, l.why))));
    } else if let Some(first) = on.left_out.first() {
        let n = on.left_out.len();
        let words =
            format!("left out: {n} recordings, in no mean: {}: {} (the others: -v)", first.name, first.why);
        out.push(Line::new("note", words));
    }
    let named = on.poor.iter().take(if details { usize::MAX } else { 1 });
    let more = on.poor.len().saturating_sub(1);
    let more = if details || more == 0 { String::new() } else { format!(" (and {more} more: -v)") };
    out.extend(named.map(|l| {
        let words =
            format!("graded poor, in the means since it was named itself: {}: {}{more}", l.name, l.why);
        Line::new("note", words)
    }));
    out
}
