// SPDX-License-Identifier: GPL-2.0-only
//! Runs what is not kept yet: each recording is read once for all settings, a few recordings at a time, on all cores.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use idlewise_collect::{RecordingFile, recording_files};
use idlewise_recording::CommandError;
use rayon::prelude::*;

use crate::case::{Case, MachineFiles, OpenCase, Unopened};
use crate::design::{BOUND, Design};
use crate::facts::CaseFacts;
use crate::key::Key;
use crate::known::{KnownCase, KnownContent};
use crate::numbers::Outcome;
use crate::report::CaseLeftOut;
use crate::request::SweepRequest;
use crate::simulated::Simulated;
use crate::space::Variant;
use crate::store::{Kept, Store};

/// Hears of what is done: what, how much of how much.
pub type SweepProgress<'p> = &'p (dyn Fn(&str, usize, usize) + Sync);

/// A part of a sweep: number `i` of `n`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub i: u64,
    pub n: u64,
}

/// Where results are kept, and which part of them is computed.
#[derive(Clone, Debug, Default)]
pub struct Keeping {
    /// The folder; results are in memory only where nothing is given.
    pub to: Option<PathBuf>,
    /// The part; all of it where nothing is given.
    pub shard: Option<Shard>,
    /// Run nothing but what tells how long it would take.
    pub dry_run: bool,
}

/// A sweep with everything found, and what is known of it.
pub(crate) struct Sweep {
    pub(crate) design: Design,
    pub(crate) cases: Vec<Case>,
    pub(crate) left_out: Vec<CaseLeftOut>,
    /// Cases that could not be run.
    pub(crate) lost: BTreeSet<Key>,
    pub(crate) kept: Kept,
    store: Option<Store>,
}

/// A recording on a machine, or why it is none.
type Found = (RecordingFile, Result<Case, String>);

/// A setting of a case that is still to run.
pub(crate) struct Todo {
    /// Number of the case.
    pub(crate) case: usize,
    /// Number of the setting.
    setting: u64,
}

impl Sweep {
    /// Finds governors and recordings, checks all values, and reads what is kept.
    ///
    /// # Errors
    /// [`CommandError`] with what cannot be found, read or used.
    pub(crate) fn of(
        request: &SweepRequest,
        to: Option<&Path>,
        progress: SweepProgress<'_>,
    ) -> Result<Self, CommandError> {
        let design = Design::of(request)?;
        let found = recordings(request, progress)?;
        Self::of_found(found, Simulated::all_of(request)?, design, to)
    }

    /// Of recordings that were read elsewhere, and what was computed there.
    ///
    /// # Errors
    /// As [`Sweep::of`], and where results are not there.
    pub(crate) fn known(
        request: &SweepRequest,
        to: Option<&Path>,
        known: &[KnownCase],
    ) -> Result<Self, CommandError> {
        let setup = request.setup();
        let found = known.iter().map(|known| {
            let found = match &known.content {
                KnownContent::Refused(why) => Err(why.clone()),
                KnownContent::Key(key) => {
                    Ok(Case::known(&known.file, known.platform.as_ref(), setup.clone(), *key))
                }
            };
            (known.file.clone(), found)
        });
        let mut sweep = Self::of_found(found.collect(), Vec::new(), Design::of(request)?, to)?;
        for known in known {
            let (KnownContent::Key(key), Some(why)) = (&known.content, &known.lost) else { continue };
            if sweep.lost.insert(*key) {
                let (name, named) = (known.file.name.clone(), known.file.by_user);
                sweep.left_out.push(CaseLeftOut { name, why: why.clone(), named, lost: false });
            }
        }
        let missing = |todo: &Todo| !sweep.lost.contains(&sweep.cases[todo.case].key);
        match sweep.todo(None)?.into_iter().find(missing) {
            Some(todo) => {
                let why = "its results are no longer in the folder that keeps them; sweep once more";
                Err(sweep.cases[todo.case].error(why))
            }
            None => Ok(sweep),
        }
    }

    fn of_found(
        found: Vec<Found>,
        simulated: Vec<Simulated>,
        design: Design,
        to: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let (mut cases, mut left_out) = (Vec::<Case>::new(), Vec::new());
        let mut first: BTreeMap<Key, usize> = BTreeMap::new();
        for (file, found) in found {
            match found {
                Ok(case) => match first.get(&case.key) {
                    Some(same) => {
                        let same = &cases[*same].name;
                        let why = format!("the same recording as {same}, which would count twice");
                        left_out.push(CaseLeftOut {
                            name: file.name.clone(),
                            why,
                            named: false,
                            lost: false,
                        });
                    }
                    None => {
                        first.insert(case.key, cases.len());
                        cases.push(case);
                    }
                },
                Err(why) => {
                    left_out.push(CaseLeftOut { name: file.name.clone(), why, named: false, lost: false })
                }
            }
        }
        cases.extend(simulated.into_iter().map(Case::simulated));
        let keys: BTreeSet<Key> = cases.iter().map(|case| case.key).collect();
        let (store, kept) = match to {
            Some(folder) => {
                let (store, kept) = Store::open(folder, &keys)?;
                (Some(store), kept)
            }
            None => (None, Kept::default()),
        };
        Ok(Self { design, cases, left_out, lost: BTreeSet::new(), kept, store })
    }

    /// Warnings about damaged lines of what is kept.
    pub(crate) fn damaged(&self) -> &[String] {
        self.store.as_ref().map_or(&[], |store| &store.damaged)
    }

    /// What is still to run of `shard`, case by case.
    pub(crate) fn todo(&self, shard: Option<Shard>) -> Result<Vec<Todo>, CommandError> {
        let all = self.design.len();
        let mut todo = Vec::new();
        for (case, known) in self.cases.iter().enumerate() {
            let part = part(shard, case as u64, self.cases.len() as u64, all);
            for setting in part.filter(|n| known.has_bound() || *n != BOUND) {
                // Of what nothing is kept, all is to do.
                let is_kept = !self.kept.outcomes.is_empty() && {
                    let key = (known.key, self.design.variant(setting)?.key);
                    self.kept.outcomes.contains_key(&key)
                };
                if !is_kept {
                    todo.push(Todo { case, setting });
                }
            }
        }
        Ok(todo)
    }

    /// How many runs `shard` has of each case.
    pub(crate) fn runs(&self, shard: Option<Shard>) -> Vec<u64> {
        let (all, cases) = (self.design.len(), self.cases.len() as u64);
        let all_of = |(case, known): (u64, &Case)| {
            let part = part(shard, case, cases, all);
            part.end - part.start - u64::from(!known.has_bound() && part.contains(&BOUND))
        };
        (0..).zip(&self.cases).map(all_of).collect()
    }

    /// Runs `todo` of `shard`.
    ///
    /// # Errors
    /// [`CommandError`] where a result cannot be kept, or a governor cannot be run at all. A recording that cannot be read is left out.
    pub(crate) fn run(
        &mut self,
        todo: Vec<Todo>,
        shard: Option<Shard>,
        progress: SweepProgress<'_>,
    ) -> Result<(), CommandError> {
        let (done, of) = (AtomicUsize::new(0), todo.len());
        let lacking = |case: usize| !self.kept.facts.contains_key(&self.cases[case].key);
        let mut by_case: Vec<(usize, Vec<Todo>)> = Vec::new();
        for one in todo {
            match by_case.last_mut().filter(|(case, _)| *case == one.case) {
                Some((_, own)) => own.push(one),
                None => by_case.push((one.case, vec![one])),
            }
        }
        let wanted = by_case.iter().map(|(case, _)| *case).collect::<BTreeSet<_>>();
        let without = (0..self.cases.len()).filter(|&case| shard.is_none() && lacking(case));
        by_case.extend(without.filter(|case| !wanted.contains(case)).map(|case| (case, Vec::new())));
        // So many recordings are in memory at a time, or the blocks of them that are read.
        for group in by_case.chunks(rayon::current_num_threads()) {
            progress("replaying", done.load(Ordering::Relaxed), of);
            let opened = group.par_iter().map(|(case, _)| self.open(*case));
            let opened = opened.collect::<Result<Vec<_>, CommandError>>()?;
            let mut open = Vec::new();
            for ((case, todo), opened) in group.iter().zip(opened) {
                match opened {
                    Ok((opened, facts)) => {
                        self.kept.facts.insert(self.cases[*case].key, facts);
                        open.push((opened, todo));
                    }
                    Err(e) => {
                        let case = &self.cases[*case];
                        let (name, why) = (case.name.clone(), e.why);
                        self.left_out.push(CaseLeftOut { name, why, named: case.by_user, lost: e.lost });
                        self.lost.insert(case.key);
                    }
                }
            }
            let jobs: Vec<(&OpenCase, &Todo)> =
                open.iter().flat_map(|(open, todo)| todo.iter().map(move |one| (open, one))).collect();
            let this = &*self;
            let outcomes: Vec<((Key, Key), Outcome)> = jobs
                .par_iter()
                .map(|(open, one)| {
                    progress("replaying", done.load(Ordering::Relaxed), of);
                    let result = this.run_one(open, one)?;
                    progress("replaying", done.fetch_add(1, Ordering::Relaxed) + 1, of);
                    Ok(result)
                })
                .collect::<Result<_, CommandError>>()?;
            self.kept.outcomes.extend(outcomes);
        }
        Ok(())
    }

    /// Opens a case, with what has to be known of it; or why it is left out.
    ///
    /// # Errors
    /// [`CommandError`] where what is known of it cannot be kept.
    fn open(&self, case: usize) -> Result<Result<(OpenCase, CaseFacts), Unopened>, CommandError> {
        let case = &self.cases[case];
        let kept = self.kept.facts.get(&case.key);
        let facts = |open: &OpenCase| kept.map_or_else(|| open.facts(), |facts| Ok(facts.clone()));
        let opened = case.open_unchanged(facts);
        if let (Some(store), None, Ok((_, facts))) = (&self.store, kept, &opened) {
            store.keep_facts(case.key, facts)?;
        }
        Ok(opened)
    }

    fn run_one(&self, open: &OpenCase, one: &Todo) -> Result<((Key, Key), Outcome), CommandError> {
        let variant = self.design.variant(one.setting)?;
        let outcome = open.outcome(&variant)?;
        let case = self.cases[one.case].key;
        self.store.as_ref().map_or(Ok(()), |store| store.keep_outcome(case, variant.key, &outcome))?;
        Ok(((case, variant.key), outcome))
    }

    /// What came of a setting on a case, where it ran.
    pub(crate) fn outcome(&self, case: &Case, variant: &Variant) -> Option<&Outcome> {
        self.kept.outcomes.get(&(case.key, variant.key))
    }
}

/// Which of `all` settings of case number `case` of `cases` belong to `shard`: its part of all settings of all cases in a row, so that
/// it reads few recordings.
fn part(shard: Option<Shard>, case: u64, cases: u64, all: u64) -> Range<u64> {
    let Some(Shard { i, n }) = shard else { return 0..all };
    let total = u128::from(cases) * u128::from(all);
    let end = |i: u64| total * u128::from(i) / u128::from(n);
    let begins = u128::from(case) * u128::from(all);
    let within = |at: u128| u64::try_from(at.saturating_sub(begins).min(u128::from(all))).unwrap_or(all);
    within(end(i - 1))..within(end(i))
}

/// The recordings of `request`, each on each machine.
fn recordings(request: &SweepRequest, progress: SweepProgress<'_>) -> Result<Vec<Found>, CommandError> {
    if request.recordings.is_empty() {
        return Ok(Vec::new());
    }
    let files = recording_files(&request.recordings)?;
    let setup = request.setup();
    let platforms: Vec<Option<&String>> = match request.platforms.as_slice() {
        [] => vec![None],
        all => all.iter().map(Some).collect(),
    };
    let done = AtomicUsize::new(0);
    let all: Vec<_> = files.iter().flat_map(|file| platforms.iter().map(move |p| (file, *p))).collect();
    let found: Vec<_> = all
        .par_iter()
        .map(|(file, platform)| {
            progress("reading", done.fetch_add(1, Ordering::Relaxed), all.len());
            match &file.refused {
                Some(why) => Err(CommandError::input(&file.path, why)),
                None => Case::new(file, *platform, &setup, &MachineFiles::new()),
            }
        })
        .collect();
    let mut shown = Vec::new();
    for ((file, _), found) in all.into_iter().zip(found) {
        match found {
            Err(e) if file.by_user => return Err(e),
            found => shown.push((file.clone(), found.map_err(|e| e.to_string()))),
        }
    }
    Ok(shown)
}
