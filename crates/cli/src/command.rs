// SPDX-License-Identifier: GPL-2.0-only

use clap::{Parser, Subcommand};

use crate::ab::AbArgs;
use crate::advise::AdviseArgs;
use crate::args::{
    CompareArgs, ConvertArgs, DriveArgs, ExplainArgs, GovernorsArgs, InfoArgs, PlatformArgs, ReplayArgs,
    SchemaArgs, ScoreArgs, SelfDescribeArgs, SimulateArgs, TapeArgs,
};
use crate::bisect::BisectArgs;
use crate::boot::BootArgs;
use crate::check::CheckArgs;
use crate::corpus::CorpusArgs;
use crate::counterexample::CounterexampleArgs;
use crate::diff::DiffArgs;
use crate::fitness::FitnessCommandArgs;
use crate::load::LoadArgs;
use crate::record::RecordArgs;
use crate::reproduce::ReproduceArgs;
use crate::restore::RestoreArgs;
use crate::review::ReviewArgs;
use crate::sweep::SweepCommandArgs;
use crate::top::TopArgs;

/// A laboratory for Linux CPU idle governors: record, replay, simulate and compare them.
#[derive(Debug, Parser)]
#[command(
    name = "idlewise",
    version,
    disable_version_flag = true,
    arg_required_else_help = true,
    max_term_width = 110,
    after_help = idlewise_manual::examples::ALL
)]
pub(crate) struct Arguments {
    /// Print the version
    #[arg(short = 'V', long)]
    pub(crate) version: bool,
    /// With --version: print also what the binary was built from
    #[arg(long, requires = "version")]
    pub(crate) verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Record(RecordArgs),
    /// Show what a trace holds, and what each CPU is good for
    ///
    /// It says what is missing, too.
    Info(InfoArgs),
    /// Replay traces under any number of governors
    ///
    /// It compares the governors with each other, and with the oracle.
    Replay(ReplayArgs),
    /// Compare two governors on the same traces, choice by choice
    Compare(CompareArgs),
    /// Explain one decision: inputs, state, reasons
    ///
    /// It tells what the other governors chose, too.
    Explain(ExplainArgs),
    /// Score the choices that the kernel made in a trace
    ///
    /// Nothing is replayed.
    Score(ScoreArgs),
    /// Write a tape: what governors would have seen of a trace
    ///
    /// A small file with the inputs that a trace gives to governors, for replay.
    Tape(TapeArgs),
    /// Convert a trace to Perfetto or ftrace text
    ///
    /// Governors' choices can be additional tracks (Perfetto only).
    Convert(ConvertArgs),
    /// Run a workload on a simulated machine
    ///
    /// It runs under any idle and frequency governors, which are compared.
    Simulate(SimulateArgs),
    /// Repeat published experiments by simulation
    ///
    /// The results are compared with the published numbers.
    Reproduce(ReproduceArgs),
    /// Watch the running machine: states, wakeups, misses, power
    ///
    /// Misses are entries that were too deep or too shallow.
    Top(TopArgs),
    /// Subtract two snapshots of counters, or compare two runs
    ///
    /// The text fits into a mail.
    Diff(DiffArgs),
    /// Compare governors on the running machine
    ///
    /// It runs a benchmark under each in turn, and tests the differences.
    Ab(AbArgs),
    Advise(AdviseArgs),
    /// Run the governors in a real kernel, on a virtual machine
    ///
    /// It builds a kernel, boots it on a virtual machine with idle states, and scores its choices.
    #[command(alias = "lab")]
    Boot(BootArgs),
    /// Check a governor or signal against kernel code
    ///
    /// Step by step, against recordings of kernel code.
    Drive(DriveArgs),
    /// Check that a governor keeps what all must keep
    ///
    /// It looks for disabled states, broken latency limits, overflows and more, and prints the shortest sequence of
    /// idle periods that leads to each.
    Check(CheckArgs),
    /// Find the shortest tape on which one governor is worse
    ///
    /// In recordings where two governors differ, or among drawn idle periods; made minimal, printed as a story, written as a
    /// tape that replay reads. Unless told, each governor decides about a million times, which takes seconds; where
    /// sequences stay long, up to 45 million times.
    Counterexample(CounterexampleArgs),
    /// Collect recordings, and replay all of a collection
    ///
    /// A corpus is a folder of recordings with an index: machine, load, origin, licence, grades, hash, and a split into
    /// train, validation and test by machine.
    Corpus(CorpusArgs),
    /// Run governors with many values of their parameters
    ///
    /// Every setting on every recording, against one: which are best, and which no other beats.
    Sweep(SweepCommandArgs),
    /// One number for a governor: its regret on unseen machines
    ///
    /// The median of its idle energy above the oracle's, and whether its checks pass: for searches by people and programs.
    Fitness(FitnessCommandArgs),
    /// Judge a patch series on recordings, patch by patch
    ///
    /// Each patch is applied to the governors, compiled, checked, replayed and simulated. No kernel is built.
    Review(ReviewArgs),
    /// Find the commit or version that moved a number
    ///
    /// Only governors are taken from each commit. No kernel is built.
    Bisect(BisectArgs),
    /// List the governors, or show one's manual page
    ///
    /// The page tells the parameters, too.
    Governors(GovernorsArgs),
    /// List, show, check or scan machines
    ///
    /// `scan` describes the running machine.
    Platform(PlatformArgs),
    /// Print the JSON Schema of a result, or list the results that have one
    Schema(SchemaArgs),
    /// A load of `ab`
    #[command(hide = true)]
    Load(LoadArgs),
    /// Write the manual pages, completions and the reference of commands
    #[command(hide = true)]
    SelfDescribe(SelfDescribeArgs),
    /// Restore what a session that died had changed
    #[command(aliases = ["put-back", "guard-session"], after_help = idlewise_manual::examples::RESTORE)]
    Restore(RestoreArgs),
}

impl Command {
    /// Whether its work is shared among threads. The others must not disturb the machine that they watch, switch or load, or are
    /// done before threads would be started.
    pub(crate) fn works_in_threads(&self) -> bool {
        !matches!(
            self,
            Self::Record(_)
                | Self::Top(_)
                | Self::Ab(_)
                | Self::Load(_)
                | Self::Restore(_)
                | Self::Governors(_)
                | Self::Check(_)
                | Self::Platform(_)
                | Self::Schema(_)
        )
    }
}
