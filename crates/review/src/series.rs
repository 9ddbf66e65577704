// SPDX-License-Identifier: GPL-2.0-only
//! A patch series, wherever it comes from, and the trees that it makes of a base.

use std::path::{Path, PathBuf};

use idlewise_recording::CommandError;

use crate::base::Base;
use crate::git::Repository;
use crate::mails;
use crate::patch::{Problem, ProblemKind, apply_to};
use crate::snapshot::{LARGEST_TOGETHER, Snapshot, file_of, is_judged};

/// Patches in their order.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// The base, at the commit before the first where the series is a range.
    pub(crate) base: Base,
    pub(crate) commit: Option<String>,
    pub(crate) patches: Vec<Step>,
    /// What to know of it, in sentences.
    pub(crate) notes: Vec<String>,
}

/// A patch, and the tree after it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    pub(crate) commit: Option<String>,
    pub(crate) tree: Snapshot,
    /// Files that it changes and that are judged.
    pub(crate) judged: Vec<String>,
    /// Other files that it changes.
    pub(crate) others: Vec<String>,
    /// Why the tree is the one before it.
    pub(crate) problem: Option<Problem>,
}

/// Reads what `given` names: C files, a range of commits in the base's repository, or mails and files with patches.
///
/// C files stand for the one governor of `named`, or else for that of their name.
pub(crate) fn read(given: &[String], named: &[String], base: Base) -> Result<Series, CommandError> {
    let is_c = |text: &String| Path::new(text).extension().is_some_and(|e| e == "c");
    match given {
        [] => Err(CommandError::not_given("SERIES", "no series given")),
        [range] if range.contains("..") && !Path::new(range).exists() => of_range(range, base),
        all if all.iter().all(is_c) => of_files(all, named, base),
        all => of_mails(all, base),
    }
}

fn of_files(files: &[String], named: &[String], base: Base) -> Result<Series, CommandError> {
    let mut tree = base.tree.clone();
    let mut patches = Vec::new();
    let of_base: Vec<String> = base.tree.governors().map(str::to_owned).collect();
    let name_of = |file: &String| Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let is_known = |file: &String| name_of(file).is_some_and(|name| of_base.contains(&name));
    if named.is_empty() && of_base.len() > 1 && files.len() > 1 && !files.iter().any(is_known) {
        let why = format!(
            "none of these files is called like a governor of {} ({}); say with --governor of which one they are versions",
            base.name,
            of_base.join(", ")
        );
        return Err(CommandError::argument("SERIES", files.join(" "), why));
    }
    let only = if named.is_empty() { of_base } else { named.to_vec() };
    for file in files {
        let before = tree.clone();
        let inside = tree.add_file(Path::new(file))?;
        if let [only] = only.as_slice() {
            let place = file_of(only);
            if inside != place {
                let text = tree.get(&inside).unwrap_or_default().to_vec();
                tree.remove(&inside);
                tree.set(&place, text);
            }
        }
        let judged = tree.changed_from(&before);
        let step = Step {
            name: file.clone(),
            commit: None,
            tree: tree.clone(),
            judged,
            others: Vec::new(),
            problem: None,
        };
        patches.push(step);
    }
    Ok(Series { base, commit: None, patches, notes: Vec::new() })
}

fn of_range(range: &str, base: Base) -> Result<Series, CommandError> {
    let Some(folder) = &base.folder else {
        let why = format!(
            "{range} is a range of commits: --base must be the folder of a git repository, and is {}",
            base.name
        );
        return Err(CommandError::conflict(&["SERIES", "--base"], why));
    };
    if range.contains("...") {
        let why = "write A..B: the commits after A up to B";
        return Err(CommandError::argument("SERIES", range, why));
    }
    let (from, to) = range.split_once("..").unwrap_or((range, ""));
    let named = |name: &str| if name.is_empty() { "HEAD".to_owned() } else { name.to_owned() };
    let repository = Repository::open(folder)?;
    let (from, to) = (repository.commit(&named(from))?, repository.commit(&named(to))?);
    let (commits, untouching) = repository.between(&from, &to)?;
    if commits.is_empty() {
        let why = format!("none of its {untouching} commits changes a governor or what it includes");
        return Err(CommandError::argument("SERIES", range, why));
    }
    let before = repository.snapshot(&from)?;
    let mut notes = Vec::new();
    if untouching > 0 {
        notes.push(format!("{untouching} commits of the range change no governor and are left out"));
    }
    let mut patches: Vec<Step> = Vec::new();
    let mut size = before.size();
    for commit in commits {
        let changed = repository.changed(&commit)?;
        let (judged, others) = changed.into_iter().partition(|path| is_judged(path));
        let mut tree = repository.snapshot(&commit)?;
        tree.share_with(patches.last().map_or(&before, |last| &last.tree));
        size += tree.size();
        if size > LARGEST_TOGETHER {
            let why = format!("up to commit {} {}", commit.short(), too_large_together());
            return Err(CommandError::argument("SERIES", range, why));
        }
        let short = Some(commit.short().to_owned());
        patches.push(Step { name: commit.subject, commit: short, tree, judged, others, problem: None });
    }
    let name = before.version().unwrap_or_else(|| base.name.clone());
    let base = Base { name, tree: before, folder: base.folder };
    Ok(Series { base, commit: Some(from.short().to_owned()), patches, notes })
}

fn of_mails(given: &[String], base: Base) -> Result<Series, CommandError> {
    let paths: Vec<PathBuf> = given.iter().map(PathBuf::from).collect();
    let (mails, notes) = mails::series(&paths)?;
    let mut tree = base.tree.clone();
    let mut patches = Vec::new();
    let mut size = tree.size();
    for mail in mails {
        let mut after = tree.clone();
        let (applied, problem) = match apply_to(&mut after, &mail.text) {
            Ok(applied) if size + after.size() > LARGEST_TOGETHER => {
                let (kind, why) = (ProblemKind::DoesNotApply, format!("up to it {}", too_large_together()));
                (applied, Some(Problem { kind, file: None, line: None, why }))
            }
            Ok(applied) => {
                size += after.size();
                tree = after;
                (applied, None)
            }
            Err(mut problem) => {
                if problem.kind == ProblemKind::Malformed {
                    problem.file = Some(mail.file.clone());
                    match problem.line.map(|line| mail.line(line)) {
                        Some(Err(place)) => {
                            (problem.line, problem.why) = (None, format!("{place}: {}", problem.why));
                        }
                        line => problem.line = line.and_then(Result::ok),
                    }
                }
                (crate::patch::touched(&mail.text), Some(problem))
            }
        };
        patches.push(Step {
            name: mail.subject,
            commit: None,
            tree: tree.clone(),
            judged: applied.judged,
            others: applied.others,
            problem,
        });
    }
    Ok(Series { base, commit: None, patches, notes })
}

fn too_large_together() -> String {
    format!("the governors of all versions would have more than {} MiB together", LARGEST_TOGETHER >> 20)
}

impl Series {
    /// The trees of all rows: the base's, then that after each patch.
    pub(crate) fn trees(&self) -> impl Iterator<Item = &Snapshot> {
        std::iter::once(&self.base.tree).chain(self.patches.iter().map(|step| &step.tree))
    }

    /// The names of the governors of which some patch changes the file, or a header that it may include.
    pub(crate) fn governors(&self) -> Vec<String> {
        let all: Vec<&Snapshot> = self.trees().collect();
        let changed: Vec<String> = all.windows(2).flat_map(|pair| pair[1].changed_from(pair[0])).collect();
        let header = changed.iter().any(|path| path.ends_with(".h"));
        let own = |name: &str| changed.iter().any(|path| *path == file_of(name));
        let mut names: Vec<String> =
            all.iter().flat_map(|tree| tree.governors().map(str::to_owned)).collect();
        names.sort();
        names.dedup();
        names.retain(|name| header || own(name));
        names
    }
}
