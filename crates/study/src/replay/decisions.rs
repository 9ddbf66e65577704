// SPDX-License-Identifier: GPL-2.0-only
//! Every decision of a replay as a row of a file: `--write-decisions`.
//!
//! Each job of a replay writes its rows into a temporary file of its own, which the process of a foreign governor can do, too.
//! Jobs end in any order; their rows come into the file in the order of the jobs. No more rows are in memory than one group of each
//! job that runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use idlewise_columns::{Block, Cell, Column, Form, Group, Kind, Schema};
use idlewise_model::{
    Confidence, Entry, Ledger, NO_LATENCY_LIMIT_NS, Outcome, RunDecision, TickChoice, WakeCause,
};
use idlewise_platform::Cluster;
use idlewise_recording::candidate::{Book, Candidate};
use idlewise_recording::placement::Placement;
use idlewise_recording::{CommandError, Recording};
use idlewise_score::entry_fj;
use serde::{Deserialize, Serialize};

/// Version of the file's columns; it changes when one changes its meaning or goes away.
pub const DECISIONS_SCHEMA: &str = "idlewise.decisions/1";

/// Rows in a group of the file: readers go through groups of Parquet and Arrow one by one.
fn group_rows(form: Form) -> usize {
    match form {
        Form::Parquet | Form::Arrow => 1 << 17,
        Form::Csv => 1 << 12,
    }
}

/// A column of the file.
pub struct DecisionColumn {
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it can be empty.
    pub optional: bool,
    /// What it holds, in a few words of Markdown.
    pub meaning: &'static str,
    /// The texts that it can hold.
    words: fn(&Words) -> Vec<String>,
    of: fn(&Row<'_>) -> Cell,
}

/// The texts of a file, by the column that has them.
struct Words {
    recordings: Vec<String>,
    governors: Vec<String>,
    clusters: Vec<String>,
    states: Vec<String>,
}

/// What a row is made of.
struct Row<'r> {
    of: &'r Of,
    at: &'r At,
    /// Number of the decision on its CPU.
    number: u64,
    /// Number of the wake event that the CPU waits for.
    wait: usize,
    decision: &'r RunDecision,
    entry: &'r Entry,
    energy_fj: u128,
}

/// What is the same in all rows of a governor on a recording.
#[derive(Clone, Copy)]
struct Of {
    recording: u32,
    governor: u32,
    latency_limit: Confidence,
    util: Confidence,
    iowait: Confidence,
    disabled: Confidence,
}

/// What is the same in all rows of a cluster.
struct At {
    cluster: u32,
    /// By state: the place of its name.
    states: Vec<u32>,
    /// The place of its energy's unit.
    unit: u32,
}

const UNITS: [&str; 2] = ["mJ", "rel"];

fn no_words(_: &Words) -> Vec<String> {
    Vec::new()
}

fn grades(_: &Words) -> Vec<String> {
    Confidence::ALL.map(|c| c.name().to_owned()).to_vec()
}

fn grade(c: Confidence) -> Cell {
    Cell::Word(c as u32)
}

fn int(value: impl Into<i64>) -> Cell {
    Cell::Int(value.into())
}

/// A number that no recording is long enough to make negative.
fn count(value: u64) -> Cell {
    Cell::Int(value.cast_signed())
}

/// A time that is nothing where no timer is pending and no limit is set.
fn finite_ns(value: i64) -> Cell {
    if value >= NO_LATENCY_LIMIT_NS { Cell::Nothing } else { Cell::Int(value) }
}

impl Row<'_> {
    fn entered(&self) -> Option<u8> {
        match self.entry.outcome {
            Outcome::Stayed { entered, .. } => Some(entered),
            Outcome::Rejected => None,
        }
    }

    fn name(&self, state: u8) -> Cell {
        Cell::Word(self.at.states[usize::from(state)])
    }
}

macro_rules! columns {
    ($($name:literal $kind:ident $(($words:expr))? $(: $optional:ident)?, $meaning:literal, $of:expr;)*) => {
        [$(DecisionColumn {
            name: $name,
            kind: Kind::$kind,
            optional: columns!(@optional $($optional)?),
            meaning: $meaning,
            words: columns!(@words $($words)?),
            of: $of,
        }),*]
    };
    (@optional) => { false };
    (@optional optional) => { true };
    (@words) => { no_words };
    (@words $words:expr) => { $words };
}

/// All columns, in the file's order.
pub static DECISION_COLUMNS: [DecisionColumn; 38] = columns![
    "recording" Text(|w| w.recordings.clone()), "the recording's file name", |r| Cell::Word(r.of.recording);
    "governor" Text(|w| w.governors.clone()), "the governor with its parameters", |r| Cell::Word(r.of.governor);
    "cpu" I32, "the CPU", |r| int(r.entry.cpu);
    "cluster" Text(|w| w.clusters.clone()), "the part of the machine on which the CPU is replayed",
        |r| Cell::Word(r.at.cluster);
    "decision" I64, "number of the decision on its CPU, from 0; `idlewise explain --decision` explains it",
        |r| count(r.number);
    "wait" I64, "number of the wake event that the CPU waits for, from 0; the same under every governor, which \
        may decide several times before it", |r| count(r.wait as u64);
    "time_ns" I64, "when the governor was asked, on the recording's clock", |r| count(r.decision.start_ns);
    "sleep_length_ns" I64: optional, "input: time to the next timer if the tick is stopped; empty: no timer",
        |r| finite_ns(r.decision.sleep_length_ns);
    "delta_tick_ns" I64: optional, "input: the same if the tick is kept", |r| finite_ns(r.decision.delta_tick_ns);
    "sleep_length_grade" Text(grades), "how well both are known", |r| grade(r.decision.timers);
    "tick_stopped" Bool, "input: whether the tick had been stopped before; the run itself makes it",
        |r| Cell::Flag(r.decision.tick_stopped);
    "latency_limit_ns" I64: optional, "input: the latency limit; empty: none", |r| finite_ns(r.decision.latency_limit_ns);
    "latency_limit_grade" Text(grades), "how well latency limits of the recording are known, the weakest of them",
        |r| grade(r.of.latency_limit);
    "util" I32, "input: utilisation of the CPU, 0 to 1024", |r| int(r.decision.util);
    "util_grade" Text(grades), "the same grade of it", |r| grade(r.of.util);
    "iowait" I32, "input: tasks that wait for I/O on the CPU", |r| int(r.decision.iowait);
    "iowait_grade" Text(grades), "the same grade of it", |r| grade(r.of.iowait);
    "disabled" I32, "input: states that are off, bit i for state i", |r| int(r.decision.disabled);
    "disabled_grade" Text(grades), "the same grade of it", |r| grade(r.of.disabled);
    "state" I16, "choice: the state, as it was carried out", |r| int(r.entry.selected);
    "state_name" Text(|w| w.states.clone()), "its name", |r| r.name(r.entry.selected);
    "stop_tick" Bool, "choice: whether the tick may be stopped", |r| Cell::Flag(r.decision.stop_tick);
    "asked_sleep_length" Bool, "whether the governor asked for the sleep length before it chose",
        |r| Cell::Flag(r.decision.asked_sleep_length);
    "chose_disabled" Bool, "the state was off although another was on", |r| Cell::Flag(r.entry.breach.disabled);
    "chose_over_limit" Bool, "the state was above the latency limit although one that was on kept it",
        |r| Cell::Flag(r.entry.breach.over_limit);
    "chose_no_state" Bool, "the answer was no state; the nearest was taken", |r| Cell::Flag(r.entry.breach.no_state);
    "tick" Text(|_| TickChoice::ALL.map(|t| t.name().to_owned()).to_vec()),
        "what became of the tick: `kept`, `stopped`, `was stopped`", |r| Cell::Word(r.entry.tick as u32);
    "entered" I16: optional, "the state that was entered; empty: the entry was refused",
        |r| r.entered().map_or(Cell::Nothing, int);
    "cause" Text(|_| WakeCause::ALL.map(|c| c.name().to_owned()).to_vec()),
        "what ended the idle period: `tick`, `hrtimer`, `wheel`, `timer`, `irq`, `ipi`, `poll-limit`, `unknown`",
        |r| Cell::Word(r.entry.cause as u32);
    "wake_ns" I64, "from the entry to the wake event, or to the refusal", |r| int(r.entry.wake_ns);
    "residency_ns" I64, "time in the state as the kernel measures it", |r| int(r.entry.residency_ns);
    "latency_ns" I64, "from the wake event to the first instruction; a score counts it unless `cause` is `tick` or \
        `poll-limit`; it also counts events that came during an exit, which have no row", |r| int(r.entry.latency_ns);
    "tick_handler_ns" I64, "after a wake by the tick alone: how long its handlers ran", |r| int(r.entry.tick_ns);
    "energy_fj" I64: optional, "energy of the idle period, of the idle loop, of these handlers and of a refused entry; 10^12 are one \
        `energy_unit`; empty: 2^63 or more", |r| i64::try_from(r.energy_fj).map_or(Cell::Nothing, Cell::Int);
    "energy_unit" Text(|_| UNITS.map(str::to_owned).to_vec()), "`mJ`, or `rel`: relative, never watts",
        |r| Cell::Word(r.at.unit);
    "verdict" Text(|_| Outcome::VERDICTS.map(str::to_owned).to_vec()),
        "the cpuidle core's: `right`, `too deep`, `too shallow`; or `rejected`",
        |r| Cell::Word(r.entry.outcome.verdict() as u32);
    "oracle_state" I16, "what the oracle, which knows the wake event, chooses in the same place",
        |r| int(r.decision.oracle_state);
    "oracle_stop_tick" Bool, "whether it lets the tick be stopped", |r| Cell::Flag(r.decision.oracle_stop_tick);
];

/// Where decisions are written, and in which form.
pub struct DecisionsFile<'f> {
    pub form: Form,
    /// Nothing has been written to it yet.
    pub to: &'f File,
    /// Temporary files go here.
    pub folder: &'f Path,
    /// The command that makes it, for the file itself.
    pub command: &'f [String],
}

/// A file being written.
pub(super) struct Decisions<'f> {
    schema: Schema,
    of: Vec<Vec<Of>>,
    /// By cluster of the platform.
    at: Vec<(&'f Cluster, At)>,
    about: Vec<(String, String)>,
    file: &'f DecisionsFile<'f>,
    ordered: Mutex<Ordered>,
}

/// Rows of jobs, in the order of the jobs.
struct Ordered {
    /// The job whose rows come next.
    next: usize,
    /// Jobs that were done before it: where their rows are in `aside`.
    waiting: BTreeMap<usize, (u64, Vec<Group>)>,
    aside: File,
    groups: Vec<Group>,
}

impl<'f> Decisions<'f> {
    /// The file of `candidates` on the recordings of `placement`, with its first bytes.
    pub(super) fn begin(
        file: &'f DecisionsFile<'f>,
        placement: &'f Placement,
        candidates: &[Candidate],
    ) -> Result<Self, CommandError> {
        let clusters = &placement.platform.clusters;
        let states = || clusters.iter().flat_map(|c| c.table.states().iter().map(|s| s.name.clone()));
        let words = Words {
            recordings: placement.recordings.iter().map(|r| r.tape.source.name.clone()).collect(),
            governors: candidates.iter().map(|c| c.name().to_owned()).collect(),
            clusters: clusters.iter().map(|c| c.name.clone()).collect(),
            states: different(states()),
        };
        let shown = |text: String| match file.form {
            Form::Parquet | Form::Arrow => text,
            Form::Csv => idlewise_report::csv_text(&text).into_owned(),
        };
        let column = |c: &DecisionColumn| Column {
            name: c.name.to_owned(),
            kind: c.kind,
            optional: c.optional,
            words: (c.words)(&words).into_iter().map(shown).collect(),
        };
        let of = |(recording, r): (usize, &Recording)| {
            let of = |governor: usize| Of {
                recording: recording as u32,
                governor: governor as u32,
                latency_limit: r.tape.weakest("latency limit"),
                util: r.tape.weakest("utilisation"),
                iowait: r.tape.weakest("iowait"),
                disabled: r.tape.weakest("disabled states"),
            };
            (0..candidates.len()).map(of).collect()
        };
        let place = |all: &[String], word: &str| {
            let Some(place) = all.iter().position(|w| w == word) else {
                unreachable!("{word:?} is among the words of the file")
            };
            place as u32
        };
        let at = |(n, c): (usize, &'f Cluster)| {
            let at = At {
                cluster: n as u32,
                states: c.table.states().iter().map(|s| place(&words.states, &s.name)).collect(),
                unit: place(&UNITS.map(str::to_owned), c.energy.unit()),
            };
            (c, at)
        };
        let this = Self {
            schema: Schema::new(file.form, DECISION_COLUMNS.iter().map(column).collect()),
            of: placement.recordings.iter().enumerate().map(of).collect(),
            at: clusters.iter().enumerate().map(at).collect(),
            about: about(file.command, placement, &words),
            file,
            ordered: Mutex::new(Ordered {
                next: 0,
                waiting: BTreeMap::new(),
                aside: temporary(file.folder)?,
                groups: Vec::new(),
            }),
        };
        (&mut &*file.to).write_all(&this.schema.begin()).map_err(|e| this.failed(&e.to_string()))?;
        Ok(this)
    }

    fn failed(&self, why: &str) -> CommandError {
        cannot_write(self.file.folder, why)
    }

    /// A job of candidate `governor` on `recording`.
    pub(super) fn job(&self, recording: usize, governor: usize) -> Result<DecisionsJob<'_>, CommandError> {
        let rows = Rows { block: self.schema.block(), bytes: Vec::new(), pages: DecisionPages::default() };
        let of = self.of[recording][governor];
        Ok(DecisionsJob { decisions: self, of, file: temporary(self.file.folder)?, rows: RefCell::new(rows) })
    }

    /// Job number `n` is done; of the jobs in front of it some may still run. Without `job` it leaves no rows.
    pub(super) fn done(
        &self,
        n: usize,
        job: Option<(DecisionsJob<'_>, DecisionPages)>,
    ) -> Result<(), CommandError> {
        let (mut file, groups) = match job {
            Some((_, DecisionPages { failure: Some(why), .. })) => return Err(self.failed(&why)),
            Some((job, pages)) => (Some(job.file), pages.groups),
            None => (None, Vec::new()),
        };
        let mut ordered = self.ordered.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |e: io::Error| self.failed(&e.to_string());
        if let Some(file) = &mut file {
            let len = file.seek(SeekFrom::End(0)).map_err(failed)?;
            if !self.schema.fits(&groups, len) {
                return Err(self.failed("a governor's process returned rows that do not fit its file"));
            }
            file.rewind().map_err(failed)?;
        }
        if n != ordered.next {
            let at = ordered.aside.seek(SeekFrom::End(0)).map_err(failed)?;
            if let Some(file) = &mut file {
                io::copy(file, &mut &ordered.aside).map_err(failed)?;
            }
            ordered.waiting.insert(n, (at, groups));
            return Ok(());
        }
        if let Some(file) = &mut file {
            io::copy(file, &mut &*self.file.to).map_err(failed)?;
        }
        ordered.take(groups);
        while let Some((at, groups)) = ordered.next_waiting() {
            ordered.aside.seek(SeekFrom::Start(at)).map_err(failed)?;
            let bytes = groups.iter().map(|g| g.bytes).sum();
            io::copy(&mut io::Read::take(&ordered.aside, bytes), &mut &*self.file.to).map_err(failed)?;
            ordered.take(groups);
        }
        Ok(())
    }

    /// All jobs are done.
    pub(super) fn end(self) -> Result<(), CommandError> {
        let ordered = self.ordered.into_inner().unwrap_or_else(PoisonError::into_inner);
        assert!(ordered.waiting.is_empty(), "job {} was never done", ordered.next);
        let end = self.schema.end(&ordered.groups, &self.about);
        (&mut &*self.file.to).write_all(&end).map_err(|e| cannot_write(self.file.folder, &e.to_string()))
    }
}

impl Ordered {
    fn take(&mut self, mut groups: Vec<Group>) {
        self.groups.append(&mut groups);
        self.next += 1;
    }

    fn next_waiting(&mut self) -> Option<(u64, Vec<Group>)> {
        self.waiting.remove(&self.next)
    }
}

/// What the file says of itself.
fn about(command: &[String], placement: &Placement, words: &Words) -> Vec<(String, String)> {
    let recordings = placement.recordings.iter().map(|r| {
        let source = &r.tape.source;
        serde_json::json!({"name": source.name, "hash": source.hash, "kernel": source.kernel})
    });
    let platform = super::PlatformHead::new(placement);
    let texts: [(&str, serde_json::Value); 6] = [
        ("schema", DECISIONS_SCHEMA.into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("command", command.into()),
        ("governors", words.governors.as_slice().into()),
        ("recordings", recordings.collect()),
        (
            "platform",
            serde_json::json!({
                "id": platform.id, "name": platform.name, "hash": platform.hash,
                "energy_basis": platform.energy_basis
            }),
        ),
    ];
    let text = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => text,
        value => value.to_string(),
    };
    texts.into_iter().map(|(name, value)| (format!("idlewise.{name}"), text(value))).collect()
}

/// Each of `all` once, in the order in which they come.
fn different(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    for word in all {
        if !out.contains(&word) {
            out.push(word);
        }
    }
    out
}

fn temporary(folder: &Path) -> Result<File, CommandError> {
    tempfile::tempfile_in(folder).map_err(|e| cannot_write(folder, &e.to_string()))
}

fn cannot_write(folder: &Path, why: &str) -> CommandError {
    CommandError::File {
        path: folder.display().to_string(),
        why: format!("cannot write decisions: {why}; name a file on a disk with room"),
    }
}

/// The rows of one job: a governor on some CPUs of a recording, one after the other.
pub(super) struct DecisionsJob<'d> {
    decisions: &'d Decisions<'d>,
    of: Of,
    /// Made before the run.
    file: File,
    rows: RefCell<Rows>,
}

/// Rows that are not in the file yet, and what is in it.
struct Rows {
    block: Block,
    bytes: Vec<u8>,
    pages: DecisionPages,
}

/// What a job's file holds.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct DecisionPages {
    groups: Vec<Group>,
    /// Why a group could not be written.
    failure: Option<String>,
}

impl DecisionPages {
    /// Those of all CPUs of a job; the last one has them.
    pub(super) fn merge(&mut self, other: Self) {
        self.groups.extend(other.groups);
        self.failure = self.failure.take().or(other.failure);
    }
}

impl DecisionsJob<'_> {
    /// The book of a CPU at `place`; `last`: the job has no more.
    pub(super) fn book(&self, place: &Cluster, last: bool) -> DecisionsBook<'_> {
        let Some((place, at)) = self.decisions.at.iter().find(|(c, _)| *c == place) else {
            unreachable!("cluster {} is one of the platform", place.name)
        };
        DecisionsBook { job: self, place, at, last, number: 0, wait: 0, decision: None }
    }

    fn flush(&self, rows: &mut Rows) {
        if rows.block.rows() == 0 || rows.pages.failure.is_some() {
            return;
        }
        rows.bytes.clear();
        let group = self.decisions.schema.encode(&rows.block, &mut rows.bytes);
        rows.block.clear();
        match (&self.file).write_all(&rows.bytes) {
            Ok(()) => rows.pages.groups.push(group),
            Err(e) => rows.pages.failure = Some(e.to_string()),
        }
    }
}

/// The rows of one CPU.
pub(super) struct DecisionsBook<'d> {
    job: &'d DecisionsJob<'d>,
    place: &'d Cluster,
    at: &'d At,
    last: bool,
    number: u64,
    wait: usize,
    decision: Option<RunDecision>,
}

impl Ledger for DecisionsBook<'_> {
    const DECISIONS: bool = true;

    fn decision(&mut self, decision: &RunDecision) {
        self.decision = Some(*decision);
    }

    fn waits_for(&mut self, event: usize) {
        self.wait = event;
    }

    fn entry(&mut self, entry: &Entry) {
        let Some(decision) = self.decision.take() else {
            unreachable!("CPU {} at {} ns: an idle period without a decision", entry.cpu, entry.start_ns)
        };
        let row = Row {
            of: &self.job.of,
            at: self.at,
            number: self.number,
            wait: self.wait,
            decision: &decision,
            entry,
            energy_fj: entry_fj(&self.place.table, &self.place.energy, entry),
        };
        self.number += 1;
        let mut rows = self.job.rows.borrow_mut();
        rows.block.push(&DECISION_COLUMNS.each_ref().map(|c| (c.of)(&row)));
        if rows.block.rows() == group_rows(self.job.decisions.file.form) {
            self.job.flush(&mut rows);
        }
    }
}

impl Book for DecisionsBook<'_> {
    type Pages = DecisionPages;

    fn pages(self) -> DecisionPages {
        if !self.last {
            return DecisionPages::default();
        }
        let mut rows = self.job.rows.borrow_mut();
        self.job.flush(&mut rows);
        std::mem::take(&mut rows.pages)
    }
}
