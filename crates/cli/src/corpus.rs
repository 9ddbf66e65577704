// SPDX-License-Identifier: GPL-2.0-only
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use idlewise_collect::{AddRequest, Per, Poor, RunRequest, add, prove, run as run_corpus, scrub_to, verify};
use idlewise_corpus::{Basis, Corpus, CorpusError, Entry, FetchList, Fetched, Selection, Split, fetch};
use idlewise_files::new_file::is_stdout;
use idlewise_findings as view;
use idlewise_page as pages;
use idlewise_recording::{CommandError, Recording, ReplaySetup};
use idlewise_study::replay::listed_governors;

use crate::args::{KernelArgs, OutputArgs, PageArgs, RecordingArgs};
use crate::examples;
use crate::output::{
    Done, Failure, Progress, check_new_from, deliver, none_failed, say_beside, say_line, write_new,
};

#[derive(Debug, Args)]
#[command(after_help = examples::CORPUS)]
pub(crate) struct CorpusArgs {
    #[command(subcommand)]
    pub(crate) what: CorpusCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CorpusCommand {
    /// List the recordings
    List(CorpusListArgs),
    /// Replay all of it, each recording on its own machine
    ///
    /// Shows what each governor loses against the oracle, and how it differs from the first, with intervals over machines.
    Run(CorpusRunArgs),
    /// Grade a recording and add it, scrubbed
    ///
    /// Refuses what contradicts itself. The corpus gets a tape; the recording stays as it is.
    Add(CorpusAddArgs),
    /// Write a tape without names, pids, addresses, absolute times
    ///
    /// Then replays recording and tape under every governor that ships with idlewise, and writes nothing unless all decisions are
    /// the same.
    Scrub(CorpusScrubArgs),
    /// Compare the files with the hashes of the index
    Verify(CorpusListArgs),
    /// Download files that a list names with their hashes
    ///
    /// Lines of SHA256 URL [NAME]. What has arrived in part is continued; what has another hash is refused. curl does the
    /// transfer.
    Fetch(CorpusFetchArgs),
}

/// A corpus, and which of its recordings.
#[derive(Debug, Args)]
pub(crate) struct CorpusArg {
    /// The folder of the corpus
    #[arg(value_name = "FOLDER", default_value = "corpus")]
    folder: PathBuf,
    /// Only these recordings, by id
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    id: Vec<String>,
    /// Only this part: train, validation or test
    #[arg(long, value_name = "SPLIT")]
    split: Option<Split>,
    /// Only measured, emulated or model
    ///
    /// measured: a kernel on a machine; emulated: a real kernel on an emulated machine; model: simulated.
    #[arg(long, value_name = "BASIS")]
    basis: Option<Basis>,
    /// Only these machines
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    machine: Vec<String>,
    /// Only these kinds of load
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    workload: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CorpusListArgs {
    #[command(flatten)]
    corpus: CorpusArg,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CorpusRunArgs {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Governors, as in `idlewise replay`; the oracle is always there
    #[arg(short, long, value_name = "LIST", default_value = "menu,teo-6.1,teo-util,teo")]
    governor: String,
    /// Compare the others with this one [default: the first]
    #[arg(short, long, value_name = "GOVERNOR")]
    baseline: Option<String>,
    /// Break the regret down
    #[arg(long, value_enum)]
    per: Option<Per>,
    /// Use also recordings that show too little to be trusted
    #[arg(long)]
    include_poor: bool,
    /// Seed of the random numbers that a governor may ask for
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    kernels: KernelArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CorpusAddArgs {
    /// A trace in any supported format, or a tape
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The folder of the corpus; made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    to: PathBuf,
    /// Its name in the corpus [default: the file's]
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// The kind of load
    #[arg(long, value_name = "NAME")]
    workload: String,
    /// What was measured: measured, emulated or model
    #[arg(long, value_name = "BASIS")]
    basis: Basis,
    /// Its licence, as an SPDX identifier
    #[arg(long, value_name = "SPDX")]
    licence: String,
    /// Who made it, or where it was published
    #[arg(long, value_name = "TEXT")]
    origin: String,
    /// The command that made it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    command: String,
    /// Release of its kernel, if the recording does not say it
    #[arg(long, value_name = "RELEASE")]
    kernel: Option<String>,
    /// The kernel's counters before and after, if the recording lacks them
    ///
    /// As for `idlewise score --counters`. The index keeps what was counted.
    #[arg(long, value_names = ["BEFORE", "AFTER"], num_args = 2)]
    counters: Vec<PathBuf>,
    /// The part for its machine [default: by the machine's id]
    ///
    /// train, validation or test. All recordings of a machine are in one part.
    #[arg(long, value_name = "SPLIT")]
    split: Option<Split>,
    /// Let the index name the file where it is; copy and scrub nothing
    #[arg(long)]
    in_place: bool,
    #[command(flatten)]
    recording: RecordingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CorpusScrubArgs {
    /// A trace in any supported format, or a tape
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The tape to write; an existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    recording: RecordingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CorpusFetchArgs {
    /// A file with lines of SHA256 URL [NAME]
    ///
    /// URLs begin with https://, http:// or file://.
    #[arg(value_name = "LIST")]
    list: PathBuf,
    /// The folder to download to; made if it is not there
    #[arg(long, value_name = "FOLDER", default_value = "corpus")]
    to: PathBuf,
}

impl CorpusArg {
    fn open(&self) -> Result<Corpus, CorpusError> {
        Corpus::open(&self.folder)
    }

    fn select<'c>(&self, corpus: &'c Corpus) -> Result<Vec<&'c Entry>, CorpusError> {
        corpus.select(&Selection {
            ids: self.id.clone(),
            split: self.split,
            basis: self.basis,
            machines: self.machine.clone(),
            workloads: self.workload.clone(),
        })
    }
}

pub(crate) fn run(what: CorpusCommand) -> Done {
    match what {
        CorpusCommand::List(a) => {
            a.output.check()?;
            let corpus = a.corpus.open()?;
            let entries = a.corpus.select(&corpus)?;
            deliver(&a.output, &view::corpus_list(&corpus, &entries), &corpus.index().only(&entries))
        }
        CorpusCommand::Verify(a) => {
            a.output.check()?;
            let corpus = a.corpus.open()?;
            let verification = {
                let _progress = Progress::new("reading");
                verify(&corpus, &a.corpus.select(&corpus)?)
            };
            deliver(&a.output, &view::corpus_verify(&verification), &verification)?;
            Ok(!verification.has_findings())
        }
        CorpusCommand::Run(a) => replayed(&a),
        CorpusCommand::Add(a) => added(&a),
        CorpusCommand::Scrub(a) => scrubbed(&a),
        CorpusCommand::Fetch(a) => fetched(&a),
    }
}

fn replayed(a: &CorpusRunArgs) -> Done {
    a.output.check()?;
    a.page.check(&a.output)?;
    let corpus = a.corpus.open()?;
    let entries = a.corpus.select(&corpus)?;
    let request = RunRequest {
        governors: listed_governors("--governor", &a.governor)?,
        baseline: a.baseline.clone(),
        setup: ReplaySetup { kernel_trees: a.kernels.trees.clone(), seed: a.seed, ..ReplaySetup::default() },
        poor: if a.include_poor { Poor::Use } else { Poor::LeaveOutWithout("--include-poor") },
        per: a.per,
    };
    let report = {
        let progress = Progress::new("replaying");
        run_corpus(&corpus, &entries, &request, &|done, of| progress.step("replaying", done, of))?
    };
    deliver(&a.output, &view::corpus_run(&report), &report)?;
    a.page.write_of(&report, || view::corpus_run(&report), |of| pages::corpus_run(&report, of))?;
    let results = report.recordings.iter().flat_map(|r| &r.results);
    none_failed(&results.filter_map(|r| r.failure.as_deref()).collect::<Vec<_>>())
}

/// Makes `folder` where it is not there.
fn made(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| CommandError::file(folder, e).into())
}

fn added(a: &CorpusAddArgs) -> Done {
    made(&a.to)?;
    let request = AddRequest {
        folder: a.to.clone(),
        trace: a.trace.clone(),
        options: a.recording.options(),
        id: a.id.clone(),
        workload: a.workload.clone(),
        basis: a.basis,
        licence: a.licence.clone(),
        origin: a.origin.clone(),
        command: a.command.clone(),
        kernel: a.kernel.clone(),
        counters: <[PathBuf; 2]>::try_from(a.counters.clone()).ok(),
        split: a.split,
        in_place: a.in_place,
    };
    let added = {
        let _progress = Progress::reading("reading", &request.options.meter);
        add(&request)?
    };
    let e = &added.entry;
    say_line(&format!(
        "{}: {} idle periods of {}, {}, {} bytes, grade {}, for {}",
        e.id, e.idle_periods, e.machine, e.basis, e.bytes, e.trust, e.split
    ))?;
    for reason in &e.reasons {
        say_line(&format!("  {reason}"))?;
    }
    if let Some(proof) = added.proof {
        say_line(&format!("  scrubbed; {proof}"))?;
    }
    Ok(true)
}

fn scrubbed(a: &CorpusScrubArgs) -> Done {
    check_new_from(&a.output, false, &a.trace, &[])?;
    let name = a.output.file_name().map_or_else(|| "tape".into(), |name| name.to_string_lossy());
    let name = if is_stdout(&a.output) { "tape".into() } else { name };
    let folder = tempfile::tempdir().map_err(|e| CommandError::file(&std::env::temp_dir(), e))?;
    let options = a.recording.options();
    let (bytes, proof) = {
        let _progress = Progress::reading("scrubbing", &options.meter);
        let recording = Recording::open(&a.trace, &options)?;
        let scrubbed = scrub_to(&recording, &name, folder.path())?;
        let path = scrubbed.file.path();
        let proof = prove(&a.trace, &options, path, scrubbed.shift_ns)?;
        (idlewise_files::read_within(path, u64::MAX).map_err(|e| CommandError::file(path, e))?, proof)
    };
    write_new(&a.output, &bytes, false)?;
    say_beside(&a.output, &format!("{}: {} bytes; {proof}", a.output.display(), bytes.len()))?;
    Ok(true)
}

fn fetched(a: &CorpusFetchArgs) -> Done {
    let list = FetchList::read(&a.list)?;
    made(&a.to)?;
    let progress = Progress::new("downloading");
    let mut failures = Vec::new();
    for (n, download) in list.downloads.iter().enumerate() {
        progress.step(&download.name, n, list.downloads.len());
        match fetch(download, &a.to) {
            Ok(Fetched::Arrived) => say_line(&format!("{}: arrived", download.name))?,
            Ok(Fetched::Already) => say_line(&format!("{}: was there", download.name))?,
            Err(e) => failures.push(e.to_string()),
        }
    }
    drop(progress);
    none_failed(&failures.iter().map(String::as_str).collect::<Vec<_>>())
}
