// SPDX-License-Identifier: GPL-2.0-only
use idlewise_page as pages;
use idlewise_study::score;
use idlewise_view as view;

use crate::args::{Per, PerChoice, ScoreArgs};
use crate::output::{Done, Progress, deliver_of};

pub(crate) fn run(a: &ScoreArgs) -> Done {
    a.output.check()?;
    let measures = a.answer.measures()?;
    let PerChoice(per) = a.per.into();
    let report = {
        let options = a.recording.options();
        let _progress = Progress::reading("reading", &options.meter);
        let counters = match a.counters.as_slice() {
            [before, after] => Some([before.as_path(), after.as_path()]),
            _ => None,
        };
        score::score(&a.trace, &options, per, counters)?
    };
    let shown = a.answer.shown(
        &a.output,
        || view::score(&report, per),
        |layout| {
            let mut short = view::answer(&score::answer(&report, &measures), layout);
            if per == Per::State {
                short.tables.extend(view::score_by_state(&report, layout));
            }
            short
        },
    );
    deliver_of(&pages::recording_hashes(&report.head), &a.output, &shown, &report)?;
    // Those that the recording brings along are shown; the question was not whether they are the same.
    Ok(a.counters.is_empty() || report.counters.is_none_or(|c| c.same()))
}
