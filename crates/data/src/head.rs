// SPDX-License-Identifier: GPL-2.0-only
use idlewise_columns::Kind;

use crate::declared::Declared;
use crate::said::Said;
use crate::{
    ab, advise, beside, bisect, boot, check, compare, corpus, counterexample, diff, explain, info, reproduce,
    review, scored, simulate, sweep, top,
};

/// What is known of a table before there is a result.
#[derive(Clone, Debug)]
pub struct TableHead {
    /// The command whose result it is.
    pub command: &'static str,
    /// What a row is.
    pub row: &'static str,
    /// Name, kind and meaning of each column; `N` in a name stands for the number of each idle state.
    pub columns: Vec<(String, Kind, &'static str)>,
}

/// The tables of all commands.
#[must_use]
pub fn tables() -> Vec<TableHead> {
    let of = |command, row, columns: &[Declared], state: &[Declared]| TableHead {
        command,
        row,
        columns: columns
            .iter()
            .map(|(name, kind, what)| ((*name).to_owned(), *kind, *what))
            .chain(state.iter().map(|(name, kind, what)| (format!("stateN_{name}"), *kind, *what)))
            .collect(),
    };
    let scored = |command, row, first: &[Declared]| {
        let measures: Vec<Declared> = scored::measured_columns().collect();
        of(command, row, &[first, &measures, Said::COLUMNS].concat(), scored::STATE)
    };
    let by_part = "a recording, a governor and a part of the machine";
    vec![
        scored("replay", by_part, scored::REPLAYED),
        scored("score", "a part of the machine", scored::JUDGED),
        of(
            "compare",
            "a quantity of both governors; rows of one `by` add up to all waits",
            &[compare::COLUMNS, Said::COLUMNS].concat(),
            &[],
        ),
        of("explain", "a fact about a decision", explain::COLUMNS, &[]),
        of("info", "a quantity of the trace", info::COLUMNS, &[]),
        of("simulate", "a run and a number", simulate::COLUMNS, &[]),
        of(
            "simulate --power-limit",
            "a run and a number",
            &[simulate::COLUMNS, &[simulate::LIMITED]].concat(),
            &[],
        ),
        of("simulate --beside", "a recording and a quantity", beside::COLUMNS, &[]),
        of("corpus list", "a recording", corpus::LISTED, &[]),
        of("corpus verify", "a recording", corpus::VERIFIED, &[]),
        of("corpus run", "a recording and a governor", corpus::RAN, &[]),
        of("counterexample", "equal idle periods that follow each other", counterexample::COLUMNS, &[]),
        of("check", "a violation, or a property without any", check::COLUMNS, &[]),
        of("review", "a governor after a patch, a recording and a measure", review::COLUMNS, &[]),
        of("sweep", "a setting and a recording", sweep::COLUMNS, &[]),
        of("bisect", "a version, and a recording", bisect::COLUMNS, &[]),
        of("reproduce", "a cell of a published table", reproduce::COLUMNS, &[]),
        of("ab", "a metric of a benchmark under an arm", ab::COLUMNS, &[]),
        of("advise", "a governor", advise::COLUMNS, &[]),
        of("diff", "a run, a part of the machine and a state", diff::COLUMNS, &[]),
        of("top --once", "a part of the machine", top::COLUMNS, top::STATE),
        scored("boot run", "a machine, a workload, a governor and a part of the machine", boot::COLUMNS),
        of("boot self-test", "a check", boot::CHECKS, &[]),
    ]
}
