// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use idlewise_live::LiveError;
use idlewise_recording::CommandError;
use idlewise_report::{Format, Report, lines, message, one_line};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::args::OutputArgs;

/// Why a command ended early.
pub(crate) enum Failure {
    /// Nobody reads our output any more.
    Closed,
    /// A reason for the user.
    Error(String),
}

/// `Ok(true)`: done; `Ok(false)`: done, and a comparison found a difference.
pub(crate) type Done = Result<bool, Failure>;

impl From<CommandError> for Failure {
    fn from(e: CommandError) -> Self {
        Self::Error(e.to_string())
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

/// Writes text of one or several lines to standard output. What a terminal would obey in it is shown instead.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(lines(text).as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Error(format!("standard output: {e}")),
    })
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

/// Whether `path` stands for standard output, as it does wherever a file is written; a file of that name is `./-`.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Says where a result of several files went, which standard output cannot take.
pub(crate) fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    if !is_stdout(path) {
        return Ok(());
    }
    Err(Failure::Error(format!("-: standard output cannot take it: {why}; name a file")))
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
                _ => None,
            }
        };
        self.format.or_else(by_name).unwrap_or_default()
    }

    /// Whether the result can go where it is asked for; asked before the work begins.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(path) = self.output.as_deref() else { return Ok(()) };
        check_new(path, false)?;
        check_writable(path)
    }
}

/// Prints a result in the form and to the place asked for.
pub(crate) fn deliver<T: Serialize>(to: &OutputArgs, view: &Report, result: &T) -> Done {
    let text = view.render(to.form(), result).map_err(|e| e.to_string())?;
    match &to.output {
        Some(path) if !is_stdout(path) => write_new(path, text.as_bytes(), false)?,
        _ => say(&text)?,
    }
    Ok(true)
}

/// Writes to `path`, whole or not at all; an existing file is left alone unless `force`.
pub(crate) fn write_new(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    write_new_with(path, force, |file| file.write_all(bytes).map_err(|e| failed(path, &e)))
}

fn failed(path: &Path, e: &io::Error) -> Failure {
    if is_stdout(path) {
        return match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::Error(format!("standard output: {e}")),
        };
    }
    Failure::Error(format!("{}: {e}", path.display()))
}

/// Whether `path` may be written, asked before the work begins: it is new, or an ordinary file and `force` is given.
pub(crate) fn check_new(path: &Path, force: bool) -> Result<(), Failure> {
    if is_stdout(path) {
        return Ok(());
    }
    let refuse = |why: &str| Err(Failure::Error(format!("{}: {why}", path.display())));
    match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            return refuse("is a directory, a device or a pipe; name a file");
        }
        Ok(_) if !force => return refuse("exists; name another file or remove it"),
        Ok(_) => {}
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            return refuse("is a symbolic link to nowhere; name another file or remove it");
        }
        Err(_) => {}
    }
    if !folder(path).is_dir() {
        return refuse("its directory does not exist; make it first, or name a file elsewhere");
    }
    Ok(())
}

/// Whether the folder of `path` takes files. Found out by doing it: what a mode, a read-only file system or a quota says, it says
/// now and not after the work.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    if is_stdout(path) {
        return Ok(());
    }
    tempfile::tempfile_in(folder(path)).map(drop).map_err(|e| {
        Failure::Error(format!(
            "{}: nothing can be written there: {e}; name a file elsewhere",
            path.display()
        ))
    })
}

/// [`check_new`] of a file that is made of `trace`, which is not overwritten even by `force`.
pub(crate) fn check_beside(path: &Path, force: bool, trace: &Path) -> Result<(), Failure> {
    check_new(path, force)?;
    let place = |p: &Path| fs::metadata(p).ok().map(|m| (m.dev(), m.ino()));
    if place(path).is_some_and(|of| place(trace) == Some(of)) {
        let why = "is the trace itself, which would be lost; name another file";
        return Err(Failure::Error(format!("{}: {why}", path.display())));
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that is removed when a signal (SIGINT, SIGTERM, SIGHUP) ends the command, as nobody would find it later.
struct Unfinished;

/// What is to be removed then.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);
/// Exit status of a command that a signal ended, as shells have it for SIGINT.
const INTERRUPTED: i32 = 130;

impl Unfinished {
    fn keep(path: &Path) -> Self {
        static ONCE: Once = Once::new();
        *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_path_buf());
        // Where no handler can be set, a signal ends the command as it always does.
        ONCE.call_once(|| {
            let _ = ctrlc::set_handler(|| interrupted());
        });
        Self
    }
}

/// Ends the command because of a signal; what is unfinished goes.
pub(crate) fn interrupted() -> ! {
    // The lock is kept: no file comes into being between this and the end.
    let path = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = path.as_deref() {
        let _ = fs::remove_file(path);
    }
    process::exit(INTERRUPTED)
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// As [`write_new`], with bytes that `write` writes one after the other; asked before it begins.
pub(crate) fn write_new_with<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    write_new_file(path, force, |file| {
        let mut file = io::BufWriter::new(Reader { file, left: false });
        let result = write(&mut file);
        let flushed = if result.is_ok() { file.flush() } else { Ok(()) };
        // What is left in the buffer goes nowhere, and is not tried again.
        let (reader, _) = file.into_parts();
        if reader.left && is_stdout(path) {
            return Err(Failure::Closed);
        }
        flushed.map_err(|e| failed(path, &e))?;
        result
    })
}

/// A file that may be a pipe; knows whether its reader has left.
struct Reader<'f> {
    file: &'f fs::File,
    left: bool,
}

impl Write for Reader<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.left |= written.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// As [`write_new`], with a file that `write` fills; asked before it begins.
pub(crate) fn write_new_file<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&fs::File) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let fail = |e: io::Error| failed(path, &e);
    if is_stdout(path) {
        let out = io::stdout().as_fd().try_clone_to_owned().map_err(fail)?;
        return write(&fs::File::from(out));
    }
    check_new(path, force)?;
    // Of a symbolic link the file that it leads to is replaced, not the link.
    let to = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    // A temporary file is readable by its owner only; a result is an ordinary file, as the umask has it.
    let ordinary = fs::Permissions::from_mode(0o666);
    let file = tempfile::Builder::new().permissions(ordinary).tempfile_in(folder(&to)).map_err(fail)?;
    let _unfinished = Unfinished::keep(file.path());
    let result = write(file.as_file())?;
    if force {
        file.persist(&to).map_err(|e| fail(e.error))?;
    } else {
        file.persist_noclobber(&to).map_err(|e| fail(e.error))?;
    }
    Ok(result)
}

/// Progress on standard error, shown only on a terminal and only when it takes longer than a second.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// `what` is being done; how far it is may be told by [`Progress::step`] later.
    pub(crate) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(what);
        let later = bar.clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_secs(1));
            if !later.is_finished() {
                later.set_draw_target(ProgressDrawTarget::stderr());
                later.enable_steady_tick(Duration::from_millis(200));
            }
        });
        Self(bar)
    }

    /// Something else is being done.
    pub(crate) fn say(&self, what: &str) {
        self.0.set_message(one_line(what).into_owned());
    }

    /// `done` of `of` parts of `what` are done.
    pub(crate) fn step(&self, what: &'static str, done: usize, of: usize) {
        if self.0.length().is_none() {
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {bar:40} {pos}/{len} {elapsed}")
            {
                self.0.set_style(style);
            }
            self.0.set_message(what);
            self.0.set_length(of as u64);
        }
        self.0.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
