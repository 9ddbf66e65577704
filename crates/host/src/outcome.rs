// SPDX-License-Identifier: GPL-2.0-only
//! What a command came to, for the program that called it.

use idlewise_chart::{CHARTS, PageData, Theme, page, svg};
use idlewise_model::near;
use idlewise_report::{Format, Report};

/// Pixels of a chart in a document.
pub const WIDTH: u32 = 760;
/// What is said where a form of a result is asked for and there is none.
const NO_RESULT: &str = "there is no result: the command only wrote or printed something (a part of a sweep has its result when the same \
                         sweep runs without shard)";

/// What a command came to.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Whether a comparison found no difference, and a check no violation.
    pub same: bool,
    /// Why it was not done, or not all of it.
    pub failure: Option<String>,
    /// Whether the listener ended it.
    pub ended: bool,
    /// Warnings, in their order.
    pub warnings: Vec<String>,
    /// What was printed besides a result.
    pub said: String,
    pub(crate) result: Option<Kept>,
    pub(crate) details: Option<Report>,
    pub(crate) page: Option<PageData>,
}

/// A result as commands deliver it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) json: String,
    pub(crate) report: Report,
    pub(crate) about: Vec<(String, String)>,
}

impl Outcome {
    /// The result as JSON, the same bytes as `--format json` prints; nothing where there is none.
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.result.as_ref().map(|r| r.json.as_str())
    }

    /// The result in another form.
    ///
    /// # Errors
    /// There is no result, or it has no such form.
    pub fn encode(&self, form: Format) -> Result<Vec<u8>, String> {
        let kept = self.result.as_ref().ok_or(NO_RESULT)?;
        if form == Format::Json {
            return Ok(kept.json.clone().into_bytes());
        }
        kept.report.encode(form, &(), &kept.about).map_err(|e| e.to_string())
    }

    /// Everything that the text can show, as `--details` prints it.
    ///
    /// # Errors
    /// There is no result.
    pub fn details(&self) -> Result<String, String> {
        match (&self.details, &self.result) {
            (Some(report), _) | (None, Some(Kept { report, .. })) => {
                report.render(Format::Table, &()).map_err(|e| e.to_string())
            }
            (None, None) => Err(NO_RESULT.to_owned()),
        }
    }

    /// The page with all charts, for a browser.
    ///
    /// # Errors
    /// The command has none, or was called without charts.
    pub fn page(&self) -> Result<String, String> {
        page(self.pictured()?).map_err(|e| e.to_string())
    }

    /// The chart of that name as SVG.
    ///
    /// # Errors
    /// There is no such chart, or nothing of it in this result.
    pub fn svg(&self, name: &str) -> Result<String, String> {
        svg(chart(name)?, self.pictured()?, WIDTH, Theme::Light).map_err(|e| e.to_string())
    }

    fn pictured(&self) -> Result<&PageData, String> {
        self.page.as_ref().ok_or_else(|| "this result has no charts".to_owned())
    }
}

/// The chart of that name, as the list of all has it.
///
/// # Errors
/// There is none, with a hint.
pub fn chart(name: &str) -> Result<&'static str, String> {
    let names = || CHARTS.iter().map(|c| c.name);
    names().find(|n| *n == name).ok_or_else(|| {
        let hint = match near(name, names()).first() {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("charts are {}", names().collect::<Vec<_>>().join(", ")),
        };
        format!("no chart {name}; {hint}")
    })
}
