// SPDX-License-Identifier: GPL-2.0-only
//! Text on standard output and standard error, or kept for the program that called.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;

use idlewise_files::new_file::is_stdout;
use idlewise_report::{lines, message, one_line};

use crate::caller::{keep_said, keep_warning};
use crate::failure::{Done, Failure};

/// Writes text of one or several lines to standard output. What a terminal would obey in it is shown instead. Whoever closed the
/// other end has seen enough; the exit status still says what was found.
pub fn say(text: &str) -> Result<(), Failure> {
    say_rendered(&lines(text))
}

/// The same of text in which everything of others is escaped already; what remains are our own colours.
pub fn say_rendered(text: &str) -> Result<(), Failure> {
    say_bytes(text.as_bytes())
}

/// The same of bytes, of a file that goes to standard output.
pub fn say_bytes(bytes: &[u8]) -> Result<(), Failure> {
    if keep_said(bytes) {
        return Ok(());
    }
    // Not by the standard library's own writer, which takes what is closed for what swallows everything.
    let out = io::stdout().lock();
    let written = out.as_fd().try_clone_to_owned().and_then(|out| File::from(out).write_all(bytes));
    match written {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Error(format!("standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// The same of one line, which a name in it cannot end.
pub fn say_line(line: &str) -> Result<(), Failure> {
    say(&format!("{}\n", one_line(line)))
}

/// Says something on standard error, in a line (or more, indented) that begins with our name.
pub fn warn(what: &str) {
    if keep_warning(what) {
        return;
    }
    warn_raw(&format!("idlewise: {}\n", message(what)));
}

/// Writes lines to standard error.
pub fn warn_lines(text: &str) {
    if keep_warning(text.trim_end()) {
        return;
    }
    warn_raw(&lines(text));
}

/// Shows on a terminal how far something is, in place of what stood in the line; nothing: clears the line.
pub fn show_progress(what: &str) {
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
pub fn none_failed(failures: &[&str]) -> Done {
    let Some((last, others)) = failures.split_last() else { return Ok(true) };
    others.iter().for_each(|why| warn(why));
    Err(Failure::Error((*last).to_owned()))
}

/// The end of a command that judges: 1 where it `found` what it was to look for; else 2, with what was `not_judged`. A program has the
/// result all the same, with a warning.
pub fn judged(found: bool, not_judged: Option<String>) -> Done {
    match not_judged.filter(|_| !found) {
        Some(why) if !keep_warning(&why) => Err(Failure::Error(why)),
        _ => Ok(!found),
    }
}

/// Says where a result of several files went, which standard output cannot take.
pub fn refuse_stdout(path: &Path, why: &str) -> Result<(), Failure> {
    if !is_stdout(path) {
        return Ok(());
    }
    Err(Failure::Error(format!("-: cannot write to standard output: {why}; name a file")))
}

/// Says in a line what became of the file `path`: on standard output, unless that is the file.
///
/// # Errors
/// [`Failure`] when it cannot be written.
pub fn say_beside(path: &Path, line: &str) -> Result<(), Failure> {
    say_unless(is_stdout(path), line)
}

/// Says a line on standard output, unless that is `taken` by something that a program reads.
///
/// # Errors
/// [`Failure`] when it cannot be written.
pub fn say_unless(taken: bool, line: &str) -> Result<(), Failure> {
    if taken {
        warn_lines(&format!("{}\n", one_line(line)));
        return Ok(());
    }
    say_line(line)
}
