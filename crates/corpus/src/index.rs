// SPDX-License-Identifier: GPL-2.0-only
//! The index of a corpus, as its file has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Component, PathBuf};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hash::is_sha256;
use crate::split::Split;

/// Version of the index; it changes when a key changes its meaning or goes away.
pub const SCHEMA: &str = "idlewise.corpus/1";

/// All recordings of a corpus, in order of their ids.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// [`SCHEMA`].
    pub schema: String,
    #[serde(default, rename = "recording", skip_serializing_if = "Vec::is_empty")]
    pub recordings: Vec<Entry>,
}

/// How much of a recording was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// A kernel ran on a machine, or in a guest, and was recorded: times, wakeups and choices are measured.
    Measured,
    /// A real kernel ran on an emulated machine with idle states of a platform file: its choices are real, times are the
    /// emulator's, states are a model.
    Emulated,
    /// A simulation: all of it is a model.
    Model,
}

/// One recording of the corpus, with all that is known of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name in the corpus: letters, digits, `-`, `_`, `.`.
    pub id: String,
    /// Its file, from the folder of the index. It may lie outside of it.
    pub file: PathBuf,
    /// SHA-256 of the file, 64 hex digits.
    pub sha256: String,
    /// Length of the file.
    pub bytes: u64,
    /// The machine whose CPUs and idle states it has: the id of a platform.
    pub machine: String,
    /// Release of the kernel that ran; nothing where none did or nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The kind of load.
    pub workload: String,
    /// Ticks per second; nothing where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hz: Option<u32>,
    /// The idle governor that chose the recorded states; nothing where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// How much of it was measured.
    pub basis: Basis,
    /// SPDX identifier of its licence, or `LicenseRef-` and a name.
    pub licence: String,
    /// Who made it, or where it was published.
    pub origin: String,
    /// The command that made it; empty where nobody said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub command: String,
    pub split: Split,
    /// From first to last event, ns.
    pub span_ns: u64,
    /// CPUs that can be used.
    pub cpus: u32,
    /// Idle periods of these.
    pub idle_periods: u64,
    /// How far results from it can be trusted: good, fair or poor.
    pub trust: String,
    /// What speaks against them, the worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// How many of the kernel's choices a replay of its governor repeats, %; nothing where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity_pct: Option<f64>,
    /// For each input the weakest grade of its values: recorded, derived, bounded, assumed.
    pub grades: BTreeMap<String, String>,
    /// What the kernel counted of each state while it was recorded, all CPUs together; empty where nobody kept it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<StateCount>,
}

/// The kernel's own counters of an idle state, from the start of a recording to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateCount {
    /// Names of the state; several where clusters name it differently.
    pub state: String,
    pub usage: u64,
    /// Time in the state, us.
    pub time_us: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<u64>,
}

impl Basis {
    /// In the order of how much is measured.
    pub const ALL: [Self; 3] = [Self::Measured, Self::Emulated, Self::Model];

    /// As the index has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::Emulated => "emulated",
            Self::Model => "model",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Basis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|basis| basis.name() == text)
            .ok_or_else(|| format!("{text:?}: expected one of {names}"))
    }
}

impl Default for Index {
    fn default() -> Self {
        Self { schema: SCHEMA.to_owned(), recordings: Vec::new() }
    }
}

impl Index {
    /// The same with these of its recordings.
    #[must_use]
    pub fn only(&self, entries: &[&Entry]) -> Self {
        Self { recordings: entries.iter().map(|e| (*e).clone()).collect(), ..self.clone() }
    }

    /// Reads the text of an index.
    ///
    /// # Errors
    /// Where in it, and what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let index: Self = toml::from_str(text).map_err(|e| format!("not an index of a corpus: {e}"))?;
        index.check()?;
        Ok(index)
    }

    /// Its text, the same for the same recordings.
    ///
    /// # Errors
    /// Where the TOML library refuses.
    pub fn to_text(&self) -> Result<String, String> {
        let text = toml::to_string(self).map_err(|e| e.to_string())?;
        Ok(format!("# SPDX-License-Identifier: GPL-2.0-only\n{text}"))
    }

    /// Puts `entry` in its place.
    ///
    /// # Errors
    /// As [`Index::parse`]: its id is taken, or its machine belongs to another part.
    pub fn insert(&mut self, entry: Entry) -> Result<(), String> {
        let mut index = self.clone();
        index.recordings.push(entry);
        index.recordings.sort_by(|a, b| a.id.cmp(&b.id));
        index.check()?;
        *self = index;
        Ok(())
    }

    /// The part that this corpus gives `machine`, by its recordings there are; else by its name.
    #[must_use]
    pub fn split_of(&self, machine: &str) -> Split {
        let known = self.recordings.iter().find(|e| e.machine == machine);
        known.map_or_else(|| Split::of_machine(machine), |e| e.split)
    }

    fn check(&self) -> Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema = {:?}; this program reads {SCHEMA:?}", self.schema));
        }
        let mut ids = BTreeSet::new();
        let mut hashes = BTreeMap::new();
        let mut periods = BTreeMap::new();
        let mut splits: BTreeMap<&str, (Split, &str)> = BTreeMap::new();
        for entry in &self.recordings {
            let id = &entry.id;
            let wrong = |why: String| Err(format!("recording {id:?}: {why}"));
            if let Err(why) = entry.check() {
                return wrong(why);
            }
            if !ids.insert(id) {
                return wrong("is there twice; give each its own id".to_owned());
            }
            if let Some(other) = hashes.insert(&entry.sha256, id) {
                return wrong(format!("is the same file as {other:?}, and would count twice: keep one"));
            }
            // Two recordings are not of the same length to the nanosecond.
            if let Some(other) = periods.insert((&entry.machine, entry.span_ns, entry.idle_periods), id) {
                return wrong(format!(
                    "is the same recording as {other:?} under another name ({} ns with {} idle periods of {}), and would \
                     count twice: keep one",
                    entry.span_ns, entry.idle_periods, entry.machine
                ));
            }
            let (split, first) = *splits.entry(&entry.machine).or_insert((entry.split, id));
            if split != entry.split {
                return wrong(format!(
                    "split = \"{}\", and {first:?} of the same machine, {}, is in {split}; a machine is in one part",
                    entry.split, entry.machine
                ));
            }
        }
        Ok(())
    }
}

impl Entry {
    fn check(&self) -> Result<(), String> {
        check_id(&self.id)?;
        if self.file.as_os_str().is_empty() || self.file.is_absolute() {
            return Err(format!("file = {:?}; expected a path from the index's folder", self.file));
        }
        if !is_sha256(&self.sha256) {
            return Err(format!(
                "sha256 = {:?}; expected 64 hex digits, as sha256sum prints them",
                self.sha256
            ));
        }
        for (key, value) in
            [("machine", &self.machine), ("workload", &self.workload), ("licence", &self.licence)]
        {
            if value.trim().is_empty() {
                return Err(format!("{key} is empty"));
            }
        }
        if !self.licence.chars().all(|c| c.is_ascii_alphanumeric() || "-.+() ".contains(c)) {
            return Err(format!(
                "licence = {:?}; expected an SPDX identifier or expression (GPL-2.0-only), or LicenseRef- and a name",
                self.licence
            ));
        }
        Ok(())
    }

    /// Whether its file lies in the folder of the index or below.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        self.file.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    }
}

/// Whether `id` can name a recording.
///
/// # Errors
/// What was expected.
pub(crate) fn check_id(id: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if id.is_empty() || id.starts_with(['.', '-']) || id.len() > 120 || !id.chars().all(plain) {
        return Err(format!(
            "{id:?} cannot name a recording; expected letters, digits, -, _ and ., 120 at most, the first a letter or digit"
        ));
    }
    Ok(())
}
