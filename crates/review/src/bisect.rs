// SPDX-License-Identifier: GPL-2.0-only
//! Which commit, or which version of ours, moved a number: `idlewise bisect`.

use std::path::PathBuf;

use idlewise_governor::{Instance, Spec};
use idlewise_recording::CommandError;
use idlewise_replay::SleepLengths;
use idlewise_score::Measure;
use idlewise_score::measure::DIFFER;
use idlewise_study::compare::Measured;
use idlewise_study::condition::{Condition, measures, vocabulary};
use schemars::JsonSchema;
use serde::Serialize;

use crate::conditions::met;
use crate::effect::{Effect, Shown};
use crate::git::{Commit, Repository};
use crate::patch::{Problem, ProblemKind};
use crate::recordings;
use crate::report::{Against, Evidence};
use crate::results::{Results, replayed};
use crate::runs;
use crate::snapshot::Snapshot;
use crate::versions::{Lineage, Of};

/// Name and version of the result's form.
pub const BISECT_SCHEMA: &str = "idlewise.bisect/1";

/// Versions that ship with idlewise, in the order in which kernels, or postings, had them. docs/governors has each one's lineage.
const LINEAGES: [&[&str]; 2] = [
    &["teo-5.6", "teo-6.1", "teo-util", "teo-6.6", "teo-fixed", "teo-6.12", "teo"],
    &["menu-6.1", "menu-6.12", "menu"],
];

/// The switches of `teo-fixed`, one for each of its patches, in the order of the posting.
const PATCHES: [&str; 6] = [
    "higher_util_threshold",
    "keep_tick_utilised",
    "stop_tick_one_state",
    "tick_margin",
    "no_recent_intercepts",
    "no_fake_intercepts",
];

/// Two versions, and the condition that the later one meets.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct BisectRequest {
    /// The earlier version: a revision of the kernel tree, or a governor that ships with idlewise.
    pub good: String,
    pub bad: String,
    /// A git repository of a kernel; versions that ship with idlewise where nothing is given.
    #[serde(serialize_with = "idlewise_recording::json_paths::option")]
    #[schemars(with = "Option<PathBuf>")]
    pub kernel_tree: Option<PathBuf>,
    /// The governor in the tree; that which the commits change where nothing is given.
    pub governor: Option<String>,
    /// Traces, tapes, and folders of them.
    #[serde(serialize_with = "idlewise_recording::json_paths::paths")]
    #[schemars(with = "Vec<PathBuf>")]
    pub recordings: Vec<PathBuf>,
    /// The machine to replay on; that of each recording where nothing is given.
    pub platform: Option<String>,
    /// The machine that was recorded, of recordings that do not say it.
    pub recorded_on: Option<String>,
    /// What the bad version meets and the good one does not: `METRIC OP VALUE`.
    pub fail_if: String,
    pub seed: u64,
}

/// A number from one version to the next.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BisectReport {
    /// [`BISECT_SCHEMA`].
    pub schema: String,
    pub version: String,
    pub request: BisectRequest,
    /// Its name in the tree: `teo`.
    pub governor: String,
    #[serde(flatten)]
    pub on: Evidence,
    /// The good version, then each later one with other code.
    pub steps: Vec<BisectStep>,
    /// Commits between the two that do not change this governor's code.
    pub without_change: usize,
    /// The number of the first step from which on the condition holds to the end; nothing where the last does not meet it.
    pub culprit: Option<usize>,
    /// The condition holds from the culprit on, and at no step before it.
    pub monotone: bool,
    /// Versions before the culprit that cannot be judged: one of them may have moved the number.
    pub suspects: Vec<String>,
    /// The same with other sleep lengths; nothing where the recordings tell all of them for certain.
    pub open_sleep_lengths: Option<OpenSleepLengths>,
}

/// What comes out with other sleep lengths, where recordings do not tell them for certain.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OpenSleepLengths {
    /// Wake events whose sleep length is not certain, % of all.
    pub unsure_pct: f64,
    /// With the least and the most that the recordings allow.
    pub bounds: Vec<BoundResult>,
}

/// What comes out with one choice of sleep lengths.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BoundResult {
    #[schemars(with = "String")]
    pub sleep_lengths: SleepLengths,
    /// The name of the version that is found.
    pub culprit: Option<String>,
    /// The step of the report's culprit.
    pub effect: Option<Effect>,
}

/// A version on the way.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BisectStep {
    /// The commit, or the governor's id.
    pub name: String,
    pub subject: String,
    /// Why it is not judged.
    pub problem: Option<Problem>,
    /// The condition; nothing where it was not judged.
    pub measured: Option<Measured>,
    /// The condition's metric against the version before it.
    pub effect: Option<Effect>,
    /// Recordings in which any decision differs from the version before it, not the first before a wake event alone.
    pub differing: Option<usize>,
}

/// A version to look at.
struct Candidate {
    name: String,
    subject: String,
}

/// Finds the version that moved a number. Every version with other code is replayed: that is cheap, and shows the way. `progress`
/// hears what is being done, and how much of it is.
///
/// # Errors
/// [`CommandError`] when a version, the repository or a recording cannot be read, the condition cannot be understood, or the good
/// version meets it, too.
pub fn bisect(
    request: &BisectRequest,
    progress: &(dyn Fn(&str, usize, usize) + Sync),
) -> Result<BisectReport, CommandError> {
    let condition = Condition::read(&request.fail_if, &vocabulary())?;
    let Some(measure) = measures().nth(condition.metric()) else {
        unreachable!("a condition is about a measure that there is")
    };
    let files = recordings::named(&request.recordings)?;
    progress("compiling", 0, 1);
    let (lineage, candidates) = match &request.kernel_tree {
        Some(_) => of_commits(request)?,
        None => of_ours(request)?,
    };
    let setup = runs::setup(request.platform.as_ref(), request.recorded_on.as_ref(), request.seed);
    let way = |lengths| {
        let (runs, left_out) = replayed(&files, &setup, lengths, std::slice::from_ref(&lineage), progress)?;
        let results = Results(&runs);
        let mut report = BisectReport {
            schema: BISECT_SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            request: request.clone(),
            governor: lineage.name.clone(),
            on: results.evidence(left_out),
            steps: Vec::new(),
            without_change: 0,
            culprit: None,
            monotone: true,
            suspects: Vec::new(),
            open_sleep_lengths: None,
        };
        for (row, candidate) in candidates.iter().enumerate() {
            match step(results, &lineage, row, candidate, &condition, measure) {
                Some(step) => report.steps.push(step),
                None => report.without_change += 1,
            }
        }
        report.find();
        Ok::<_, CommandError>((report, results.unsure_pct()))
    };
    let (mut report, unsure_pct) = way(SleepLengths::Taped)?;
    report.check_good()?;
    if unsure_pct > 0.0 {
        let bound = |lengths| {
            let (other, _) = way(lengths)?;
            let step = report.culprit.and_then(|at| other.steps.get(at));
            Ok(BoundResult {
                sleep_lengths: lengths,
                culprit: other.culprit.map(|at| other.steps[at].name.clone()),
                effect: step.and_then(|step| step.effect.clone()),
            })
        };
        let bounds = SleepLengths::BOUNDS.into_iter().map(bound).collect::<Result<_, CommandError>>()?;
        report.open_sleep_lengths = Some(OpenSleepLengths { unsure_pct, bounds });
    }
    Ok(report)
}

/// The version of a row against the good one and the one above it; nothing where it has the code of the one above.
fn step(
    results: Results<'_>,
    lineage: &Lineage,
    row: usize,
    candidate: &Candidate,
    condition: &Condition,
    measure: &'static Measure,
) -> Option<BisectStep> {
    let usable = |version| results.is_usable(0, version);
    let above = lineage.row_above(row, &usable);
    let same = row > 0 && above.is_some() && lineage.version(row) == above.and_then(|a| lineage.version(a));
    if same {
        return None;
    }
    let mut step = BisectStep {
        name: candidate.name.clone(),
        subject: candidate.subject.clone(),
        problem: None,
        measured: None,
        effect: None,
        differing: None,
    };
    match &lineage.rows[row] {
        Of::Problem(problem, _) => step.problem = Some(problem.clone()),
        Of::Version(version) => {
            step.problem = results.misbehaviour(0, *version, None);
            let pair = |other: Option<usize>| {
                let of = lineage.version(other?).filter(|_| usable(*version))?;
                results.against(0, String::new(), (of, *version))
            };
            let good: Option<Against> = pair(lineage.base_row(&usable).filter(|base| *base == 0));
            step.measured = good.map(|a| met(condition, &step.name, measure, &a));
            let before = pair(above);
            step.differing = before.as_ref().map(|a| a.differing);
            step.effect = before.map(|a| results.effect(measure, &a));
        }
    }
    Some(step)
}

/// Versions that ship with idlewise, from the good to the bad.
fn of_ours(request: &BisectRequest) -> Result<(Lineage, Vec<Candidate>), CommandError> {
    let [good, bad] = [&request.good, &request.bad];
    let place = |ids: &[&str], id: &String| ids.iter().position(|i| i == id);
    let found = LINEAGES.iter().find_map(|ids| Some((*ids, place(ids, good)?, place(ids, bad)?)));
    let all: Vec<String> = LINEAGES.iter().map(|ids| ids.join(", ")).collect();
    let known = all.join("; or of ");
    match found {
        Some((ids, from, to)) if from < to => {
            let ids = &ids[from..=to];
            let name = ids.last().map_or("", |id| id.split('-').next().unwrap_or(id));
            let mut versions: Vec<(Candidate, Spec)> = Vec::new();
            for id in ids {
                // All of its patches are the last of these.
                if *id == "teo-fixed" && !versions.is_empty() {
                    versions.extend(patches(id)?);
                } else {
                    versions.push((
                        Candidate { name: (*id).to_owned(), subject: summary(id).to_owned() },
                        Spec::new(id),
                    ));
                }
            }
            let (candidates, specs): (Vec<Candidate>, Vec<Spec>) = versions.into_iter().unzip();
            Ok((Lineage::of_ours(name, &specs)?, candidates))
        }
        Some(_) => {
            let why = format!("{bad} is not later than {good}; the order is {known}");
            Err(CommandError::argument("BAD", bad, why))
        }
        None => {
            let why = format!(
                "{good} and {bad} are no two versions of one lineage of {known}; commits of a kernel need --kernel-tree FOLDER"
            );
            Err(CommandError::conflict(&["GOOD", "BAD"], why))
        }
    }
}

fn summary(id: &str) -> &'static str {
    idlewise_governor::catalog().iter().find(|g| g.id == id).map_or("", |g| g.summary)
}

/// `id` after each of its [`PATCHES`], with those before it.
fn patches(id: &str) -> Result<Vec<(Candidate, Spec)>, CommandError> {
    // Names and words do not depend on the tick.
    let switches = Instance::load(&Spec::new(id), 1_000_000)?.params();
    let version = |n: usize| {
        let of = |name: &str| switches.iter().find(|s| s.name == name).map_or("", |s| s.description.as_str());
        let off = PATCHES[n..].iter().map(|name| ((*name).to_owned(), "0".to_owned()));
        let name = if n == PATCHES.len() { id.to_owned() } else { format!("{id} {n}/{}", PATCHES.len()) };
        (
            Candidate { name, subject: of(PATCHES[n - 1]).to_owned() },
            Spec { id: id.to_owned(), params: off.collect() },
        )
    };
    Ok((1..=PATCHES.len()).map(version).collect())
}

/// The commits of a kernel's repository, from the good to the bad.
fn of_commits(request: &BisectRequest) -> Result<(Lineage, Vec<Candidate>), CommandError> {
    let Some(folder) = &request.kernel_tree else { unreachable!("asked only with a tree") };
    let repository = Repository::open(folder)?;
    let (good, bad) = (repository.commit(&request.good)?, repository.commit(&request.bad)?);
    let (between, _) = repository.between(&good, &bad)?;
    if between.is_empty() {
        let why = format!(
            "no commit after {} up to {} changes a governor; is GOOD the older one?",
            request.good, request.bad
        );
        return Err(CommandError::conflict(&["GOOD", "BAD"], why));
    }
    let commits: Vec<Commit> = std::iter::once(good).chain(between).collect();
    let trees: Vec<Snapshot> =
        commits.iter().map(|commit| repository.snapshot(commit)).collect::<Result<_, _>>()?;
    let name = governor(request, &trees)?;
    let rows = commits.iter().map(|c| c.short().to_owned()).zip(&trees);
    let lineage = Lineage::of(&name, rows)?;
    if let Of::Problem(problem, _) = &lineage.rows[0] {
        return Err(CommandError::conflict(&["GOOD"], problem.words(&request.good, &name)));
    }
    let candidate = |c: &Commit| Candidate { name: c.short().to_owned(), subject: c.subject.clone() };
    Ok((lineage, commits.iter().map(candidate).collect()))
}

/// The governor that is meant: the one that is asked for, or the only one that changes.
fn governor(request: &BisectRequest, trees: &[Snapshot]) -> Result<String, CommandError> {
    let changed: Vec<String> = trees.windows(2).flat_map(|pair| pair[1].changed_from(&pair[0])).collect();
    let mut names: Vec<String> = trees.iter().flat_map(|t| t.governors().map(str::to_owned)).collect();
    names.sort();
    names.dedup();
    if let Some(name) = &request.governor {
        if names.contains(name) {
            return Ok(name.clone());
        }
        let why = format!("the tree has no such governor; it has: {}", names.join(", "));
        return Err(CommandError::option("--governor", name, why));
    }
    names.retain(|name| changed.contains(&crate::snapshot::file_of(name)));
    match names.as_slice() {
        [one] => Ok(one.clone()),
        all => {
            let why = format!("the commits change {}: name one with --governor", all.join(", "));
            Err(CommandError::not_given("--governor", why))
        }
    }
}

impl BisectReport {
    /// An error where the good version meets the condition.
    fn check_good(&self) -> Result<(), CommandError> {
        let Some((step, measured)) = self.steps.first().and_then(|s| Some((s, s.measured.as_ref()?))) else {
            return Ok(());
        };
        if !measured.holds {
            return Ok(());
        }
        let (name, condition) = (&step.name, &self.request.fail_if);
        let why = format!("{name} meets {condition} itself ({}): there is nothing to find", measured.words);
        Err(CommandError::conflict(&["GOOD", "--fail-if"], why))
    }

    /// Finds the culprit among the steps.
    fn find(&mut self) {
        let holds: Vec<(usize, bool)> = self
            .steps
            .iter()
            .enumerate()
            .filter_map(|(i, s)| Some((i, s.measured.as_ref()?.holds)))
            .collect();
        if holds.last().is_none_or(|(_, holds)| !holds) {
            self.monotone = holds.iter().all(|(_, holds)| !holds);
            return;
        }
        let last_good = holds.iter().rposition(|(_, holds)| !holds);
        let Some((before, first)) = last_good.and_then(|at| Some((holds[at].0, holds.get(at + 1)?.0))) else {
            return;
        };
        self.culprit = Some(first);
        self.monotone = holds.iter().all(|(at, holds)| *at >= first || !holds);
        self.suspects = self.steps[before + 1..first].iter().map(|s| s.name.clone()).collect();
    }

    /// Which versions could not be judged, in a sentence; nothing where all could.
    #[must_use]
    pub fn not_judged(&self) -> Option<String> {
        let is = |s: &&BisectStep| s.problem.as_ref().is_some_and(|p| p.kind != ProblemKind::NotThere);
        let names: Vec<&str> = self.steps.iter().filter(is).map(|s| s.name.as_str()).collect();
        let why = || format!("not judged: {}; the result says why, and has all the rest", names.join(", "));
        (!names.is_empty()).then(why)
    }

    /// What sleep lengths that the recordings leave open can change, in words; nothing without a culprit, or where they tell all.
    #[must_use]
    pub fn open_lengths(&self) -> Option<String> {
        let (open, culprit) = (self.open_sleep_lengths.as_ref()?, &self.steps[self.culprit?].name);
        let bound = |b: &BoundResult| {
            let which = match b.sleep_lengths {
                SleepLengths::Least => "least",
                SleepLengths::Most => "most",
                SleepLengths::Taped => unreachable!("a bound is not what the tape has"),
            };
            let found = match &b.culprit {
                Some(name) if name == culprit => "the same version".to_owned(),
                Some(name) => name.clone(),
                None => "no version".to_owned(),
            };
            let step = b.effect.as_ref().and_then(|e| Some((e.mean?, e.unit)));
            let step = step.map_or_else(|| "?".to_owned(), |(mean, unit)| format!("{mean:+.1}{unit}"));
            format!("with the {which} that they allow {found} is found, and this step is {step}")
        };
        let bounds: Vec<String> = open.bounds.iter().map(bound).collect();
        Some(format!("{:.0} % of sleep lengths are not certain: {}", open.unsure_pct, bounds.join("; ")))
    }

    /// How sure it is that the culprit moved the number, in words; nothing without a culprit.
    #[must_use]
    pub fn confidence(&self) -> Option<String> {
        let effect = self.steps.get(self.culprit?)?.effect.as_ref()?;
        let machines = match self.on.machines {
            1 => "one machine".to_owned(),
            n => format!("{n} machines"),
        };
        Some(match (effect.shown, effect.interval) {
            (_, Some(_)) if effect.metric == DIFFER.name => {
                "sure: these choices differ, and replay has no chance in it".to_owned()
            }
            (Shown::Less | Shown::More, Some(i)) => {
                let (low, high, unit) = (i.low, i.high, effect.unit);
                format!(
                    "sure that it moves here: the 95 % interval of the step, over recordings of {machines}, is {low:+.2}{unit} to \
                     {high:+.2}{unit}; the condition itself is about the mean of these recordings"
                )
            }
            (_, Some(_)) => {
                format!(
                    "not sure: the recordings, of {machines}, do not agree: the 95 % interval of the step holds 0"
                )
            }
            (_, None) => format!(
                "true of these recordings; not known of others: they are of {machines}, and an interval needs 5"
            ),
        })
    }
}
