// SPDX-License-Identifier: GPL-2.0-only
//! The `idlewise` command: arguments in, text out. What it does is in the rooms below (ARCHITECTURE.md).

mod ab;
mod advise;
mod again;
mod answer;
mod args;
mod boot;
mod command;
mod compare;
mod convert;
mod diff;
mod drive;
mod explain;
mod governors;
mod info;
mod load;
mod output;
mod platform;
mod put_back;
mod record;
mod replay;
mod reproduce;
mod score;
mod simulate;
mod tape;
mod top;

use std::process::ExitCode;

use clap::Parser;
use idlewise_report::lines;

use command::{Arguments, Command};
use output::{Failure, warn, warn_lines};

const DONE: u8 = 0;
/// A comparison found a difference.
const DIFFERENT: u8 = 1;
/// Not done; the reason is on standard error.
const NOT_DONE: u8 = 2;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(e) => {
            // It may hold a file's name, which may hold anything.
            let text = e.render().to_string();
            if lines(&text) == text {
                e.exit();
            }
            warn_lines(&text);
            return ExitCode::from(NOT_DONE);
        }
    };
    let result = match arguments.command {
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
        Command::Governors(a) => governors::run(&a),
        Command::Platform(a) => platform::run(&a),
        Command::Boot(a) => boot::run(a.what),
        Command::Top(a) => top::run(&a),
        Command::Diff(a) => diff::run(a),
        Command::Ab(a) => ab::run(&a),
        Command::Advise(a) => advise::run(&a),
        Command::Load(a) => load::run(&a),
        Command::PutBack(a) => put_back::run(&a),
        Command::Record(a) => return record::run(&a),
    };
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
