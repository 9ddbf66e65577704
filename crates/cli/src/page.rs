// SPDX-License-Identifier: GPL-2.0-only
//! Pages and charts of a result: `--report`, `--plot`.

use std::path::Path;

use idlewise_chart::{PageData, Theme, page, svg};
use idlewise_host::caller;
use idlewise_host::outcome::WIDTH;
use idlewise_page::Source;
use idlewise_report::Report;
use serde::Serialize;

use crate::args::{OutputArgs, PageArgs};
use crate::invocation::command_line;
use crate::output::{Failure, check_apart, check_new, check_writable, refuse_stdout, write_new};

impl PageArgs {
    /// Whether any is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.report.is_some() || !self.plot.is_empty() || caller::wants_charts()
    }

    /// The files, each with the option that names it.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let plots = self.plot.iter().map(|p| ("--plot", p.file.as_path()));
        self.report.iter().map(|p| ("--report", p.as_path())).chain(plots)
    }

    /// Whether the files can be written together with what goes to `output`; asked before the work begins.
    pub(crate) fn check(&self, output: &OutputArgs) -> Result<(), Failure> {
        if let Some(file) = self.report.as_ref().filter(|f| !ends_as_a_page(f)) {
            let why = "is written for a browser: end its name with .html";
            return Err(Failure::Error(format!("--report {}: {why}", file.display())));
        }
        let mut others: Vec<(&str, &Path)> =
            output.output.iter().map(|p| ("--output", p.as_path())).collect();
        for (option, file) in self.files() {
            refuse_stdout(file, "it is a page or a picture")?;
            check_new(file, false)?;
            check_writable(file)?;
            others.iter().try_for_each(|other| check_apart((option, file), *other))?;
            others.push((option, file));
        }
        Ok(())
    }

    /// The same of `result`, of which nothing is made where nothing is asked for: `everything` that the text can show of it, and its
    /// page.
    pub(crate) fn write_of(
        &self,
        result: &impl Serialize,
        everything: impl FnOnce() -> Report,
        page: impl FnOnce(Source<'_>) -> PageData,
    ) -> Result<(), Failure> {
        if !self.is_asked() {
            return Ok(());
        }
        let everything = everything();
        self.write(&page(source(result, &everything)?))
    }

    /// Writes what is asked for of `data`: all of it, or nothing where a part cannot be drawn.
    pub(crate) fn write(&self, data: &PageData) -> Result<(), Failure> {
        caller::keep_page(data);
        let failed = |e: idlewise_chart::ChartError| Failure::Error(e.to_string());
        let mut drawn: Vec<(&Path, Vec<u8>)> = Vec::new();
        if let Some(file) = &self.report {
            drawn.push((file, page(data).map_err(failed)?.into_bytes()));
        }
        for plot in &self.plot {
            let text = svg(plot.chart, data, WIDTH, Theme::Light).map_err(failed)?;
            drawn.push((&plot.file, text.into_bytes()));
        }
        drawn.iter().try_for_each(|(file, bytes)| write_new(file, bytes, false))
    }
}

/// Whether a browser would take it for a page.
fn ends_as_a_page(file: &Path) -> bool {
    file.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"))
}

/// What the page of every command has: `everything` that the text can show of `result`, and its JSON.
pub(crate) fn source<'a>(result: &impl Serialize, everything: &'a Report) -> Result<Source<'a>, Failure> {
    let json = serde_json::to_value(result).map_err(|e| Failure::Error(e.to_string()))?;
    Ok(Source { everything, json, command: command_line() })
}
