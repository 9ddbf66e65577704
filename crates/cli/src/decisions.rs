// SPDX-License-Identifier: GPL-2.0-only
//! Every decision as a row of a file: `--write-decisions`.

use std::path::Path;

use idlewise_columns::Form;
use idlewise_study::replay::DecisionsFile;

use crate::args::{DecisionsArgs, OutputArgs, PageArgs};
use crate::invocation::command_line;
use crate::output::{Failure, check_apart, check_new, check_writable, refuse_stdout, write_new_file};

const OPTION: &str = "--write-decisions";

impl DecisionsArgs {
    /// Whether the file can be written, and is no other result of the command; asked before the work begins.
    pub(crate) fn check(&self, output: &OutputArgs, page: &PageArgs) -> Result<(), Failure> {
        let Some(path) = self.write_decisions.as_deref() else { return Ok(()) };
        form(path)?;
        refuse_stdout(path, "it is a file of columns")?;
        check_new(path, false)?;
        check_writable(path)?;
        let mut others = output.output.iter().map(|p| ("--output", p.as_path())).chain(page.files());
        Ok(others.try_for_each(|other| check_apart((OPTION, path), other))?)
    }

    /// Does `work` with the file that is asked for, if one is: it is there when `work` was done, whole.
    pub(crate) fn write<T>(
        &self,
        work: impl FnOnce(Option<&DecisionsFile<'_>>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Some(path) = self.write_decisions.as_deref() else { return work(None) };
        let form = form(path)?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let command = command_line();
        write_new_file(path, false, |to| work(Some(&DecisionsFile { form, to, folder, command: &command })))
    }
}

/// The form that the name of a file asks for.
fn form(path: &Path) -> Result<Form, Failure> {
    let end = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
    match end.as_deref() {
        Some("parquet") => Ok(Form::Parquet),
        Some("arrow" | "feather") => Ok(Form::Arrow),
        Some("csv") => Ok(Form::Csv),
        _ => Err(Failure::Error(format!(
            "{OPTION} {}: the name's ending says the form: expected .parquet, .arrow or .csv",
            path.display()
        ))),
    }
}
