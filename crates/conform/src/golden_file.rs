// SPDX-License-Identifier: GPL-2.0-only
//! Golden files: a `*.csv.gz` with one decision a row, recorded from compiled kernel code, and a `.json` next to it with
//! the idle states.

use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use csv::StringRecord;
use flate2::read::GzDecoder;
use idlewise_files::TableText;
use idlewise_governor::{GovernorError, Inputs};
use idlewise_model::{HZ, IdleState, IdleTable, StateIndex, TableError};
use idlewise_platform::CAPACITY_MAX;
use idlewise_recording::CommandError;
use serde_json::Value;
use thiserror::Error;

/// Why a golden file could not be driven.
#[derive(Debug, Error)]
pub enum GoldenError {
    /// The governor could not be loaded.
    #[error(transparent)]
    Governor(#[from] GovernorError),
    /// A file could not be read.
    #[error("{}: {source}", .path.display())]
    Read {
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The name of the file gives no side-car.
    #[error("{}: expected a file named *.csv.gz, with the idle states in a .json next to it", .0.display())]
    Name(PathBuf),
    /// The side-car lacks something.
    #[error("{}: expected {what}", .path.display())]
    SideCar {
        path: PathBuf,
        /// What was expected where.
        what: String,
    },
    /// The side-car's idle states make no table.
    #[error("{}: {source}", .path.display())]
    Table {
        path: PathBuf,
        /// What is wrong with them.
        source: TableError,
    },
    /// A row is no CSV, or the file is not packed as it should be.
    #[error("{}: {}", .path.display(), csv_words(.source))]
    Csv {
        path: PathBuf,
        /// What the reader said, with the line.
        source: csv::Error,
    },
    /// There is nothing to compare with.
    #[error("{}: no step in it; expected rows of decisions or updates after the header", .0.display())]
    NoRows(PathBuf),
    /// There is more than is kept of a file.
    #[error("{}: more than {most} rows; expected at most so many: cut the file into several", .path.display())]
    TooLong {
        path: PathBuf,
        /// How many rows are read.
        most: usize,
    },
    /// The header line lacks a column.
    #[error("{}: line 1: expected a column `{column}`, found {}", .path.display(), columns_words(.found))]
    Column {
        path: PathBuf,
        column: &'static str,
        /// The columns that there are.
        found: Vec<String>,
    },
    /// A cell does not hold what it should.
    #[error("{}: line {line}, column `{column}`: expected {expected}, found `{found}`", .path.display())]
    Cell {
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        column: &'static str,
        expected: &'static str,
        found: String,
    },
}

/// Where a row is no CSV, and what was expected there.
fn csv_words(e: &csv::Error) -> String {
    match e.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line}: expected {expected_len} cells, as the header has, found {len}")
        }
        csv::ErrorKind::Utf8 { pos, .. } => {
            format!("line {}: expected text (UTF-8)", pos.as_ref().map_or(0, csv::Position::line))
        }
        csv::ErrorKind::Io(e) => format!("expected a table packed with gzip, whole: {e}"),
        _ => e.to_string(),
    }
}

fn columns_words(found: &[String]) -> String {
    if found.is_empty() { "an empty file".to_owned() } else { format!("these: {}", found.join(", ")) }
}

/// A golden file, read.
pub struct GoldenFile {
    pub car: SideCar,
    pub rows: Vec<Row>,
}

/// Rows are kept while they are driven: no file has more. Those of this project have some 20,000.
const MOST_ROWS: usize = 500_000;

impl GoldenFile {
    /// Reads `csv_gz` and its side-car.
    ///
    /// # Errors
    /// One of them cannot be read or lacks something; the message says the file, line and column.
    pub fn read(csv_gz: &Path) -> Result<Self, GoldenError> {
        let mut reader = rows(csv_gz)?;
        let car = SideCar::read(csv_gz)?;
        let wrong = |source| GoldenError::Csv { path: csv_gz.to_owned(), source };
        let columns = Columns::find(csv_gz, reader.headers().map_err(wrong)?)?;
        let mut rows = Vec::new();
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(wrong)? {
            let row = columns.row(csv_gz, &record, &car.table)?;
            if rows.last().is_some_and(|before: &Row| before.step.checked_add(1) != Some(row.step)) {
                let cells = Cells { path: csv_gz, record: &record, line: row.line };
                let expected = "the step after that of the row before";
                return Err(cells.wrong("step", expected, cells.text(columns.step)));
            }
            if rows.len() >= MOST_ROWS {
                return Err(GoldenError::TooLong { path: csv_gz.to_owned(), most: MOST_ROWS });
            }
            rows.push(row);
        }
        if rows.is_empty() {
            return Err(GoldenError::NoRows(csv_gz.to_owned()));
        }
        let path = csv_gz.with_extension("").with_extension("json");
        check_rows(&path, csv_gz, ("steps", car.steps), rows.len() as u64)?;
        Ok(Self { car, rows })
    }
}

/// Whether the file has as many rows, `there`, as its side-car at `path` says in a field, where it does.
pub(crate) fn check_rows(
    path: &Path,
    csv_gz: &Path,
    (field, said): (&str, Option<u64>),
    there: u64,
) -> Result<(), GoldenError> {
    match said.filter(|said| *said != there) {
        None => Ok(()),
        Some(said) => Err(GoldenError::SideCar {
            path: path.to_owned(),
            what: format!(
                "`{field}` to be {there}, as many as the rows of {}, found {said}: is one of the two cut short?",
                csv_gz.display()
            ),
        }),
    }
}

/// The `kind` in the side-car of a file with updates of PELT.
pub(crate) const PELT: &str = "pelt";

/// The rows of a golden file.
pub(crate) fn rows(csv_gz: &Path) -> Result<csv::Reader<impl Read>, GoldenError> {
    let wrong = |source| GoldenError::Read { path: csv_gz.to_owned(), source };
    let file = idlewise_files::open(csv_gz).map_err(wrong)?;
    let packed = file.metadata().map_err(wrong)?.len();
    Ok(csv::Reader::from_reader(TableText::new(GzDecoder::new(BufReader::new(file)), packed)))
}

/// The side-car of a golden file, and where it is.
pub(crate) fn side_car(csv_gz: &Path) -> Result<(PathBuf, Value), GoldenError> {
    let name = csv_gz.to_str().and_then(|n| n.strip_suffix(".csv.gz"));
    let path = PathBuf::from(format!("{}.json", name.ok_or_else(|| GoldenError::Name(csv_gz.to_owned()))?));
    let text = idlewise_files::read_to_string(&path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => {
            let what = format!("the side-car of {} here: there is no such file", csv_gz.display());
            GoldenError::SideCar { path: path.clone(), what }
        }
        _ => GoldenError::Read { path: path.clone(), source },
    })?;
    match serde_json::from_str(&text) {
        Ok(json) => Ok((path, json)),
        Err(e) => Err(GoldenError::SideCar { path, what: format!("JSON ({e})") }),
    }
}

/// Where a column is.
pub(crate) fn column(path: &Path, header: &StringRecord, column: &'static str) -> Result<usize, GoldenError> {
    header.iter().position(|h| h == column).ok_or_else(|| GoldenError::Column {
        path: path.to_owned(),
        column,
        found: header.iter().map(str::to_owned).collect(),
    })
}

/// The parts of the side-car that decisions depend on.
pub struct SideCar {
    /// Idle states of the CPU.
    pub table: IdleTable,
    /// Time between two ticks, ns.
    pub tick_nsec: u64,
    /// 1024 for the fastest CPU.
    pub cpu_capacity: u32,
    /// How many rows the file has, where it says so.
    steps: Option<u64>,
    /// The recorded governor's parameters, from all objects whose name ends in `_params`.
    pub(crate) params: Vec<(String, String)>,
    /// Recorded with the polling loop of a kernel before 5.11.
    pub(crate) old_polling: bool,
}

impl SideCar {
    fn read(csv_gz: &Path) -> Result<Self, GoldenError> {
        let (path, json) = side_car(csv_gz)?;
        let wrong = |what: String| GoldenError::SideCar { path: path.clone(), what };
        if json.get("kind").and_then(Value::as_str) == Some(PELT) {
            return Err(wrong(
                "a governor's decisions, found updates of PELT; for these: --signal pelt".to_owned(),
            ));
        }
        let states = json.get("states").and_then(Value::as_array);
        let states = states.ok_or_else(|| wrong("a list `states`".to_owned()))?.iter().enumerate();
        let states: Result<Vec<IdleState>, GoldenError> = states
            .map(|(i, s)| {
                let field = |name: &str| s.get(name).ok_or_else(|| wrong(format!("`states[{i}].{name}`")));
                let ns = |name: &str| {
                    field(name)?.as_i64().ok_or_else(|| wrong(format!("whole ns in `states[{i}].{name}`")))
                };
                Ok(IdleState {
                    name: field("name")?.as_str().unwrap_or_default().to_owned(),
                    exit_latency_ns: ns("exit_latency_ns")?,
                    target_residency_ns: ns("target_residency_ns")?,
                    entry_ns: 0,
                    polling: field("polling")?.as_bool().unwrap_or_default(),
                    disabled: false,
                })
            })
            .collect();
        let table =
            IdleTable::new(states?).map_err(|source| GoldenError::Table { path: path.clone(), source })?;
        let number = |name: &str| {
            let value = json.get(name).and_then(Value::as_u64);
            value.ok_or_else(|| wrong(format!("a whole number `{name}`")))
        };
        let optional = |name: &str| json.get(name).map(|_| number(name)).transpose();
        if let Some(hz) = optional("hz")?.filter(|hz| u32::try_from(*hz).map_or(true, |hz| !HZ.contains(&hz)))
        {
            let (least, most) = HZ.into_inner();
            return Err(wrong(format!("`hz` to be {least} to {most}, found {hz}")));
        }
        let steps = optional("steps")?;
        let capacity = u32::try_from(number("cpu_capacity")?).ok().filter(|c| *c <= CAPACITY_MAX);
        let cpu_capacity =
            capacity.ok_or_else(|| wrong(format!("a `cpu_capacity` of at most {CAPACITY_MAX}")))?;
        let variant = json.get("variant").and_then(Value::as_str).unwrap_or_default();
        let groups = json.as_object().into_iter().flatten().filter(|(name, _)| name.ends_with("_params"));
        let params = groups.filter_map(|(_, group)| group.as_object()).flatten();
        let params = params.map(|(name, value)| (name.clone(), value.to_string())).collect();
        let old_polling = before_5_11(variant);
        Ok(Self { tick_nsec: number("tick_nsec")?, cpu_capacity, steps, old_polling, table, params })
    }
}

/// Whether a variant's name ends with the version of a kernel before 5.11, as `haltpoll-5.10` does.
fn before_5_11(variant: &str) -> bool {
    let version = variant.rsplit('-').next().and_then(|v| v.split_once('.'));
    version.is_some_and(|(major, minor)| {
        let minor = minor.parse::<u32>().unwrap_or(u32::MAX);
        major.parse::<u32>().is_ok_and(|major| (major, minor) < (5, 11))
    })
}

/// Where each column is.
struct Columns {
    step: usize,
    disabled_mask: usize,
    latency_req_ns: usize,
    tick_stopped: usize,
    sleep_length_ns: usize,
    delta_tick_ns: usize,
    busy_ns: usize,
    sel_idx: usize,
    stop_tick: usize,
    n_sleep_calls: usize,
    entered_idx: usize,
    residency_ns: usize,
    poll_hit: usize,
    tick_ran: usize,
    ovh_ns: usize,
    util: Option<usize>,
    nr_iowait: Option<usize>,
    rnd_u32: Option<usize>,
    poll_limit_ns: Option<usize>,
    above: Option<usize>,
    below: Option<usize>,
    wake: Option<usize>,
}

/// One recorded decision: its inputs, the choice, and how the idle period ended.
pub struct Row {
    pub step: u64,
    /// Its line in the file.
    pub line: u64,
    /// States that were off, a bit each.
    pub disabled: u16,
    /// The inputs that the governor was given.
    pub inputs: Inputs,
    pub(crate) busy_ns: i64,
    /// The state that the kernel chose.
    pub sel_idx: i64,
    /// It let the tick be stopped.
    pub stop_tick: bool,
    /// It asked for the sleep length.
    pub asked: bool,
    /// Nothing for a rejected entry.
    pub entered: Option<StateIndex>,
    /// Length of the idle period, ns.
    pub residency_ns: i64,
    /// Whether the polling loop ran into its limit; nothing where the state entered does not poll.
    pub poll_hit: Option<bool>,
    /// The tick came in it.
    pub tick_ran: bool,
    /// Time of the idle loop for it without the idle period itself, ns.
    pub ovh_ns: i64,
    /// How long the polling loop polls at most, ns, from then on, where it is recorded.
    pub poll_limit_ns: Option<u64>,
    /// The verdict "too deep", where it is recorded.
    pub above: bool,
    /// The verdict "too shallow", where it is recorded.
    pub below: bool,
    /// What woke the CPU, a letter, where it is recorded.
    pub wake: Option<char>,
}

impl Columns {
    fn find(path: &Path, header: &StringRecord) -> Result<Self, GoldenError> {
        let optional = |column: &str| header.iter().position(|h| h == column);
        let needed = |name: &'static str| column(path, header, name);
        Ok(Self {
            step: needed("step")?,
            disabled_mask: needed("disabled_mask")?,
            latency_req_ns: needed("latency_req_ns")?,
            tick_stopped: needed("tick_stopped")?,
            sleep_length_ns: needed("sleep_length_ns")?,
            delta_tick_ns: needed("delta_tick_ns")?,
            busy_ns: needed("busy_ns")?,
            sel_idx: needed("sel_idx")?,
            stop_tick: needed("stop_tick")?,
            n_sleep_calls: needed("n_sleep_calls")?,
            entered_idx: needed("entered_idx")?,
            residency_ns: needed("residency_ns")?,
            poll_hit: needed("poll_hit")?,
            tick_ran: needed("tick_ran")?,
            ovh_ns: needed("ovh_ns")?,
            util: optional("util"),
            nr_iowait: optional("nr_iowait"),
            rnd_u32: optional("rnd_u32"),
            poll_limit_ns: optional("poll_limit_ns"),
            above: optional("above"),
            below: optional("below"),
            wake: optional("wake"),
        })
    }

    fn row(&self, path: &Path, record: &StringRecord, table: &IdleTable) -> Result<Row, GoldenError> {
        let line = record.position().map_or(0, csv::Position::line);
        let cells = Cells { path, record, line };
        let is_state = "the index of a state of the side-car, or -1 for a rejected entry";
        let entered: i64 = cells.number(self.entered_idx, "entered_idx", is_state)?;
        let entered = match (entered, table.index(entered)) {
            (-1, _) => None,
            (_, Some(state)) => Some(state),
            _ => return Err(cells.wrong("entered_idx", is_state, cells.text(self.entered_idx))),
        };
        let is_chosen = "the index of a state of the side-car";
        let sel_idx: i64 = cells.number(self.sel_idx, "sel_idx", is_chosen)?;
        if table.index(sel_idx).is_none() {
            return Err(cells.wrong("sel_idx", is_chosen, cells.text(self.sel_idx)));
        }
        let poll_hit: i64 = cells.number(self.poll_hit, "poll_hit", "1, 0 or -1")?;
        Ok(Row {
            step: cells.number(self.step, "step", "a row number")?,
            line,
            disabled: cells.number(self.disabled_mask, "disabled_mask", "a mask of at most 16 states")?,
            inputs: Inputs {
                now_ns: 0,
                sleep_length_ns: cells.number(self.sleep_length_ns, "sleep_length_ns", "a time in ns")?,
                delta_tick_ns: cells.number(self.delta_tick_ns, "delta_tick_ns", "a time in ns")?,
                latency_limit_ns: cells.number(self.latency_req_ns, "latency_req_ns", "a time in ns")?,
                util: cells.optional(self.util, "util")?,
                iowait: cells.optional(self.nr_iowait, "nr_iowait")?,
                random: cells.optional(self.rnd_u32, "rnd_u32")?,
                tick_stopped: cells.flag(self.tick_stopped, "tick_stopped")?,
            },
            busy_ns: cells.number(self.busy_ns, "busy_ns", "a time in ns")?,
            sel_idx,
            stop_tick: cells.flag(self.stop_tick, "stop_tick")?,
            asked: cells.number::<u64>(self.n_sleep_calls, "n_sleep_calls", "a count")? > 0,
            entered,
            residency_ns: cells.number(self.residency_ns, "residency_ns", "a time in ns")?,
            poll_hit: (poll_hit >= 0).then_some(poll_hit == 1),
            tick_ran: cells.flag(self.tick_ran, "tick_ran")?,
            ovh_ns: cells.number(self.ovh_ns, "ovh_ns", "a time in ns")?,
            poll_limit_ns: match self.poll_limit_ns {
                Some(at) => Some(cells.number(at, "poll_limit_ns", "a time in ns")?),
                None => None,
            },
            above: cells.optional(self.above, "above")? > 0,
            below: cells.optional(self.below, "below")? > 0,
            wake: self.wake.and_then(|at| record.get(at)).and_then(|text| text.chars().next()),
        })
    }
}

/// The cells of one row.
pub(crate) struct Cells<'a> {
    pub(crate) path: &'a Path,
    pub(crate) record: &'a StringRecord,
    pub(crate) line: u64,
}

impl Cells<'_> {
    pub(crate) fn text(&self, at: usize) -> &str {
        self.record.get(at).unwrap_or_default()
    }

    pub(crate) fn number<T: std::str::FromStr>(
        &self,
        at: usize,
        column: &'static str,
        expected: &'static str,
    ) -> Result<T, GoldenError> {
        let found = self.text(at);
        found.parse().map_err(|_| self.wrong(column, expected, found))
    }

    pub(crate) fn flag(&self, at: usize, column: &'static str) -> Result<bool, GoldenError> {
        match self.text(at) {
            "0" => Ok(false),
            "1" => Ok(true),
            found => Err(self.wrong(column, "0 or 1", found)),
        }
    }

    fn optional(&self, at: Option<usize>, column: &'static str) -> Result<u32, GoldenError> {
        at.map_or(Ok(0), |at| self.number(at, column, "a number of 32 bits"))
    }

    pub(crate) fn wrong(&self, column: &'static str, expected: &'static str, found: &str) -> GoldenError {
        GoldenError::Cell {
            path: self.path.to_owned(),
            line: self.line,
            column,
            expected,
            found: found.to_owned(),
        }
    }
}

impl From<GoldenError> for CommandError {
    fn from(e: GoldenError) -> Self {
        Self::Golden(Box::new(e))
    }
}
