// SPDX-License-Identifier: GPL-2.0-only
//! Drives PELT through a recorded sequence of updates and compares each: the sums and averages after it, or what is left of a
//! sum.
//!
//! After a row that came out differently the recorded sums and averages are taken, so that it does not derail the rows
//! after it.

use std::fmt;
use std::path::Path;

use csv::StringRecord;
use idlewise_model::{did_you_mean, near};
use idlewise_signal::pelt::{Avg, Pelt, Speed, known_kernel};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::golden_file::{self, Cells, GoldenError};

/// How many mismatches are kept for reading.
const KEEP: usize = 5;
/// What a row says of an average, in the order of the sums and averages kept.
const OUTPUTS: [&str; 9] = [
    "ret",
    "last_update_time",
    "period_contrib",
    "load_sum",
    "runnable_sum",
    "util_sum",
    "load_avg",
    "runnable_avg",
    "util_avg",
];

/// A number that came out differently.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Difference {
    pub column: String,
    pub expected: u64,
    pub found: u64,
}

/// A row that came out differently.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PeltMismatch {
    /// The row's own number, or the line's from 0.
    pub step: u64,
    /// Line of the unpacked file, from 1.
    pub line: u64,
    pub differ: Vec<Difference>,
    /// What was asked for.
    pub asked: String,
}

impl fmt::Display for PeltMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |of: fn(&Difference) -> u64| {
            let each = self.differ.iter().map(|d| format!("{} {}", d.column, of(d)));
            each.collect::<Vec<_>>().join(", ")
        };
        let (expected, got) = (all(|d| d.expected), all(|d| d.found));
        write!(f, "step {} (line {}): expected {expected}; got {got}; {}", self.step, self.line, self.asked)
    }
}

/// What came of driving one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeltDrive {
    pub steps: u64,
    /// Rows that came out differently.
    pub mismatches: u64,
    /// The first few of them.
    pub first: Vec<PeltMismatch>,
}

/// The PELT of an id: `pelt`, or `pelt-6.1` for a kernel's.
///
/// # Errors
/// There is no such signal; the message says which there are.
pub fn find_pelt(id: &str) -> Result<Pelt, String> {
    if id == "pelt" {
        return Ok(Pelt::default());
    }
    let version = id.strip_prefix("pelt-").and_then(|v| v.split_once('.'));
    let version = version.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = version.ok_or_else(|| {
        let named = id.split(['-', '.', ':']).next().unwrap_or(id);
        // WALT has no recorded updates, and is no PELT misspelt.
        let nearest: Vec<&str> =
            near(named, ["pelt", "walt"]).into_iter().take(1).filter(|name| *name == "pelt").collect();
        let otherwise = "expected pelt, or pelt-6.1 for the PELT of a kernel (4.3 or later)";
        format!("no signal `{id}`{}", did_you_mean(&nearest, otherwise))
    })?;
    known_kernel(major, minor).map_err(|why| format!("signal `{id}`: {why}"))?;
    Pelt::kernel(major, minor).map_err(|e| e.to_string())
}

/// Drives `pelt` through the golden file `csv_gz`.
///
/// # Errors
/// The file or its side-car cannot be read, is not of PELT, or lacks something: the message says the file, line and column.
pub fn drive_pelt(pelt: &Pelt, csv_gz: &Path) -> Result<PeltDrive, GoldenError> {
    let (path, json) = golden_file::side_car(csv_gz)?;
    let kind = json.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
    if kind != golden_file::PELT {
        let what = format!(
            "a `kind` of `{}`, found `{kind}`; for a governor's decisions: --governor",
            golden_file::PELT
        );
        return Err(GoldenError::SideCar { path, what });
    }
    let rows = match json.get("rows") {
        None => None,
        Some(n) => Some(n.as_u64().ok_or_else(|| GoldenError::SideCar {
            path: path.clone(),
            what: format!("a whole number `rows`, found {n}"),
        })?),
    };
    let mut reader = golden_file::rows(csv_gz)?;
    let wrong = |source| GoldenError::Csv { path: csv_gz.to_owned(), source };
    let header = reader.headers().map_err(wrong)?.clone();
    let mut run = Run { pelt, avg: Avg::default(), done: PeltDrive::default() };
    let columns = Columns::find(csv_gz, &header)?;
    let mut record = StringRecord::new();
    let mut there = 0;
    while reader.read_record(&mut record).map_err(wrong)? {
        let line = record.position().map_or(0, csv::Position::line);
        let cells = Cells { path: csv_gz, record: &record, line };
        there += 1;
        match &columns {
            Columns::Decay { val, n, result } => {
                let number = |at, column| cells.number(at, column, "a whole number");
                run.decay(line, number(*val, "val")?, number(*n, "n")?, number(*result, "result")?);
            }
            Columns::Updates(columns) => run.update(line, &columns.row(&cells)?),
        }
    }
    if run.done.steps == 0 {
        return Err(GoldenError::NoRows(csv_gz.to_owned()));
    }
    golden_file::check_rows(&path, csv_gz, ("rows", rows), there)?;
    Ok(run.done)
}

/// Where each column is.
enum Columns {
    Decay { val: usize, n: usize, result: usize },
    Updates(Updates),
}

struct Updates {
    step: usize,
    now_ns: usize,
    kind: usize,
    weight: usize,
    runnable: usize,
    running: usize,
    outputs: [usize; 9],
}

impl Columns {
    fn find(path: &Path, header: &StringRecord) -> Result<Self, GoldenError> {
        let needed = |column: &'static str| golden_file::column(path, header, column);
        if header.iter().any(|h| h == "val") {
            return Ok(Self::Decay { val: needed("val")?, n: needed("n")?, result: needed("result")? });
        }
        let mut outputs = [0; 9];
        for (at, column) in outputs.iter_mut().zip(OUTPUTS) {
            *at = needed(column)?;
        }
        Ok(Self::Updates(Updates {
            step: needed("step")?,
            now_ns: needed("now_ns")?,
            kind: needed("kind")?,
            weight: needed("weight")?,
            runnable: needed("runnable")?,
            running: needed("running")?,
            outputs,
        }))
    }
}

/// Whose average a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The state to begin with.
    Init,
    /// A task, by what it does.
    Entity,
    /// A task that sleeps.
    Blocked,
    /// A queue, by the tasks on it.
    Queue,
    RealTime,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Init, Self::Entity, Self::Blocked, Self::Queue, Self::RealTime];

    /// As it is written in a file.
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Entity => "se",
            Self::Blocked => "blocked",
            Self::Queue => "cfs_rq",
            Self::RealTime => "rt",
        }
    }
}

struct Row {
    step: i64,
    now_ns: u64,
    kind: Kind,
    weight: u64,
    runnable: u64,
    running: bool,
    outputs: [u64; 9],
}

impl Updates {
    fn row(&self, cells: &Cells<'_>) -> Result<Row, GoldenError> {
        let kind = cells.text(self.kind);
        let kind = Kind::ALL
            .into_iter()
            .find(|k| k.name() == kind)
            .ok_or_else(|| cells.wrong("kind", "init, se, blocked, cfs_rq or rt", kind))?;
        let mut outputs = [0; 9];
        for ((output, at), column) in outputs.iter_mut().zip(self.outputs).zip(OUTPUTS) {
            *output = cells.number(at, column, "a whole number")?;
        }
        let narrow = u32::try_from(outputs[2]).is_ok() && u32::try_from(outputs[5]).is_ok();
        if !narrow {
            return Err(cells.wrong("util_sum", "a period_contrib and a util_sum of 32 bits", "more"));
        }
        Ok(Row {
            step: cells.number(self.step, "step", "a row number, or -1 for the state to begin with")?,
            now_ns: cells.number(self.now_ns, "now_ns", "a time in ns")?,
            kind,
            weight: cells.number(self.weight, "weight", "a whole number")?,
            runnable: cells.number(self.runnable, "runnable", "a whole number")?,
            running: cells.flag(self.running, "running")?,
            outputs,
        })
    }
}

/// PELT on its way through a file.
struct Run<'a> {
    pelt: &'a Pelt,
    avg: Avg,
    done: PeltDrive,
}

impl Run<'_> {
    fn decay(&mut self, line: u64, val: u64, n: u64, recorded: u64) {
        let found = self.pelt.decay(val, n);
        let step = self.done.steps;
        self.compare(step, line, &["result"], &[recorded], &[found], || format!("{val} after {n} periods"));
    }

    fn update(&mut self, line: u64, row: &Row) {
        let [_, last_ns, frac, load_sum, runnable_sum, util_sum, load, runnable, util] = row.outputs;
        let recorded = Avg {
            last_ns,
            load_sum,
            runnable_sum,
            load,
            runnable,
            util,
            util_sum: util_sum as u32,
            frac: frac as u32,
        };
        if row.kind == Kind::Init {
            self.avg = recorded;
            return;
        }
        let rt = u64::from(row.running);
        let (load, runnable, running, weight) = match row.kind {
            Kind::Queue => (row.weight, row.runnable, row.running, 1),
            Kind::RealTime => (rt, rt, row.running, 1),
            Kind::Blocked => (0, 0, false, row.weight),
            Kind::Entity | Kind::Init => (row.runnable, row.runnable, row.running, row.weight),
        };
        let crossed = self.pelt.update(&mut self.avg, Speed::FULL, row.now_ns, load, runnable, running);
        if crossed {
            self.pelt.publish(&mut self.avg, weight);
        }
        let a = &self.avg;
        let found = [
            u64::from(crossed),
            a.last_ns,
            a.frac.into(),
            a.load_sum,
            a.runnable_sum,
            a.util_sum.into(),
            a.load,
            a.runnable,
            a.util,
        ];
        let step = u64::try_from(row.step).unwrap_or_default();
        self.compare(step, line, &OUTPUTS, &row.outputs, &found, || {
            format!(
                "{} at {} ns, weight {}, runnable {}, running {}",
                row.kind.name(),
                row.now_ns,
                row.weight,
                row.runnable,
                u8::from(row.running)
            )
        });
        self.avg = recorded;
    }

    fn compare(
        &mut self,
        step: u64,
        line: u64,
        columns: &[&str],
        recorded: &[u64],
        found: &[u64],
        asked: impl Fn() -> String,
    ) {
        self.done.steps += 1;
        if recorded == found {
            return;
        }
        self.done.mismatches += 1;
        if self.done.first.len() < KEEP {
            let all = columns.iter().zip(recorded).zip(found);
            let differ = all.filter(|((_, r), f)| r != f).map(|((c, r), f)| Difference {
                column: (*c).to_owned(),
                expected: *r,
                found: *f,
            });
            self.done.first.push(PeltMismatch { step, line, differ: differ.collect(), asked: asked() });
        }
    }
}
