// SPDX-License-Identifier: GPL-2.0-only
//! A sweep whose parts are computed elsewhere: what is sent there, what is still to do, and what came back.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::ops::Range;
use std::path::{Path, PathBuf};

use idlewise_recording::CommandError;

use crate::design::Design;
use crate::key::Key;
use crate::order::{Order, SentCode};
use crate::request::SweepRequest;
use crate::store::{Entry, Store, append, parsed};

/// A sweep whose parts are computed elsewhere.
pub struct Parts {
    request: SweepRequest,
    design: Design,
    /// The settings that a result is of: more than one where two are the same.
    settings: BTreeMap<Key, Vec<u64>>,
    store: Store,
    /// What is there of each case.
    kept: BTreeMap<Key, KeptCase>,
    /// The file of each who computes.
    files: BTreeMap<String, PathBuf>,
}

/// What is kept of a case.
struct KeptCase {
    facts: bool,
    /// Whether each setting is.
    outcomes: Vec<bool>,
}

/// What is still to do of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseTodo {
    /// What has to be known of it besides its numbers.
    pub facts: bool,
    pub settings: Vec<Range<u64>>,
}

impl Parts {
    /// Checks all governors and values, and reads what is kept in `to`.
    ///
    /// # Errors
    /// [`CommandError`] with what cannot be found, read or used.
    pub(crate) fn of(request: &SweepRequest, to: &Path) -> Result<Self, CommandError> {
        if let Some(workload) = request.workloads.first() {
            let why = "workloads are simulated where the sweep is asked for; sweep them without a cluster";
            return Err(CommandError::argument("--workload", workload, why));
        }
        let design = Design::of(request)?;
        let variant_key = |n| design.variant(n).map(|variant| variant.key);
        let mut settings: BTreeMap<Key, Vec<u64>> = BTreeMap::new();
        for n in 0..design.len() {
            settings.entry(variant_key(n)?).or_default().push(n);
        }
        let mut kept = BTreeMap::new();
        let store =
            Store::open_with(to, |case, entry| mark(&mut kept, &settings, design.len(), case, &entry))?;
        Ok(Self { request: request.clone(), design, settings, store, kept, files: BTreeMap::new() })
    }

    #[must_use]
    pub fn request(&self) -> &SweepRequest {
        &self.request
    }

    /// What is to be computed, as JSON for [`crate::Workplace`].
    ///
    /// # Errors
    /// [`CommandError`] where a machine cannot be found or read.
    pub fn order(&self) -> Result<String, CommandError> {
        let order = Order::new(&self.request, &self.design)?;
        let Ok(text) = serde_json::to_string(&order) else { unreachable!("an order is made of texts") };
        Ok(text)
    }

    /// The compiled code of governors that do not ship with idlewise.
    ///
    /// # Errors
    /// [`CommandError`] where a governor has none.
    pub fn code(&self) -> Result<SentCode, CommandError> {
        let all = self.design.spaces.iter().chain([&self.design.compared_with]);
        let mut out = SentCode::new();
        for space in all.filter(|space| space.governor.is_foreign()) {
            let code = space.governor.to_carry().ok_or_else(|| {
                let why = "it cannot be sent: a cluster takes governors that ship with idlewise, C files and those of kernel trees";
                CommandError::argument("--governor", &space.name, why)
            })?;
            out.insert(format!("{:032x}", space.object), code);
        }
        Ok(out)
    }

    /// Settings, the baseline and the bound among them.
    #[must_use]
    pub fn settings(&self) -> u64 {
        self.design.len()
    }

    /// What setting number `n` is called.
    ///
    /// # Errors
    /// [`CommandError`] where it has no governor.
    pub fn setting(&self, n: u64) -> Result<String, CommandError> {
        Ok(self.design.variant(n)?.name().to_owned())
    }

    /// What is still to do of the case with the key `case`.
    ///
    /// # Errors
    /// A sentence where that is no key.
    pub fn todo(&self, case: &str) -> Result<CaseTodo, String> {
        let case: Key = case.parse()?;
        let all = self.design.len();
        let kept = self.kept.get(&case);
        let is_kept = |n: &u64| kept.is_some_and(|kept| kept.outcomes[*n as usize]);
        let mut settings: Vec<Range<u64>> = Vec::new();
        for n in (0..all).filter(|n| !is_kept(n)) {
            match settings.last_mut().filter(|last| last.end == n) {
                Some(last) => last.end += 1,
                None => settings.push(n..n + 1),
            }
        }
        Ok(CaseTodo { facts: !kept.is_some_and(|kept| kept.facts), settings })
    }

    /// Keeps `lines`, which `worker` computed of the case with the key `case`, in a file of its own. Gives that.
    ///
    /// # Errors
    /// [`CommandError`] where one is no result of that case, or they cannot be kept.
    pub fn keep(&mut self, case: &str, lines: &str, worker: &str) -> Result<PathBuf, CommandError> {
        let wrong =
            |why: String| CommandError::not_given("RECORDING", format!("{worker} sent no result ({why})"));
        let case: Key = case.parse().map_err(wrong)?;
        let mut entries = Vec::new();
        for line in lines.lines() {
            match parsed(line.as_bytes()).map_err(wrong)? {
                Some((of, entry)) if of == case => entries.push(entry),
                _ => return Err(wrong("it is of another recording".to_owned())),
            }
        }
        let path = match self.files.get(worker) {
            Some(path) => path.clone(),
            None => {
                let plain =
                    |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '-' };
                let path = self.store.file_of(&worker.chars().map(plain).collect::<String>())?;
                self.files.insert(worker.to_owned(), path.clone());
                path
            }
        };
        let written =
            OpenOptions::new().append(true).open(&path).and_then(|mut file| append(&mut file, lines));
        written.map_err(|e| CommandError::file(&path, e))?;
        for entry in entries {
            mark(&mut self.kept, &self.settings, self.design.len(), case, &entry);
        }
        Ok(path)
    }
}

/// Marks what `entry` is of as kept.
fn mark(
    kept: &mut BTreeMap<Key, KeptCase>,
    settings: &BTreeMap<Key, Vec<u64>>,
    all: u64,
    case: Key,
    entry: &Entry,
) {
    let none = || KeptCase { facts: false, outcomes: vec![false; all as usize] };
    match entry {
        Entry::Facts(_) => kept.entry(case).or_insert_with(none).facts = true,
        Entry::Outcome(variant, _) => {
            let Some(numbers) = settings.get(variant) else { return };
            let kept = kept.entry(case).or_insert_with(none);
            numbers.iter().for_each(|n| kept.outcomes[*n as usize] = true);
        }
    }
}
