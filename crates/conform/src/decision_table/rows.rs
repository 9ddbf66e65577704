// SPDX-License-Identifier: GPL-2.0-only
//! Reads the rows of a table of recorded decisions.

use std::io::{BufReader, Read};
use std::path::Path;

use idlewise_files::TableText;
use idlewise_governor::StateValue;
use idlewise_model::{IdleTable, LATEST_NS, NO_LATENCY_LIMIT_NS, StateIndex};

use super::row::Row;
use idlewise_recording::error::CommandError;

/// The rows of a file.
pub(super) struct Rows {
    name: String,
    columns: Columns,
    /// The columns of the governor's state that are there.
    state: Vec<StateColumn>,
    records: csv::StringRecordsIntoIter<Box<dyn Read>>,
}

/// Where each column stands.
struct Columns(Vec<(&'static str, usize)>);

const NAMES: [&str; 27] = [
    "cpu",
    "ts_entry_ns",
    "state",
    "latency_req0",
    "dis0",
    "dis1",
    "tick_stopped_before",
    "idle_calls_delta",
    "n_switch_out",
    "got_tick_prev",
    "prev_residency_ns",
    "poll_time_limit_prev",
    "idle_entry_rel",
    "hrt_expires_next_rel",
    "menu_sleep_length_ns",
    "menu_tick_wakeup",
    "exit_rel_ns",
    "residency_ns",
    "given_up",
    "latency_limit_ns",
    "disabled",
    "entered",
    "rejected_inc",
    "delta_tick_ns",
    "prev_state",
    "poll_limit_ns",
    "nr_iowait",
];

/// Those that a file may lack: menu's own, and the last.
const REQUIRED: std::ops::Range<usize> = 0..18;

impl Rows {
    pub(super) fn open(path: &Path) -> Result<Self, CommandError> {
        let file = idlewise_files::open(path).map_err(|e| CommandError::file(path, e))?;
        let packed = file.metadata().map_err(|e| CommandError::file(path, e))?.len();
        let file = BufReader::new(file);
        let plain: Box<dyn Read> = match path.extension().and_then(|e| e.to_str()) {
            Some("xz") => Box::new(liblzma::read::XzDecoder::new(file)),
            Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(file)),
            _ => Box::new(file),
        };
        let mut reader = csv::Reader::from_reader(Box::new(TableText::new(plain, packed)) as Box<dyn Read>);
        let head = reader.headers().map_err(|e| CommandError::file(path, words(&e)))?.clone();
        let mut columns = Vec::new();
        for (i, name) in NAMES.into_iter().enumerate() {
            let optional = name.starts_with("menu_") || !REQUIRED.contains(&i);
            let Some(at) = head.iter().position(|h| h == name).or(optional.then_some(usize::MAX)) else {
                return Err(CommandError::file(
                    path,
                    format!("no column {name}; is this a file of recorded decisions?"),
                ));
            };
            columns.push((name, at));
        }
        let name = path.display().to_string();
        let state = state_columns(&head);
        Ok(Self { name, columns: Columns(columns), state, records: reader.into_records() })
    }

    /// The next row as it is in the file, and its CPU.
    pub(super) fn next_row(&mut self) -> Result<Option<(u32, csv::StringRecord)>, CommandError> {
        let Some(record) = self.records.next() else { return Ok(None) };
        let record = record.map_err(|e| CommandError::File { path: self.name.clone(), why: words(&e) })?;
        let cpu = self.cells(&record).cpu().map_err(|why| self.fail(&record, &why))?;
        Ok(Some((cpu, record)))
    }

    /// A row of a CPU whose states are those of `table`.
    pub(super) fn on(&self, record: &csv::StringRecord, table: &IdleTable) -> Result<Row, CommandError> {
        self.cells(record).row(line(record), table).map_err(|why| self.fail(record, &why))
    }

    /// The governor's state after the choice of a row; nothing where the file does not have it.
    pub(super) fn state(&self, record: &csv::StringRecord) -> Result<Vec<StateValue>, CommandError> {
        let values = self.state.iter().map(|column| column.value(record));
        values.collect::<Result<_, _>>().map_err(|why| self.fail(record, &why))
    }

    fn cells<'a>(&'a self, record: &'a csv::StringRecord) -> Cells<'a> {
        Cells { record, columns: &self.columns }
    }

    fn fail(&self, record: &csv::StringRecord, why: &str) -> CommandError {
        CommandError::File { path: self.name.clone(), why: format!("line {}: {why}", line(record)) }
    }
}

/// A column with a number of the governor's state.
struct StateColumn {
    name: String,
    at: usize,
    /// As in [`StateValue`].
    names: &'static [&'static str],
    index: usize,
    /// What the number is below: C takes some for an index.
    below: u64,
    /// What an empty cell stands for.
    empty: Option<u64>,
}

impl StateColumn {
    fn value(&self, record: &csv::StringRecord) -> Result<StateValue, String> {
        let text = record.get(self.at).unwrap_or("");
        let number = if text.is_empty() { self.empty } else { text.parse().ok() };
        let Some(value) = number.filter(|n| *n < self.below) else {
            return Err(format!(
                "column {}: {text:?} is no number below {} of the governor's state",
                self.name, self.below
            ));
        };
        Ok(StateValue { names: self.names, index: self.index, value })
    }
}

/// A 32-bit number, and a time up to `KTIME_MAX`.
const U32_END: u64 = 1 << 32;
const TIME_END: u64 = 1 << 63;

/// The columns of menu's state in a file with this head, or those of ladder's; none where one is missing.
fn state_columns(head: &csv::StringRecord) -> Vec<StateColumn> {
    let column = |name: &str, names, index, below| {
        let at = head.iter().position(|h| h == name)?;
        Some(StateColumn { name: name.to_owned(), at, names, index, below, empty: None })
    };
    // As many as there are, from 0.
    let numbered = |name: &str, names: &'static [&'static str]| -> Vec<StateColumn> {
        (0..).map_while(|i| column(&format!("{name}{i}"), names, i, U32_END)).collect()
    };
    let mut factors = numbered("menu_cf", &["correction_factor", "factor"]);
    let intervals = numbered("menu_iv", &["intervals"]);
    let single = [
        // Without a question the kernel's menu puts KTIME_MAX there.
        column("menu_sleep_length_ns", &["next_timer_ns"], 0, TIME_END)
            .map(|c| StateColumn { empty: Some(TIME_END - 1), ..c }),
        column("menu_bucket", &["bucket"], 0, factors.len() as u64),
        column("menu_interval_ptr", &["interval_ptr", "interval_slot"], 0, intervals.len() as u64),
    ];
    if let [Some(timer), Some(bucket), Some(slot)] = single
        && !factors.is_empty()
        && !intervals.is_empty()
    {
        factors.extend(intervals.into_iter().chain([timer, bucket, slot]));
        return factors;
    }
    let mut promotions = numbered("ladder_promotions", &["promotion_count", "promotions"]);
    let demotions = numbered("ladder_demotions", &["demotion_count", "demotions"]);
    if promotions.len() != demotions.len() {
        return Vec::new();
    }
    promotions.extend(demotions);
    promotions
}

/// Where the file is no table, and what was expected there.
fn words(e: &csv::Error) -> String {
    match e.kind() {
        csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            let line = pos.as_ref().map_or(0, csv::Position::line);
            format!("line {line}: expected {expected_len} cells, as the header has, found {len}")
        }
        csv::ErrorKind::Utf8 { pos, .. } => format!(
            "line {}: expected a table of decisions as text (CSV), found a binary file",
            pos.as_ref().map_or(0, csv::Position::line)
        ),
        _ => e.to_string(),
    }
}

fn line(record: &csv::StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

struct Cells<'a> {
    record: &'a csv::StringRecord,
    columns: &'a Columns,
}

impl Cells<'_> {
    fn text(&self, name: &str) -> &str {
        let at = self.columns.0.iter().find(|c| c.0 == name).map_or(usize::MAX, |c| c.1);
        self.record.get(at).unwrap_or("")
    }

    fn number(&self, name: &str) -> Result<i64, String> {
        let text = self.text(name);
        text.parse().map_err(|_| format!("column {name}: {text:?} is no whole number"))
    }

    fn has(&self, name: &str) -> bool {
        self.columns.0.iter().any(|c| c.0 == name && c.1 != usize::MAX)
    }

    fn optional(&self, name: &str) -> Result<Option<i64>, String> {
        if self.text(name).is_empty() { Ok(None) } else { self.number(name).map(Some) }
    }

    fn unsigned(&self, name: &str) -> Result<u64, String> {
        let n = self.number(name)?;
        u64::try_from(n).map_err(|_| format!("column {name}: {n} is negative"))
    }

    /// A time that nothing is added to beyond what 64 bits hold, ns.
    fn time(&self, name: &str) -> Result<u64, String> {
        let n = self.unsigned(name)?;
        if n <= LATEST_NS { Ok(n) } else { Err(format!("column {name}: {n} ns, more than {LATEST_NS}")) }
    }

    /// A time that may be missing; negative is the same.
    fn time_if_any(&self, name: &str) -> Result<u64, String> {
        match self.optional(name)? {
            Some(n) if n >= 0 => self.time(name),
            _ => Ok(0),
        }
    }

    /// A state of the machine.
    fn state(&self, name: &str, table: &IdleTable) -> Result<StateIndex, String> {
        let n = self.number(name)?;
        table.index(n).ok_or_else(|| {
            format!(
                "column {name}: {n} is no idle state of this CPU, which has 0 to {} (--platform names the machine that \
                 was recorded)",
                table.len() - 1
            )
        })
    }

    /// A state, or nothing for an empty cell and for -1.
    fn state_if_any(&self, name: &str, table: &IdleTable) -> Result<Option<StateIndex>, String> {
        match self.optional(name)? {
            None | Some(-1) => Ok(None),
            Some(_) => self.state(name, table).map(Some),
        }
    }

    fn yes(&self, name: &str) -> Result<bool, String> {
        Ok(self.number(name)? > 0)
    }

    /// A number of tasks, where there is one.
    fn waiting(&self, name: &str) -> Result<Option<u32>, String> {
        let number = |n| u32::try_from(n).map_err(|_| format!("column {name}: {n} is no number of tasks"));
        self.optional(name)?.map(number).transpose()
    }

    fn cpu(&self) -> Result<u32, String> {
        let n = self.number("cpu")?;
        u32::try_from(n).map_err(|_| format!("column cpu: {n} is no CPU"))
    }

    fn row(&self, line: u64, table: &IdleTable) -> Result<Row, String> {
        let given_up = self.optional("given_up")?.map(|n| n > 0);
        let sleep_length_ns = self.optional("menu_sleep_length_ns")?;
        let usual_ns = if self.yes("latency_req0")? { 0 } else { NO_LATENCY_LIMIT_NS };
        let two = u16::from(self.yes("dis0")?) | u16::from(self.yes("dis1")?) << 1;
        let disabled = self.optional("disabled")?.map_or(Ok(two), u16::try_from);
        let last_state = self.state_if_any("prev_state", table)?;
        let last_state = self.optional("prev_state")?.map(|_| last_state);
        let poll_limit_ns = self.optional("poll_limit_ns")?.and_then(|n| u64::try_from(n).ok());
        // No input depends on it.
        self.yes("n_switch_out")?;
        Ok(Row {
            line,
            start_ns: self.time("ts_entry_ns")?,
            state: if given_up == Some(true) { 0 } else { self.state("state", table)?.get() },
            latency_limit_ns: self.optional("latency_limit_ns")?.unwrap_or(usual_ns),
            iowait: self.waiting("nr_iowait")?,
            disabled: disabled.map_err(|_| "column disabled: not a mask of 16 states".to_owned())?,
            stopped_before: self.yes("tick_stopped_before")?,
            stop_path: self.yes("idle_calls_delta")?,
            got_tick_before: match self.optional("menu_tick_wakeup")? {
                Some(n) => n > 0,
                None => self.yes("got_tick_prev")?,
            },
            residency_ns: self.time_if_any("residency_ns")?,
            residency_before_ns: self.time("prev_residency_ns")?,
            poll_limit_before: self.yes("poll_time_limit_prev")?,
            now_rel: self.number("idle_entry_rel")?,
            hrtimer_rel: self.optional("hrt_expires_next_rel")?,
            sleep_length_ns,
            exit_ns: self.time_if_any("exit_rel_ns")?,
            calls: self.number("idle_calls_delta")?,
            given_up,
            is_cut_off: given_up == Some(false) && self.text("exit_rel_ns").is_empty(),
            entered: self.state_if_any("entered", table)?,
            rejected: self.optional("rejected_inc")?.is_some_and(|n| n > 0),
            delta_tick_ns: self.optional("delta_tick_ns")?,
            device: last_state.zip(poll_limit_ns),
            asked: self.has("menu_sleep_length_ns").then_some(sleep_length_ns.is_some()),
        })
    }
}
