// SPDX-License-Identifier: GPL-2.0-only
use std::io::{self, IsTerminal as _};

use idlewise_chart::Hash;
use idlewise_columns::Form as ColumnForm;
pub(crate) use idlewise_files::new_file::{
    check_apart, check_new, check_new_from, check_writable, is_stdout,
};
use idlewise_host::caller;
pub(crate) use idlewise_host::files::{interrupted, write_new, write_new_file, write_new_with};
pub(crate) use idlewise_host::said::{
    none_failed, refuse_stdout, say, say_beside, say_line, say_unless, show_progress, warn, warn_lines,
};
use idlewise_host::said::{say_bytes, say_rendered};
pub(crate) use idlewise_host::{Done, Failure, Progress, judged};
use idlewise_report::{Format, Report};
use idlewise_view::{Provenance, mailed};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::OutputArgs;
use crate::invocation::{command_line, command_text};

impl OutputArgs {
    /// Whether people see tables: then all that is said stands in them.
    pub(crate) fn is_shown(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdout)
            && matches!(self.form(), Format::Table | Format::Markdown)
    }

    /// The form asked for; where none is, that of the file's name, so that a `.json` is one.
    pub(crate) fn form(&self) -> Format {
        let by_name = || {
            let end = self.output.as_deref()?.extension()?.to_str()?.to_ascii_lowercase();
            match end.as_str() {
                "json" => Some(Format::Json),
                "csv" => Some(Format::Csv),
                "md" | "markdown" => Some(Format::Markdown),
                "parquet" => Some(Format::Parquet),
                "arrow" | "feather" => Some(Format::Arrow),
                _ => None,
            }
        };
        self.format.or_else(by_name).unwrap_or_default()
    }

    /// Whether the result can go where it is asked for; asked before the work begins.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let shown = self.output.as_deref().is_none_or(is_stdout) && io::stdout().is_terminal();
        if let Some(form) = self.form().columns().filter(|_| shown) {
            let ending = if form == ColumnForm::Arrow { "arrow" } else { "parquet" };
            let why = format!(
                "--format {ending}: a terminal cannot show it; name a file: --output result.{ending}"
            );
            return Err(Failure::Error(why));
        }
        let Some(path) = self.output.as_deref() else { return Ok(()) };
        check_new(path, false)?;
        Ok(check_writable(path)?)
    }
}

/// Prints a result in the form and to the place asked for.
pub(crate) fn deliver<T: Serialize>(to: &OutputArgs, view: &Report, result: &T) -> Done {
    deliver_of(&[], to, view, result)
}

/// The same of a result that came of `inputs`, which a mail names.
pub(crate) fn deliver_of<T: Serialize>(inputs: &[Hash], to: &OutputArgs, view: &Report, result: &T) -> Done {
    let json = || view.render(Format::Json, result).map_err(|e| e.to_string());
    if caller::keep(view, json, || about(inputs))? {
        return Ok(true);
    }
    let mail = (to.form() == Format::Mail).then(|| {
        let inputs = inputs.iter().map(|h| (h.name.clone(), h.hash.clone())).collect();
        mailed(view.clone(), &Provenance { command: command_text(), inputs })
    });
    let view = mail.as_ref().unwrap_or(view);
    let form = to.form();
    let bytes = || view.encode(form, result, &about(inputs)).map_err(|e| e.to_string());
    match &to.output {
        Some(path) if !is_stdout(path) => write_new(path, &bytes()?, false)?,
        _ if form.columns().is_some() => say_bytes(&bytes()?)?,
        _ => {
            let text = view.render(form, result).map_err(|e| e.to_string())?;
            if view.colour { say_rendered(&text)? } else { say(&text)? }
        }
    }
    Ok(true)
}

/// What a file of columns says of itself.
fn about(inputs: &[Hash]) -> Vec<(String, String)> {
    let inputs = inputs.iter().map(|h| json!({"name": h.name, "hash": h.hash}));
    [
        ("idlewise.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("idlewise.command", json!(command_line()).to_string()),
        ("idlewise.inputs", inputs.collect::<Value>().to_string()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .to_vec()
}
