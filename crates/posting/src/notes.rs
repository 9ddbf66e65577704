// SPDX-License-Identifier: GPL-2.0-only
//! What is to be known of recordings: many say the same.

use idlewise_model::Note;
use idlewise_report::Line;
use idlewise_review::LeftOut;

/// Lines about recordings; where not all `details` are wanted, one of those that are about the same.
pub(crate) fn lines(warnings: &[Note], left_out: &[LeftOut], details: bool) -> Vec<Line> {
    let mut kinds: Vec<(&Note, usize)> = Vec::new();
    for warning in warnings {
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
    let shown = if details { left_out.len() } else { 1 };
    for (i, l) in left_out.iter().take(shown).enumerate() {
        let rest = if i + 1 == shown { others(left_out.len() - i) } else { String::new() };
        out.push(Line::new("note", format!("left out: {}: {}{rest}", l.name, l.why)));
    }
    out
}
