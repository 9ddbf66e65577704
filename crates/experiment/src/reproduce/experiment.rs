// SPDX-License-Identifier: GPL-2.0-only
//! An experiment file: a published table, and how it is simulated (`docs/reference/experiments.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use idlewise_governor::{GovernorError, GovernorSource, Offered, RecordedName};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::compute::Computed;
use crate::error::{ExperimentError, NamedBy};
use crate::simulate::bounds::{self, within};
use idlewise_recording::CommandError;
use idlewise_recording::error::Named;

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// The version of the format that is read.
const FORMAT: u32 = 1;

/// A published table and our set-up.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// 1.
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
    /// Numbers that the workload's text, factors and offsets name with `$`.
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
    /// What is compared; one at most is the baseline.
    pub column: Vec<Column>,
    pub row: Vec<Row>,
    /// How parameters were found.
    pub fit: Option<Fit>,
    /// What of the published table is not here.
    #[serde(default)]
    pub not_reproduced: Vec<NotReproduced>,
    /// The C files that this invocation allows it to name.
    #[serde(skip)]
    pub(super) offered: Offered,
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
    pub hz: Option<u32>,
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
    /// Seed of the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
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
}

/// One measured quantity, with its published value for each column.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// As it was published.
    pub name: String,
    /// Its unit: `ns`, `us`, `ms`, `s` where the fact is a time, `MHz` where it is a clock; else a word to print.
    pub unit: String,
    /// Which simulated number answers it: `ABOUT / NAME`, as `idlewise simulate --format csv` has them.
    pub fact: String,
    /// Which of several runs' numbers.
    #[serde(default)]
    pub over: Over,
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
    /// What is compared with what was published.
    #[serde(default)]
    pub compare: Compare,
    /// A difference up to so many per cent of what was published matches.
    #[serde(default)]
    pub tolerance_pct: f64,
    /// So does one up to this, in the row's unit (in percentage points where changes are compared).
    #[serde(default)]
    pub tolerance: f64,
    /// Changes against the baseline up to so many per cent are none.
    #[serde(default)]
    pub noise_pct: f64,
    /// The published numbers by column; two are a range.
    pub published: BTreeMap<String, Published>,
    #[serde(default)]
    pub setup: Setup,
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
}

fn one() -> Value {
    Value::Number(1.0)
}

fn zero() -> Value {
    Value::Number(0.0)
}

/// A number, or a parameter by its name: `$name`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Number(f64),
    Parameter(String),
}

/// How the values of several runs become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Over {
    #[default]
    Mean,
    Min,
    Max,
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

/// How parameters were found: least squares of relative differences, on cells of the baseline.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fit {
    /// The baseline's name: no other column may be fitted to.
    pub column: String,
    /// The rows whose cells were fitted.
    pub rows: Vec<String>,
    /// What was left over when it was last done: root mean square of relative differences, per cent.
    pub residual_pct: f64,
    pub parameter: Vec<Fitted>,
}

/// A parameter that was fitted.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    pub name: String,
    /// Where it was looked for.
    pub range: [f64; 2],
    /// A multiple of this.
    pub step: f64,
}

/// Something of the published table that is not here.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotReproduced {
    pub what: String,
    pub why: String,
}

/// More than this, in % (or percentage points), matches anything.
const LARGEST_PCT: f64 = 100.0;
/// More than this, in a row's unit, too.
const LARGEST_TOLERANCE: f64 = 1e9;

fn finite(what: &str, value: f64) -> Result<(), String> {
    if value.is_finite() { Ok(()) } else { Err(format!("{what}: {value} is no number to compute with")) }
}

impl Setup {
    /// Whether its numbers make sense, as if options had given them.
    fn check(&self) -> Result<(), String> {
        let of = |key| move |why: String| format!("{key}: {why}");
        self.hz.map_or(Ok(()), |hz| within(hz, &idlewise_model::HZ)).map_err(of("hz"))?;
        self.cpus.map_or(Ok(()), |n| within(n, &bounds::CPUS)).map_err(of("cpus"))?;
        self.repeat.map_or(Ok(()), |n| within(n, &bounds::REPEAT)).map_err(of("repeat"))?;
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
            hz: self.hz.or(base.hz),
            cpus: self.cpus.or(base.cpus),
            governor: self.governor.clone().or_else(|| base.governor.clone()),
            cpufreq: self.cpufreq.clone().or_else(|| base.cpufreq.clone()),
            signal: self.signal.clone().or_else(|| base.signal.clone()),
            workload: kind.workload.clone(),
            json: kind.json.clone(),
            compute: kind.compute,
            seconds: self.seconds.or(base.seconds),
            seed: self.seed.or(base.seed),
            repeat: self.repeat.or(base.repeat),
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

    /// Whether a cell was fitted, so that it is no prediction.
    #[must_use]
    pub fn is_fitted(&self, row: &Row, column: &Column) -> bool {
        self.fit.as_ref().is_some_and(|f| f.column == column.name && f.rows.contains(&row.name))
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format {}: this idlewise reads format {FORMAT}", self.format));
        }
        self.setup.check()?;
        for (name, value) in &self.parameters {
            finite(&format!("parameter {name}"), *value)?;
        }
        let columns = unique("column", self.column.iter().map(|c| c.name.as_str()))?;
        let rows = unique("row", self.row.iter().map(|r| r.name.as_str()))?;
        if self.column.iter().filter(|c| c.baseline).count() > 1 {
            return Err("more than one column is the baseline".to_owned());
        }
        for c in &self.column {
            if c.setup.workload.is_some() || c.setup.json.is_some() {
                return Err(format!("column {}: the workload is the same for all columns", c.name));
            }
            c.setup.check().map_err(|why| format!("column {}: {why}", c.name))?;
        }
        for row in &self.row {
            self.check_row(row, &columns).map_err(|why| format!("row {}: {why}", row.name))?;
        }
        self.fit.as_ref().map_or(Ok(()), |fit| self.check_fit(fit, &rows))
    }

    fn check_row(&self, row: &Row, columns: &BTreeSet<&str>) -> Result<(), String> {
        for name in row.published.keys().chain(&row.percent_of).chain(&row.less) {
            if !columns.contains(name.as_str()) {
                return Err(format!("there is no column {name}"));
            }
        }
        for (name, published) in &row.published {
            let (from, to) = published.ends();
            if !(from.is_finite() && to.is_finite() && from <= to) {
                return Err(format!("{name}: a range is two numbers, the smaller one first"));
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
        for value in [&row.factor, &row.offset] {
            finite("factor and offset", self.value(value, row)?)?;
        }
        for (name, value) in &row.parameters {
            finite(&format!("parameter {name}"), *value)?;
        }
        let largest = match row.compare {
            Compare::Value => LARGEST_TOLERANCE,
            Compare::Change => LARGEST_PCT,
        };
        for (name, value, most) in [
            ("tolerance_pct", row.tolerance_pct, LARGEST_PCT),
            ("tolerance", row.tolerance, largest),
            ("noise_pct", row.noise_pct, LARGEST_PCT),
        ] {
            if !(0.0..=most).contains(&value) {
                return Err(format!("{name} = {value}; expected 0 to {most}"));
            }
        }
        row.setup.check()
    }

    fn check_fit(&self, fit: &Fit, rows: &BTreeSet<&str>) -> Result<(), String> {
        let baseline = self.baseline().filter(|b| b.name == fit.column);
        let Some(baseline) = baseline else {
            return Err(format!(
                "fit: column {} is not the baseline, and nothing else may be fitted to",
                fit.column
            ));
        };
        for name in &fit.rows {
            let published =
                self.row.iter().any(|r| r.name == *name && r.published.contains_key(&baseline.name));
            if !rows.contains(name.as_str()) || !published {
                return Err(format!("fit: there is no published number in row {name} of {}", baseline.name));
            }
        }
        for p in &fit.parameter {
            if !self.parameters.contains_key(&p.name) {
                return Err(format!("fit: parameter {} is not in [parameters]", p.name));
            }
            let [from, to] = p.range;
            if !(from.is_finite() && to.is_finite() && from < to && p.step > 0.0 && p.step.is_finite()) {
                return Err(format!("fit: parameter {}: range is FROM < TO, step above 0", p.name));
            }
        }
        Ok(())
    }

    /// The text of the governor that a set-up names, if it may be run.
    ///
    /// # Errors
    /// Where it is a C file that the user does not name.
    pub(super) fn governor(&self, name: &RecordedName) -> Result<String, ExperimentError> {
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
    pub(super) fn check_governors(&self) -> Result<Vec<PathBuf>, ExperimentError> {
        let parts = self.row.iter().map(|r| &r.setup).chain(self.column.iter().map(|c| &c.setup));
        let all = std::iter::once(&self.setup).chain(parts);
        let sources = all.filter_map(|s| s.governor.as_ref()).map(|name| self.source(name));
        let file = |source| match source {
            Ok(GovernorSource::File(file)) => Some(Ok(PathBuf::from(&file.spec().id))),
            Ok(GovernorSource::Shipped(_)) => None,
            Err(why) => Some(Err(why)),
        };
        sources.filter_map(file).collect()
    }

    /// A value of a row.
    ///
    /// # Errors
    /// Where it names no parameter.
    pub(super) fn value(&self, value: &Value, row: &Row) -> Result<f64, String> {
        match value {
            Value::Number(x) => Ok(*x),
            Value::Parameter(text) => {
                let name =
                    text.strip_prefix('$').ok_or_else(|| format!("`{text}`: expected a number or $NAME"))?;
                let own = row.parameters.get(name).or_else(|| self.parameters.get(name));
                own.copied().ok_or_else(|| format!("parameter {name} is not in [parameters]"))
            }
        }
    }

    /// A workload's text with its parameters in place.
    ///
    /// # Errors
    /// Where it names one that is not there.
    pub(super) fn fill(&self, text: &str, row: &Row) -> Result<String, String> {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            out += before;
            out += &self.value(&Value::Parameter(format!("${name}")), row)?.to_string();
            rest = behind;
        }
        out += rest;
        Ok(out)
    }
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
    if !path.exists() && !name_or_path.contains('/') && path.extension().is_none() {
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
