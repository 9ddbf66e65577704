// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::fs;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::process;
use std::sync::Once;
use std::thread;
use std::time::Duration;

use idlewise_chart::Hash;
use idlewise_columns::Form as ColumnForm;
use idlewise_experiment::ExperimentError;
use idlewise_files::new_file::{self, WriteError, end_without_unfinished};
use idlewise_live::LiveError;
use idlewise_machine::MachineError;
use idlewise_recording::{CommandError, Meter};
use idlewise_report::{Format, Report, lines, message, one_line};
use idlewise_view::{Provenance, mailed};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use idlewise_files::new_file::{
    check_apart, check_new, check_new_from, check_writable, is_stdout,
};

use crate::args::OutputArgs;
use crate::invocation::{command_line, command_text};

/// Why a command ended early.
pub(crate) enum Failure {
    /// Nobody reads the file that is being written to standard output.
    Closed,
    /// A reason for the user.
    Error(String),
}

/// `Ok(true)`: done; `Ok(false)`: done, and a comparison found a difference.
pub(crate) type Done = Result<bool, Failure>;

impl From<CommandError> for Failure {
    fn from(e: CommandError) -> Self {
        match e {
            CommandError::Write(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<MachineError> for Failure {
    fn from(e: MachineError) -> Self {
        match e {
            MachineError::Command(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<ExperimentError> for Failure {
    fn from(e: ExperimentError) -> Self {
        match e {
            ExperimentError::Command(e) => e.into(),
            e => Self::Error(e.to_string()),
        }
    }
}

impl From<WriteError> for Failure {
    fn from(e: WriteError) -> Self {
        match e {
            WriteError::Closed => Self::Closed,
            WriteError::Refused(why) => Self::Error(why),
        }
    }
}

impl From<LiveError> for Failure {
    fn from(e: LiveError) -> Self {
        Self::Error(e.to_string())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Error(why)
    }
}

/// Writes text of one or several lines to standard output. What a terminal would obey in it is shown instead. Whoever closed the
/// other end has seen enough; the exit status still says what was found.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    say_rendered(&lines(text))
}

/// The same of text in which everything of others is escaped already; what remains are our own colours.
fn say_rendered(text: &str) -> Result<(), Failure> {
    say_bytes(text.as_bytes())
}

fn say_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Error(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// The same of one line, which a name in it cannot end.
pub(crate) fn say_line(line: &str) -> Result<(), Failure> {
    say(&format!("{}\n", one_line(line)))
}

/// Says something on standard error, in a line (or more, indented) that begins with our name.
pub(crate) fn warn(what: &str) {
    warn_raw(&format!("idlewise: {}\n", message(what)));
}

/// Writes lines to standard error.
pub(crate) fn warn_lines(text: &str) {
    warn_raw(&lines(text));
}

/// Shows on a terminal how far something is, in place of what stood in the line; nothing: clears the line.
pub(crate) fn show_progress(what: &str) {
    match what {
        "" => warn_raw(&format!("\r{:40}\r", "")),
        _ => warn_raw(&format!("\r{} ", one_line(what))),
    }
}

/// What nobody can read, since standard error is closed or full, does not end the work.
fn warn_raw(text: &str) {
    let mut out = io::stderr().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Says on standard error what failed, the last of it as the command's failure.
pub(crate) fn none_failed(failures: &[&str]) -> Done {
    let Some((last, others)) = failures.split_last() else { return Ok(true) };
    others.iter().for_each(|why| warn(why));
    Err(Failure::Error((*last).to_owned()))
}

/// Says where a result of several files went, which standard output cannot take.
pub(crate) fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    if !is_stdout(path) {
        return Ok(());
    }
    Err(Failure::Error(format!("-: cannot write to standard output: {why}; name a file")))
}

/// Says in a line what became of the file `path`: on standard output, unless that is the file.
pub(crate) fn say_beside(path: &Path, line: &str) -> Result<(), Failure> {
    if is_stdout(path) {
        warn_lines(&format!("{}\n", one_line(line)));
        return Ok(());
    }
    say_line(line)
}

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

/// Exit status of a command that a signal ended, as shells have it for SIGINT.
const INTERRUPTED: i32 = 130;

/// Ends the command because of a signal. The file that is being written is removed.
pub(crate) fn interrupted() -> ! {
    end_without_unfinished(|| process::exit(INTERRUPTED))
}

/// From now on a signal (SIGINT, SIGTERM, SIGHUP) removes the file that is being written, as nobody would find it later. A handler
/// that the command has set before stays.
fn remove_when_interrupted() {
    static ONCE: Once = Once::new();
    // Where no handler can be set, a signal ends the command as it always does.
    ONCE.call_once(|| {
        let _ = ctrlc::set_handler(|| interrupted());
    });
}

/// [`new_file::write_new`], interruptible.
pub(crate) fn write_new(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    remove_when_interrupted();
    Ok(new_file::write_new(path, bytes, force)?)
}

/// [`new_file::write_new_with`], interruptible.
pub(crate) fn write_new_with<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    remove_when_interrupted();
    new_file::write_new_with(path, force, write)
}

/// [`new_file::write_new_file`], interruptible.
pub(crate) fn write_new_file<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&fs::File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    remove_when_interrupted();
    new_file::write_new_file(path, force, write)
}

/// Progress on standard error, shown only on a terminal and only when it takes longer than a second.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// `what` is being done; how far it is may be reported by [`Progress::step`] later.
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        let later = bar.clone();
        // Where no thread can be had, nothing is shown.
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(Duration::from_secs(1));
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self(bar)
    }

    /// As [`Progress::new`] of `what` reads the traces that `meter` counts.
    pub(crate) fn reading(what: &'static str, meter: &Meter) -> Self {
        let progress = Self::new(what);
        let meter = meter.clone();
        progress.show_share("{spinner} {msg} {share}{elapsed}{left}", move |_| meter.share());
        progress
    }

    /// Something else is being done.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(one_line(what).into_owned());
    }

    /// `done` of `of` parts of `what` are done.
    pub(crate) fn step(&self, what: &str, done: usize, of: usize) {
        if self.0.length().is_none() {
            let share = |state: &ProgressState| Some(state.pos() as f64 / state.len()?.max(1) as f64);
            self.show_share("{spinner} {msg} {bar:30} {share}{elapsed}{left}", share);
        }
        self.0.set_message(one_line(what).into_owned());
        self.0.set_length(of as u64);
        self.0.set_position(done as u64);
    }

    /// From now on, shows how far it is by `share`, and the time left.
    fn show_share(
        &self,
        form: &str,
        share: impl Fn(&ProgressState) -> Option<f64> + Clone + Send + Sync + 'static,
    ) {
        let begun = self.0.elapsed();
        let known = share.clone();
        let per_cent = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = known(state).map_or(Ok(()), |share| write!(out, "{:.0} % ", 100.0 * share));
        };
        let left = move |state: &ProgressState, out: &mut dyn fmt::Write| {
            // The first hundredth says nothing of the rest.
            let Some(share) = share(state).filter(|share| *share > 0.01) else { return };
            let left = state.elapsed().saturating_sub(begun).mul_f64((1.0 - share).max(0.0) / share);
            let _ = write!(out, ", {:#} left", HumanDuration(left));
        };
        if let Ok(style) = ProgressStyle::with_template(form) {
            self.0.set_style(style.with_key("share", per_cent).with_key("left", left));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
