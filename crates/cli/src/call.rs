// SPDX-License-Identifier: GPL-2.0-only
//! Commands that a program calls.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Once;

use clap::{CommandFactory as _, FromArgMatches as _};
use idlewise_host::caller::{begin, end, is_end};
pub use idlewise_host::{Call, Listener, Outcome, WarningListener};
pub use idlewise_report::Format as Form;

use crate::command::Arguments;
use crate::output::{Done, Failure};
use crate::{lenient, refusal, run, surroundings};

/// The commands, as the command line defines them.
#[must_use]
pub fn definition() -> clap::Command {
    lenient(idlewise_manual::laid_out(Arguments::command()))
}

/// Runs a command for a program, on this thread. It prints nothing.
///
/// # Panics
/// Where the command does.
#[must_use]
pub fn call(call: Call) -> Outcome {
    static THREADS: Once = Once::new();
    let words = std::iter::once("idlewise".into()).chain(call.words.iter().cloned());
    let parsed = definition().try_get_matches_from(words).and_then(|m| Arguments::from_arg_matches(&m));
    begin(call);
    let done = match parsed.map(|a| a.command) {
        Ok(Some(command)) => {
            if command.works_in_threads() {
                THREADS.call_once(surroundings::start_threads);
            }
            catch_unwind(AssertUnwindSafe(|| run(command)))
        }
        Ok(None) => Ok(Err(Failure::Error("which command?".to_owned()))),
        Err(mut e) => Ok(Err(Failure::Error(without_usage(&refusal(&mut e).1)))),
    };
    let mut outcome = end();
    conclude(&mut outcome, done);
    outcome
}

/// What the parser refuses, without what it says of the command line besides.
fn without_usage(refusal: &str) -> String {
    let ends = ["\n\nUsage:", "\n\nFor more information"];
    let text = ends.iter().fold(refusal, |text, end| text.split_once(end).map_or(text, |(text, _)| text));
    text.strip_prefix("error: ").unwrap_or(text).trim_end().to_owned()
}

fn conclude(outcome: &mut Outcome, done: Result<Done, Box<dyn Any + Send>>) {
    match done {
        Ok(Ok(same)) => outcome.same = same,
        Ok(Err(Failure::Closed)) => outcome.same = true,
        Ok(Err(Failure::Error(why))) => outcome.failure = Some(why),
        Err(panic) if is_end(&*panic) => outcome.ended = true,
        Err(panic) => resume_unwind(panic),
    }
}
