// SPDX-License-Identifier: GPL-2.0-only
//! An experiment file: a published table, and how it is simulated (`docs/reference/experiments.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use idlewise_experiment::error::{ExperimentError, NamedBy};
use idlewise_experiment::simulate::bounds::{self, within};
use idlewise_governor::{Governor, GovernorError, GovernorSource, Offered, RecordedName};
use idlewise_recording::CommandError;
use idlewise_recording::error::Named;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::compute::Computed;
use crate::unknown::{Point, Setting, Unknown};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The version of the format that is read.
const FORMAT: u32 = 2;

/// A published table and our set-up.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// 2.
    pub format: u32,
    /// What it is called by; the file's name.
    pub id: String,
    /// What the table is about.
    pub title: String,
    /// What stands for what, and what was chosen: plain sentences.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Where the numbers were published.
    pub document: Document,
    /// What holds for all cells.
    #[serde(default)]
    pub setup: Setup,
    /// Numbers that texts, factors and offsets name with `$`.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// What was not published, and where it may lie: named with `$`, too.
    #[serde(default)]
    pub unknown: Vec<Unknown>,
    /// What is compared; one at most is the baseline.
    pub column: Vec<Column>,
    pub row: Vec<Row>,
    /// What tells about the unknowns.
    pub fit: Option<Fit>,
    /// A number of ours is the mean of so many runs, 1 to 100.
    #[serde(default = "once")]
    pub repeat: u64,
    /// How long runs last that are graded, s, where not as long as those that are fitted: shorter ones scatter more than what was
    /// published.
    pub graded_seconds: Option<f64>,
    /// What the model lacks where it is wrong.
    #[serde(default)]
    pub lacks: Vec<Lack>,
    /// The experiment whose published numbers these are, too: they count there.
    pub repeats: Option<String>,
    /// What of the published table is not here.
    #[serde(default)]
    pub not_reproduced: Vec<NotReproduced>,
    /// The C files that this invocation allows it to name.
    #[serde(skip)]
    pub(crate) offered: Offered,
}

/// The published document that an experiment repeats.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Its number in `docs/reference/published-documents.md`: `1`.
    pub number: String,
    /// Its title and date.
    pub title: String,
    /// The sections there with its tables: `1.1, 1.2`. Older files say `lines`.
    #[serde(alias = "lines")]
    pub tables: String,
    /// Whether its differences are summed up apart, not under `all`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// What its numbers are called: `closed form`, of numbers that nobody has published.
    #[serde(default = "published", skip_serializing_if = "is_published")]
    pub called: String,
}

fn published() -> String {
    "published".to_owned()
}

fn is_published(called: &str) -> bool {
    called == published()
}

/// What is simulated. Of a cell, the row's set-up overrides the table's, and the column's overrides both.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// The kernel whose load tracking and fair scheduler it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hz: Option<Value>,
    /// Number of CPUs, if the platform does not fix it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<usize>,
    /// The governor of idle states: one of ours, or a C file that the user names, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<RecordedName>,
    /// The governor of frequencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpufreq: Option<String>,
    /// The signal that it reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Limits of the package's power, as `idlewise simulate --power-limit` takes them, without a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power_limit: Option<String>,
    /// Values of the platform's file that are others, by key as `idlewise simulate --set` has them; numbers are rounded.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub machine: BTreeMap<String, Value>,
    /// A workload by name or path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// A workload's text; `$name` stands for a parameter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Instead of a simulation, a computation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<Computed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// What is compared: a governor, a signal.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// As it was published.
    pub name: String,
    /// The others are compared with it, and only it may be fitted.
    #[serde(default)]
    pub baseline: bool,
    /// What facts are about, instead of what the row says.
    pub about: Option<String>,
    /// Its own set-up. It has no workload and no parameters: those are the same for all columns.
    #[serde(default)]
    pub setup: Setup,
    /// The column whose published numbers these are, too: they count there.
    pub repeats: Option<String>,
}

/// One measured quantity, with its published value for each column.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// As it was published.
    pub name: String,
    /// The number of its document, where the table is of several.
    pub document: Option<String>,
    /// Its unit: `ns`, `us`, `ms`, `s` where the fact is a time, `MHz` where it is a clock; else a word to print.
    pub unit: String,
    /// Which simulated number answers it: `ABOUT / NAME`, as `idlewise simulate --format csv` has them.
    pub fact: String,
    /// What the fact, in the row's unit, is multiplied by.
    #[serde(default = "one")]
    pub factor: Value,
    /// What is added then.
    #[serde(default = "zero")]
    pub offset: Value,
    /// The result is 100 times that of this column, divided by this.
    pub percent_of: Option<String>,
    /// The result is this column's, less that of that column.
    pub less: Option<String>,
    /// Whether the number itself may be compared with the published one, or only its change against the baseline.
    #[serde(default)]
    pub compare: Compare,
    /// Of a changed number: which share of the baseline's the fact makes up, 0 to 1; the rest stays the same.
    pub share: Option<Value>,
    /// Of a table without a baseline: a difference up to this, in the row's unit, is none.
    #[serde(default)]
    pub tolerance: f64,
    /// Published changes against the baseline up to this are no change: per cent, or points where the unit is %.
    #[serde(default)]
    pub noise: f64,
    /// Where `noise` is from.
    #[serde(default)]
    pub noise_from: String,
    /// The published single runs by column: what they scatter is noise.
    #[serde(default)]
    pub runs: BTreeMap<String, Vec<f64>>,
    /// The rows with the same measurement as it was published again: what they scatter with this one is noise.
    #[serde(default)]
    pub again: Again,
    /// The row whose published numbers these are, too, in another reading: they count there.
    pub repeats: Option<String>,
    /// By column: why the number is none that could have come out otherwise.
    #[serde(default)]
    pub given: BTreeMap<String, Given>,
    /// The published numbers by column; two are a range.
    pub published: BTreeMap<String, Published>,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
}

fn once() -> u64 {
    1
}

fn draws() -> u64 {
    DRAWS
}

fn one() -> Value {
    Value::Number(1.0)
}

fn zero() -> Value {
    Value::Number(0.0)
}

/// A number, or parameters by their names, as they are or times a number, added up: `$name`, `$name * 370`, `$name + $other * 2`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Number(f64),
    Parameter(String),
}

/// Rows by name: one, or several.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Again {
    Row(String),
    Rows(Vec<String>),
}

impl Default for Again {
    fn default() -> Self {
        Self::Rows(Vec::new())
    }
}

impl Again {
    #[must_use]
    pub fn rows(&self) -> &[String] {
        match self {
            Self::Row(name) => std::slice::from_ref(name),
            Self::Rows(names) => names,
        }
    }
}

/// Why a published number is none that a model could miss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Given {
    /// By what the words mean: the shallowest state is never too deep.
    Definition,
    /// By the load alone: a governor at the highest clock takes the time that the work takes.
    Load,
}

/// What is compared with what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compare {
    #[default]
    Value,
    /// The change against the baseline: the number itself is in other units.
    Change,
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Parameter(name) => f.write_str(name),
        }
    }
}

/// A published number, or the range that was published instead of one.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Published {
    Number(f64),
    Range([f64; 2]),
}

impl Published {
    /// The lowest and the highest published value.
    #[must_use]
    pub fn ends(self) -> (f64, f64) {
        match self {
            Self::Number(x) => (x, x),
            Self::Range([from, to]) => (from, to),
        }
    }

    /// The middle of the published range.
    #[must_use]
    pub fn middle(self) -> f64 {
        let (from, to) = self.ends();
        f64::midpoint(from, to)
    }
}

/// What tells about the unknowns: numbers of the baseline, and no others.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The rows whose numbers in the baseline's column must come out.
    pub rows: Vec<String>,
    /// Settings to try at most where nothing else is said.
    #[serde(default = "draws")]
    pub draws: u64,
}

/// What the model lacks where it is wrong.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lack {
    /// The rows that it is about.
    pub rows: Vec<String>,
    /// The columns; all where none is named.
    #[serde(default)]
    pub columns: Vec<String>,
    /// What is missing: a plain clause.
    pub what: String,
}

/// Something of the published table that is not here.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotReproduced {
    pub what: String,
    pub why: String,
}

/// More than this, in a row's unit, matches anything.
const LARGEST_TOLERANCE: f64 = 1e9;

/// Settings that are tried at most where nothing else is said.
pub(crate) const DRAWS: u64 = 40_000;

/// How many settings may be tried at most: one population, and days.
pub const MAY_DRAW: std::ops::RangeInclusive<u64> = 240..=10_000_000;

/// More runs for one number are a mistake.
const MOST_REPEATED: u64 = 100;

fn finite(what: &str, value: f64) -> Result<(), String> {
    if value.is_finite() { Ok(()) } else { Err(format!("{what}: {value} is no number to compute with")) }
}

impl Setup {
    /// Whether its numbers make sense, as if options had given them.
    fn check(&self) -> Result<(), String> {
        let of = |key| move |why: String| format!("{key}: {why}");
        if let Some(Value::Number(hz)) = self.hz {
            whole_hz(hz).map(drop).map_err(of("hz"))?;
        }
        self.cpus.map_or(Ok(()), |n| within(n, &bounds::CPUS)).map_err(of("cpus"))?;
        self.seconds.map_or(Ok(()), |s| bounds::seconds(s).map(|_| ())).map_err(of("seconds"))
    }

    /// This, and where it says nothing, `base`.
    #[must_use]
    pub fn over(&self, base: &Self) -> Self {
        // A workload stands instead of the other kinds.
        let own = self.workload.is_some() || self.json.is_some() || self.compute.is_some();
        let kind = if own { self } else { base };
        Self {
            platform: self.platform.clone().or_else(|| base.platform.clone()),
            kernel: self.kernel.clone().or_else(|| base.kernel.clone()),
            hz: self.hz.clone().or_else(|| base.hz.clone()),
            cpus: self.cpus.or(base.cpus),
            governor: self.governor.clone().or_else(|| base.governor.clone()),
            cpufreq: self.cpufreq.clone().or_else(|| base.cpufreq.clone()),
            signal: self.signal.clone().or_else(|| base.signal.clone()),
            power_limit: self.power_limit.clone().or_else(|| base.power_limit.clone()),
            machine: base.machine.clone().into_iter().chain(self.machine.clone()).collect(),
            workload: kind.workload.clone(),
            json: kind.json.clone(),
            compute: kind.compute,
            seconds: self.seconds.or(base.seconds),
        }
    }
}

impl Experiment {
    /// Reads a file's text; `name` is what errors call it.
    ///
    /// # Errors
    /// [`CommandError::File`] where it is not an experiment, or names what is not there.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, CommandError> {
        let wrong = |why: String| CommandError::File { path: name.to_owned(), why };
        let e: Self = toml::from_str(text).map_err(|e| wrong(e.to_string().trim_end().to_owned()))?;
        e.check().map_err(wrong)?;
        Ok(e)
    }

    /// The column that the others are compared with.
    #[must_use]
    pub fn baseline(&self) -> Option<&Column> {
        self.column.iter().find(|c| c.baseline)
    }

    /// The number of the document in which a row was published.
    #[must_use]
    pub fn document_of(&self, row: &str) -> String {
        let own = self.row.iter().find(|r| r.name == row).and_then(|r| r.document.as_ref());
        own.unwrap_or(&self.document.number).clone()
    }

    /// Whether a cell tells about unknowns, so that it is no prediction.
    #[must_use]
    pub fn is_fitted(&self, row: &Row, column: &Column) -> bool {
        column.baseline && self.fit.as_ref().is_some_and(|f| f.rows.contains(&row.name))
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format {}: this idlewise reads format {FORMAT}", self.format));
        }
        if self.id.is_empty() || !self.id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return Err(format!("id {:?}: expected letters, digits, - and _", self.id));
        }
        self.setup.check()?;
        let seconds = self.graded_seconds.map(bounds::seconds).transpose();
        seconds.map_err(|why| format!("graded_seconds: {why}"))?;
        if !(1..=MOST_REPEATED).contains(&self.repeat) {
            return Err(format!("repeat = {}; expected 1 to {MOST_REPEATED}", self.repeat));
        }
        for (name, value) in &self.parameters {
            finite(&format!("parameter {name}"), *value)?;
        }
        let columns = unique("column", self.column.iter().map(|c| c.name.as_str()))?;
        let rows = unique("row", self.row.iter().map(|r| r.name.as_str()))?;
        if self.column.iter().filter(|c| c.baseline).count() > 1 {
            return Err("more than one column is the baseline".to_owned());
        }
        for u in &self.unknown {
            u.check().map_err(|why| format!("unknown {}: {why}", u.name))?;
        }
        let names =
            self.unknown.iter().map(|u| u.name.as_str()).chain(self.parameters.keys().map(String::as_str));
        if !self.unknown.is_empty() {
            unique("unknown or parameter", names)?;
        }
        for c in &self.column {
            if c.setup.workload.is_some() || c.setup.json.is_some() {
                return Err(format!("column {}: the workload is the same for all columns", c.name));
            }
            c.setup.check().map_err(|why| format!("column {}: {why}", c.name))?;
            known("column", c.repeats.as_ref(), &columns)
                .map_err(|why| format!("column {}: {why}", c.name))?;
        }
        for row in &self.row {
            self.check_row(row, &columns, &rows).map_err(|why| format!("row {}: {why}", row.name))?;
        }
        for lack in &self.lacks {
            known("row", &lack.rows, &rows)
                .and_then(|()| known("column", &lack.columns, &columns))
                .map_err(|why| format!("lacks: {why}"))?;
        }
        self.fit.as_ref().map_or(Ok(()), |fit| self.check_fit(fit, &rows))
    }

    fn check_row(&self, row: &Row, columns: &BTreeSet<&str>, rows: &BTreeSet<&str>) -> Result<(), String> {
        let named = row.published.keys().chain(&row.percent_of).chain(&row.less);
        known("column", named.chain(row.runs.keys()).chain(row.given.keys()), columns)?;
        known("row", row.again.rows().iter().chain(&row.repeats), rows)?;
        for (name, published) in &row.published {
            let (from, to) = published.ends();
            if !(from.is_finite() && to.is_finite() && from <= to) {
                return Err(format!("{name}: a range is two numbers, the smaller one first"));
            }
        }
        for (name, runs) in &row.runs {
            if runs.len() < 3 || runs.iter().any(|v| !v.is_finite() || *v <= 0.0) {
                return Err(format!("runs of {name}: expected three or more numbers above 0"));
            }
        }
        if row.percent_of.is_some() && row.less.is_some() {
            return Err("percent_of or less, not both".to_owned());
        }
        if !row.fact.contains(" / ") {
            return Err(format!("fact `{}`: write it as ABOUT / NAME", row.fact));
        }
        if row.compare == Compare::Change
            && self.baseline().is_none_or(|b| !row.published.contains_key(&b.name))
        {
            return Err("a change needs a baseline with a published number".to_owned());
        }
        for name in row.parameters.keys() {
            if !self.parameters.contains_key(name) {
                return Err(format!("parameter {name} is not in [parameters]"));
            }
        }
        for (name, value) in &row.parameters {
            finite(&format!("parameter {name}"), *value)?;
        }
        for (name, value) in [("tolerance", row.tolerance), ("noise", row.noise)] {
            if !(0.0..=LARGEST_TOLERANCE).contains(&value) {
                return Err(format!("{name} = {value}; expected 0 to {LARGEST_TOLERANCE}"));
            }
        }
        // Whatever the unknowns are, the same names are there.
        for point in [self.point(0.0), self.point(1.0)] {
            finite("factor", self.value(&row.factor, row, &point)?)?;
            finite("offset", self.value(&row.offset, row, &point)?)?;
            if let Some(share) = &row.share {
                self.check_share(row, self.value(share, row, &point)?)?;
            }
            self.fill(&row.fact, row, &point)?;
        }
        row.setup.check()
    }

    fn check_share(&self, row: &Row, share: f64) -> Result<(), String> {
        if row.compare != Compare::Change {
            return Err("share: the rest is not known: write compare = \"change\"".to_owned());
        }
        if row.percent_of.is_some() || row.less.is_some() {
            return Err("share, percent_of or less, not two of them".to_owned());
        }
        if (0.0..=1.0).contains(&share) { Ok(()) } else { Err(format!("share = {share}; expected 0 to 1")) }
    }

    fn check_fit(&self, fit: &Fit, rows: &BTreeSet<&str>) -> Result<(), String> {
        let Some(baseline) = self.baseline() else {
            return Err("fit: there is no baseline, and nothing else may be fitted to".to_owned());
        };
        if self.unknown.is_empty() {
            return Err("fit: nothing is unknown".to_owned());
        }
        if !MAY_DRAW.contains(&fit.draws) {
            let (from, to) = (MAY_DRAW.start(), MAY_DRAW.end());
            return Err(format!("fit: draws = {}; expected {from} to {to}", fit.draws));
        }
        for name in &fit.rows {
            let row = self.row.iter().find(|r| r.name == *name && r.published.contains_key(&baseline.name));
            let Some(row) = row.filter(|r| rows.contains(r.name.as_str())) else {
                return Err(format!("fit: there is no published number in row {name} of {}", baseline.name));
            };
            if row.compare == Compare::Change {
                return Err(format!(
                    "fit: of row {name} only changes may be compared, and the baseline has none"
                ));
            }
            if self.noise(row, baseline).value <= 0.0 {
                return Err(format!(
                    "fit: row {name} needs its noise, to know what meets it (noise, runs or again)"
                ));
            }
        }
        Ok(())
    }

    /// All unknowns at `share` of their ranges, from 0 to 1, and seed 1.
    pub(crate) fn point(&self, share: f64) -> Point {
        let settings = self.unknown.iter().map(|u| (u.name.clone(), u.at(share))).collect();
        Point { settings, seed: 1 }
    }

    /// The text of the governor that a set-up names, if it may be run.
    ///
    /// # Errors
    /// Where it is a C file that the user does not name.
    pub(crate) fn governor(&self, name: &RecordedName) -> Result<String, ExperimentError> {
        self.source(name).map(|source| source.spec().to_string())
    }

    fn source(&self, name: &RecordedName) -> Result<GovernorSource, ExperimentError> {
        match name.source(&self.offered, None) {
            Ok(source) => Ok(source),
            Err(GovernorError::NotNamedByUser { path }) => {
                Err(ExperimentError::Untrusted { path, by: NamedBy::Experiment { id: self.id.clone() } })
            }
            Err(other) => Err(other.into()),
        }
    }

    /// Whether all governors that it names may be run; and those among them that are C files.
    pub(crate) fn check_governors(&self) -> Result<Vec<PathBuf>, ExperimentError> {
        let parts = self.row.iter().map(|r| &r.setup).chain(self.column.iter().map(|c| &c.setup));
        let all = std::iter::once(&self.setup).chain(parts);
        let sources = all.filter_map(|s| s.governor.as_ref()).map(|name| self.source(name));
        let file = |source| match source {
            Ok(GovernorSource::File(file)) => Some(Ok(PathBuf::from(&file.spec().id))),
            Ok(GovernorSource::Shipped(spec)) => Governor::find(&spec).err().map(|why| Err(why.into())),
            Err(why) => Some(Err(why)),
        };
        sources.filter_map(file).collect()
    }

    /// A value of a row at `point`.
    ///
    /// # Errors
    /// Where it names no parameter, or a word instead of a number.
    pub(crate) fn value(&self, value: &Value, row: &Row, point: &Point) -> Result<f64, String> {
        match value {
            Value::Number(x) => Ok(*x),
            Value::Parameter(text) => {
                text.split('+').map(|term| self.term(text, term.trim(), row, point)).sum()
            }
        }
    }

    fn term(&self, text: &str, term: &str, row: &Row, point: &Point) -> Result<f64, String> {
        let wrong = || format!("`{text}`: expected a number, $NAME, $NAME * NUMBER or a sum of these");
        let name = term.strip_prefix('$').ok_or_else(wrong)?;
        let (name, factor) = match name.split_once('*') {
            Some((name, factor)) => (name.trim(), factor.trim().parse::<f64>().map_err(|_| wrong())?),
            None => (name, 1.0),
        };
        match self.setting(name, row, point)? {
            Setting::Number(x) => Ok(x * factor),
            Setting::Word(word) => Err(format!("${name} is `{word}`; expected a number")),
        }
    }

    fn setting(&self, name: &str, row: &Row, point: &Point) -> Result<Setting, String> {
        let own = row.parameters.get(name).or_else(|| self.parameters.get(name)).map(|x| Setting::Number(*x));
        own.or_else(|| point.settings.get(name).cloned())
            .ok_or_else(|| format!("${name} is neither in [parameters] nor unknown"))
    }

    /// A text with its parameters at `point` in place.
    ///
    /// # Errors
    /// Where it names one that is not there.
    pub(crate) fn fill(&self, text: &str, row: &Row, point: &Point) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            out += before;
            out += &self.setting(name, row, point)?.to_string();
            rest = behind;
        }
        out += rest;
        Ok(out)
    }
}

/// Ticks a second that a set-up gives.
pub(crate) fn whole_hz(hz: f64) -> Result<u32, String> {
    let whole = hz as u32;
    if f64::from(whole) != hz {
        return Err(format!("{hz}; expected a whole number"));
    }
    within(whole, &idlewise_model::HZ)?;
    Ok(whole)
}

fn known<'n>(
    what: &str,
    names: impl IntoIterator<Item = &'n String>,
    all: &BTreeSet<&str>,
) -> Result<(), String> {
    let unknown = names.into_iter().find(|name| !all.contains(name.as_str()));
    unknown.map_or(Ok(()), |name| Err(format!("there is no {what} {name}")))
}

fn unique<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Result<BTreeSet<&'n str>, String> {
    let mut all = BTreeSet::new();
    for name in names {
        if !all.insert(name) {
            return Err(format!("{what} {name} is there twice"));
        }
    }
    if all.is_empty() { Err(format!("there is no {what}")) } else { Ok(all) }
}

/// The experiments that come with idlewise: name and text of each file, by name.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    SHIPPED
}

/// The shipped experiment of that name, or the file at that path.
///
/// # Errors
/// [`CommandError::Unknown`] with the known names, or what reading the file says.
pub fn find(name_or_path: &str) -> Result<Experiment, CommandError> {
    if let Some((id, text)) = SHIPPED.iter().find(|(id, _)| *id == name_or_path) {
        return Experiment::from_toml(text, &format!("experiments/{id}.toml"));
    }
    let path = Path::new(name_or_path);
    if !path.exists() && !name_or_path.contains('/') && path.extension().is_none_or(|e| e != "toml") {
        let known: Vec<&str> = SHIPPED.iter().map(|(id, _)| *id).collect();
        return Err(CommandError::Unknown {
            what: Named::Experiment,
            name: name_or_path.to_owned(),
            known: known.into_iter().map(str::to_owned).collect(),
        });
    }
    let text = idlewise_files::read_to_string(path).map_err(|e| CommandError::file(path, e))?;
    Experiment::from_toml(&text, name_or_path)
}
