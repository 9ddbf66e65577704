// SPDX-License-Identifier: GPL-2.0-only
use idlewise_lab::{score, view};

use crate::args::{PerChoice, ScoreArgs};
use crate::output::{Done, Progress, say, write_new};

pub(crate) fn run(a: &ScoreArgs) -> Done {
    let PerChoice(per) = a.per.into();
    let report = {
        let _progress = Progress::new("reading");
        score::score(&a.trace, &a.recording.options(), per)?
    };
    let text = view::score(&report, per).render(a.output.format, &report).map_err(|e| e.to_string())?;
    match &a.output.output {
        Some(path) => write_new(path, text.as_bytes(), false)?,
        None => say(&text)?,
    }
    Ok(true)
}
