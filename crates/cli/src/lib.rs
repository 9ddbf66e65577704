// SPDX-License-Identifier: GPL-2.0-only
//! The `idlewise` command: arguments in, text out. What it does is in the rooms below (ARCHITECTURE.md). A program calls commands
//! by [`call`] and gets their results.
#![forbid(unsafe_code)]

mod ab;
mod advise;
mod again;
mod answer;
mod args;
mod bisect;
mod boot;
mod call;
mod check;
mod command;
mod compare;
mod convert;
mod corpus;
mod counterexample;
mod decisions;
mod describe;
mod diff;
mod drive;
mod explain;
mod fitness;
mod governors;
mod info;
mod invocation;
mod load;
mod output;
mod page;
mod platform;
mod plot;
mod record;
mod replay;
mod reproduce;
mod restore;
mod review;
mod schema;
mod score;
mod simulate;
mod surroundings;
mod sweep;
mod tape;
mod top;
mod version;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::error::ContextKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use idlewise_report::lines;

pub use call::{Call, Form, Listener, Outcome, WarningListener, call, definition};
use idlewise_manual::examples;

use command::{Arguments, Command};
use output::{Done, Failure, say, warn, warn_lines};

const DONE: u8 = 0;
/// A comparison found a difference.
const DIFFERENT: u8 = 1;
/// Not done; the reason is on standard error.
const NOT_DONE: u8 = 2;

/// What the parser of a number says, and what was expected.
const NUMBERS: [(&str, &str); 2] = [
    ("invalid digit found in string", "expected a whole number, 0 or more"),
    ("number too large to fit in target type", "the number is too large"),
];

/// Lets every option take `-1` as its value, and refuse it by the range that it has: else the parser takes it for an option. Where a
/// recording is judged on its own machine only, that is what `--platform` means.
fn lenient(command: clap::Command) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
    let command = if has("recorded_on") && !has("platform") {
        command.mut_arg("recorded_on", |arg| arg.alias("platform").short_alias('p'))
    } else {
        command
    };
    let command = command.mut_args(|arg| {
        let valued = arg.get_action().takes_values() && !arg.is_last_set();
        if valued { arg.allow_negative_numbers(true) } else { arg }
    });
    names.iter().fold(command, |command, name| command.mut_subcommand(name, lenient))
}

/// The command line of the process, obeyed.
#[must_use]
pub fn main() -> ExitCode {
    surroundings::survive_file_limits();
    let parsed = lenient(idlewise_manual::laid_out(Arguments::command()))
        .try_get_matches()
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(mut e) => {
            let (text, said) = refusal(&mut e);
            // It may hold a file's name, which may hold anything.
            if lines(&said) == text {
                // Help that a file takes: the parser would not say that it could not be written.
                if !e.use_stderr() && !std::io::stdout().is_terminal() {
                    return status(say(&text).map(|()| true));
                }
                e.exit();
            }
            warn_lines(&said);
            return ExitCode::from(NOT_DONE);
        }
    };
    let Some(command) = arguments.command else {
        return status(say(&version::text(arguments.verbose)).map(|()| true));
    };
    if command.works_in_threads() {
        surroundings::start_threads();
    }
    match command {
        Command::Record(a) => record::run(&a),
        command => status(run(command)),
    }
}

/// What the parser of the command line says, and the same in our words.
fn refusal(e: &mut clap::Error) -> (String, String) {
    // It advises to name an unknown option behind `--`, where it would be a file.
    e.remove(ContextKind::Suggested);
    let text = e.render().to_string();
    let said = NUMBERS.iter().fold(text.clone(), |said, (parser, ours)| said.replace(parser, ours));
    (text, said)
}

/// Obeys a command. `record` has the exit status of the command that it records.
fn run(command: Command) -> Done {
    match command {
        Command::Info(a) => info::run(&a),
        Command::Replay(a) => replay::run(a),
        Command::Simulate(a) => simulate::run(&a),
        Command::Reproduce(a) => reproduce::run(&a),
        Command::Explain(a) => explain::run(&a),
        Command::Compare(a) => compare::run(&a),
        Command::Score(a) => score::run(&a),
        Command::Tape(a) => tape::run(&a),
        Command::Convert(a) => convert::run(&a),
        Command::Drive(a) => drive::run(&a),
        Command::Check(a) => check::run(&a),
        Command::Corpus(a) => corpus::run(a.what),
        Command::Counterexample(a) => counterexample::run(&a),
        Command::Sweep(a) => sweep::run(&a),
        Command::Fitness(a) => fitness::run(&a),
        Command::Review(a) => review::run(&a),
        Command::Bisect(a) => bisect::run(&a),
        Command::Governors(a) => governors::run(&a),
        Command::Platform(a) => platform::run(&a),
        Command::Boot(a) => boot::run(a.what),
        Command::Top(a) => top::run(&a),
        Command::Diff(a) => diff::run(a),
        Command::Ab(a) => ab::run(&a),
        Command::Advise(a) => advise::run(&a),
        Command::Load(a) => load::run(&a),
        Command::Restore(a) => restore::run(&a),
        Command::Record(_) => Err(Failure::Error("record: it is run by a shell only".to_owned())),
        Command::Schema(a) => schema::run(&a),
        Command::SelfDescribe(a) => describe::run(&a),
    }
}

/// The exit status of what was done; a failure is reported.
fn status(result: Done) -> ExitCode {
    match result {
        Ok(same) => ExitCode::from(if same { DONE } else { DIFFERENT }),
        // Whoever reads our output has seen enough.
        Err(Failure::Closed) => ExitCode::from(DONE),
        Err(Failure::Error(why)) => {
            warn(&why);
            ExitCode::from(NOT_DONE)
        }
    }
}
