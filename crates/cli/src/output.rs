// SPDX-License-Identifier: GPL-2.0-only
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use idlewise_lab::LabError;
use idlewise_report::Report;
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

impl From<LabError> for Failure {
    fn from(e: LabError) -> Self {
        Self::Error(e.to_string())
    }
}

impl From<String> for Failure {
    fn from(why: String) -> Self {
        Self::Error(why)
    }
}

/// Writes to standard output.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        io::ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Error(format!("standard output: {e}")),
    })
}

/// Prints a result in the form and to the place asked for.
pub(crate) fn deliver<T: Serialize>(to: &OutputArgs, view: &Report, result: &T) -> Done {
    let text = view.render(to.format, result).map_err(|e| e.to_string())?;
    match &to.output {
        Some(path) => write_new(path, text.as_bytes(), false)?,
        None => say(&text)?,
    }
    Ok(true)
}

/// Writes to `path`, whole or not at all; an existing file is left alone unless `force`.
pub(crate) fn write_new(path: &Path, bytes: &[u8], force: bool) -> Result<(), Failure> {
    write_new_with(path, force, |file| file.write_all(bytes).map_err(|e| failed(path, &e)))
}

fn failed(path: &Path, e: &io::Error) -> Failure {
    Failure::Error(format!("{}: {e}", path.display()))
}

/// As [`write_new`], with bytes that `write` writes one after the other; asked before it begins.
pub(crate) fn write_new_with<T>(
    path: &Path,
    force: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let fail = |e: io::Error| failed(path, &e);
    if !force && path.exists() {
        return Err(Failure::Error(format!("{}: exists; name another file or remove it", path.display())));
    }
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = io::BufWriter::new(tempfile::NamedTempFile::new_in(folder).map_err(fail)?);
    let result = write(&mut file)?;
    let file = file.into_inner().map_err(|e| fail(e.into_error()))?;
    if force {
        file.persist(path).map_err(|e| fail(e.error))?;
    } else {
        file.persist_noclobber(path).map_err(|e| fail(e.error))?;
    }
    // A temporary file is readable by its owner only; a result is an ordinary file.
    let ordinary = OpenOptions::new().read(true).open(path).and_then(|f| f.metadata());
    let mut permissions = ordinary.map_err(fail)?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o644);
    fs::set_permissions(path, permissions).map_err(fail)?;
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
