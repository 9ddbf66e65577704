// SPDX-License-Identifier: GPL-2.0-only
//! How much of a result is shown.

use std::io::IsTerminal;

use idlewise_host::caller;
use idlewise_model::near;
use idlewise_report::{Format, Report};
use idlewise_score::Measure;
use idlewise_score::measure::{DECIDING, MEASURES};
use idlewise_view::{Layout, MAIL_WIDTH};

use crate::args::{AnswerArgs, DetailsArgs, OutputArgs};
use crate::output::{Failure, is_stdout};

/// Lines of what goes to no terminal.
const USUAL_WIDTH: usize = 80;
/// Browsers lay Markdown out: nothing is shortened.
const MARKDOWN_WIDTH: usize = 1000;
/// Longer lines are hard to read, shorter ones hold no table.
const WIDTHS: [usize; 2] = [40, 120];

impl AnswerArgs {
    /// The measures of the table.
    pub(crate) fn measures(&self) -> Result<Vec<&'static Measure>, Failure> {
        let mut out: Vec<&'static Measure> = match self.columns.as_slice() {
            [] => DECIDING.to_vec(),
            names => names.iter().map(|n| measure("--columns", n)).collect::<Result<_, _>>()?,
        };
        if let Some(name) = &self.sort {
            let by = measure("--sort", name)?;
            if !out.contains(&by) {
                out.push(by);
            }
        }
        Ok(out)
    }

    /// The answer, or everything where that is asked for or a program reads it.
    pub(crate) fn shown(
        &self,
        to: &OutputArgs,
        everything: impl FnOnce() -> Report,
        answer: impl FnOnce(&Layout) -> Report,
    ) -> Report {
        let sorted = |layout: &Layout| answer(&Layout { sort: self.sort.clone(), ..layout.clone() });
        self.all.shown(to, everything, sorted)
    }
}

impl DetailsArgs {
    /// As [`AnswerArgs::shown`].
    pub(crate) fn shown(
        &self,
        to: &OutputArgs,
        everything: impl FnOnce() -> Report,
        answer: impl FnOnce(&Layout) -> Report,
    ) -> Report {
        if to.form() == Format::Mail {
            return answer(&Layout { width: MAIL_WIDTH, sort: None, mail: true });
        }
        if self.details || !matches!(to.form(), Format::Table | Format::Markdown) {
            return everything();
        }
        let on_terminal = to.output.as_deref().is_none_or(is_stdout) && std::io::stdout().is_terminal();
        let width = match to.form() {
            Format::Markdown => MARKDOWN_WIDTH,
            _ if on_terminal => terminal_width(),
            _ => USUAL_WIDTH,
        };
        let mut out = answer(&Layout { width, sort: None, mail: false });
        if caller::is_called() {
            let everything = everything();
            out.data.clone_from(&everything.data);
            caller::keep_details(everything);
        }
        out.colour = on_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        out
    }
}

fn terminal_width() -> usize {
    idlewise_screen::columns().unwrap_or(USUAL_WIDTH).clamp(WIDTHS[0], WIDTHS[1])
}

/// The measure of a single score with this name.
fn measure(option: &str, name: &str) -> Result<&'static Measure, Failure> {
    let of_scores = || MEASURES.iter().filter(|m| m.column.is_some());
    of_scores().find(|m| m.name == name).ok_or_else(|| {
        let hint = match near(name, of_scores().map(|m| m.name)).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let all: Vec<&str> = of_scores().map(|m| m.name).collect();
                format!("measures are {}", all.join(", "))
            }
        };
        Failure::Error(format!("{option} {name}: no such measure; {hint}"))
    })
}
