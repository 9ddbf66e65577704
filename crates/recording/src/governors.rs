// SPDX-License-Identifier: GPL-2.0-only
//! Which governors a request means: ours by id, the user's by path, those of kernel trees by version. Names from files go
//! through [`offered`] (docs/reference/untrusted-input.md).

use std::path::{Path, PathBuf};

use idlewise_governor::{
    Governor, GovernorError, Offered, RecordedName, ShippedVersion, Spec, catalog, expand, files_in_folder,
    shipped_version,
};
use idlewise_model::{NotKnown, NoteId, TickGrid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::candidate::{Bound, Candidate};
pub use crate::candidate::{ORACLE, is_bound};
use crate::error::{CommandError, Named};
use crate::kernel_governor::KernelGovernor;
use crate::limits;
use crate::recording::Recording;

/// Where a governor that is none of ours came from.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ForeignHead {
    /// What it is called here.
    pub governor: String,
    pub file: String,
    /// Version of the kernel tree around the file.
    pub kernel: Option<String>,
    /// SHA-256 of the file and the headers next to it.
    pub hash: String,
    /// The file and these headers, each with its own hash.
    #[serde(default)]
    pub sources: Vec<SourceHead>,
}

/// A file that a governor is made of.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SourceHead {
    pub file: String,
    /// SHA-256 of it.
    pub hash: String,
}

impl ForeignHead {
    /// Of a governor that is called `name` here; nothing of one of ours.
    pub(crate) fn of(governor: &Governor, name: &str) -> Option<Self> {
        let source =
            |(file, hash): (PathBuf, String)| SourceHead { file: file.to_string_lossy().into_owned(), hash };
        Some(Self {
            governor: name.to_owned(),
            file: governor.given_file()?,
            kernel: governor.kernel(),
            hash: governor.source_hash()?,
            sources: governor.source_hashes().into_iter().map(source).collect(),
        })
    }
}

/// What names from files may select beside what ships with us: the C files among `names`, which are of this invocation, and
/// the governors of `trees`, which are, too.
pub fn offered<'n>(names: impl IntoIterator<Item = &'n String>, trees: &[PathBuf]) -> Offered {
    let with_trees = trees.iter().fold(Offered::nothing(), |offered, tree| offered.with_tree(tree));
    let specs =
        names.into_iter().filter_map(|name| limits::split(labelled(name).1).ok()?.0.parse::<Spec>().ok());
    specs.fold(with_trees, |offered, spec| offered.with(&spec))
}

/// Why the governor that a recording in `folder` calls `name` is not run, and what would name it.
pub fn not_selected(name: &RecordedName, why: &GovernorError, folder: Option<&Path>) -> String {
    match why {
        GovernorError::Unknown { .. } => {
            format!("the kernel ran {name}, which is not among the governors here (--kernel-governor)")
        }
        GovernorError::NotNamedByUser { path } if path.starts_with("linux") && !path.ends_with(".c") => {
            format!("the kernel ran {name}, of a kernel tree that is not at hand (--kernel-tree)")
        }
        GovernorError::NotNamedByUser { path } => {
            let beside = folder.map(|f| f.join(path)).filter(|file| file.is_file());
            let file = beside.as_deref().unwrap_or(Path::new(path)).display();
            format!(
                "the recording names the C file {path} as the kernel's governor; what a recording names is neither compiled \
                 nor run unless you name it, too (--kernel-governor {file})"
            )
        }
        other => other.to_string(),
    }
}

/// `LABEL@GOVERNOR` in two: what the governor is to be called, where that is said, and which it is. A path that holds an `@`
/// has a `/` before it, as in `./a@b.c`, or names what is there.
#[must_use]
pub fn labelled(text: &str) -> (Option<&str>, &str) {
    let is_label = |l: &str| {
        !l.is_empty() && l.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'))
    };
    match text.split_once('@') {
        Some((label, governor)) if is_label(label) && !governor.is_empty() && !Path::new(text).exists() => {
            (Some(label), governor)
        }
        _ => (None, text),
    }
}

/// The governors that items of an option mean, folders of kernel trees by the files in them: `base@./linux/teo` is
/// `base@./linux/drivers/cpuidle/governors/teo.c`, and `base@./linux` one of each of its governors, `base-menu@...` and so on.
/// `~/` is the user's folder, also after a label, where no shell sees it.
///
/// # Errors
/// [`CommandError::Governor`] where a tree has no such governor.
pub fn with_trees(items: &[String]) -> Result<Vec<String>, CommandError> {
    let mut out = Vec::new();
    for item in items {
        let (label, named) = labelled(item);
        let named = at_home(named);
        let (id, parameters) = Spec::split(&named);
        let whole = |label: Option<String>, id: &str| {
            let label = label.map_or_else(String::new, |l| l + "@");
            let parameters = parameters.map_or_else(String::new, |p| format!(":{p}"));
            format!("{label}{id}{parameters}")
        };
        let Some(files) = files_in_folder(id)? else {
            out.push(whole(label.map(str::to_owned), id));
            continue;
        };
        let several = files.len() > 1;
        for (file, name) in files.iter().filter_map(|f| Some((f, f.file_stem()?))) {
            let own = |l: &str| if several { format!("{l}-{}", name.display()) } else { l.to_owned() };
            out.push(whole(label.map(own), &file.to_string_lossy()));
        }
    }
    Ok(out)
}

/// `path` with `~/` in full, where it is known.
fn at_home(path: &str) -> String {
    let home = std::env::var("HOME").ok().filter(|h| !h.is_empty());
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

/// All governors that `text`, of an option of this invocation, means; several where it names a whole kernel tree
/// (`linux:6.12`).
///
/// # Errors
/// [`CommandError::Governor`] when there is none, or one does not compile.
pub fn find_all(text: &str, trees: &[PathBuf]) -> Result<Vec<Governor>, CommandError> {
    let spec: Spec = text.parse()?;
    check_no_bound(text)?;
    if let Some(own) = Governor::of_caller(&spec)? {
        return Ok(vec![own]);
    }
    expand(&spec, trees)?.iter().map(|source| Ok(Governor::open(source)?)).collect()
}

/// A bound is no governor, with parameters or without: where it stands for itself its name alone is asked before.
fn check_no_bound(text: &str) -> Result<(), CommandError> {
    let (id, parameters) = Spec::split(text);
    let Some(bound) = Bound::called(id) else { return Ok(()) };
    let what = match bound {
        Bound::Oracle => "the oracle is a bound, which knows every wakeup in advance, and no governor in C",
        Bound::Hindsight => "hindsight is a bound, which knows the whole recording, and no governor in C",
    };
    let why = match parameters {
        Some(_) => {
            format!("{what}: it has no parameters, and nothing can be taken from it; write {id}")
        }
        None => format!(
            "{what}: it cannot be driven, explained or asked here; name a governor (replay and compare take {id} next to \
             governors)"
        ),
    };
    Err(CommandError::argument("--governor", text, why))
}

/// The one governor that `text`, of an option of this invocation, means.
///
/// # Errors
/// As [`find_all`], and where it means several.
pub fn find_one(text: &str, trees: &[PathBuf]) -> Result<Governor, CommandError> {
    check_trees(trees)?;
    let (given, text) = labelled(text);
    check_no_bound(text)?;
    if let Some(own) = Governor::of_caller(&text.parse()?)? {
        return Ok(own);
    }
    let named = with_trees(&[text.to_owned()])?;
    let one = match named.as_slice() {
        [one] => one.as_str(),
        _ => text,
    };
    let mut sources = expand(&one.parse()?, trees)?;
    match (sources.pop(), sources.is_empty()) {
        (Some(source), true) => {
            let governor = Governor::open(&source)?;
            Ok(match given {
                Some(label) => governor.called(label),
                None => governor,
            })
        }
        _ => {
            let why = format!("that is a whole kernel tree; write {text}/GOVERNOR for one of it");
            Err(CommandError::argument("--governor", format!("governor `{text}`"), why))
        }
    }
}

/// Whether governors are found in each of `trees`, also where no name selects one: it would be passed over.
pub fn check_trees(trees: &[PathBuf]) -> Result<(), CommandError> {
    for tree in trees {
        expand(&Spec::new("linux"), std::slice::from_ref(tree))
            .map_err(|why| CommandError::option("--kernel-tree", tree.display(), why))?;
    }
    Ok(())
}

/// The candidates of a request, each with a name of its own.
pub fn candidates(names: &[String], trees: &[PathBuf]) -> Result<Vec<Candidate>, CommandError> {
    let all = all_candidates(names, trees)?;
    for (i, candidate) in all.iter().enumerate() {
        let name = candidate.name();
        if all.iter().take(i).any(|c| c.name() == name) {
            // They would be two columns of the same numbers.
            return Err(CommandError::governor_twice(name));
        }
    }
    Ok(all)
}

/// As [`candidates`]; one may be there twice.
pub fn all_candidates(names: &[String], trees: &[PathBuf]) -> Result<Vec<Candidate>, CommandError> {
    check_trees(trees)?;
    if names.is_empty() {
        return Err(CommandError::not_given("--governor", "no governor given"));
    }
    let mut out: Vec<Candidate> = Vec::new();
    for name in names {
        if let Some(bound) = Bound::called(name) {
            out.push(Candidate::Bound(bound));
            continue;
        }
        let (given, name) = labelled(name);
        check_no_bound(name)?;
        let (spec, limits) = limits::split(name)?;
        // Nobody reads another governor's numbers under its name.
        let ships = |id: &str| catalog().iter().any(|g| g.id == id);
        let own = Spec::split(&spec).0;
        let is_another = |l: &&str| is_bound(l) || (*l != own && ships(l) && ships(own));
        if let Some(label) = given.filter(is_another) {
            let why = format!("`{label}` is the name of another governor; choose a label that is none");
            return Err(CommandError::argument("--governor", name, why));
        }
        let found = find_all(&spec, trees)?;
        let several = found.len() > 1;
        for governor in found {
            if let Some(given) = given {
                // Of a whole tree each has its own.
                let own = if several { format!("{given}/{}", governor.label()) } else { given.to_owned() };
                out.push(Candidate::Hosted { governor, name: own, limits });
                continue;
            }
            // Two trees of one version, or a patched copy of a tree: then paths tell them apart.
            let label = limits::join(&governor.label(), limits);
            let path = limits::join(&governor.spec().to_string(), limits);
            let taken = out.iter().any(|c| c.name() == label && !c.is_called(&path));
            let name = if taken { path } else { label };
            out.push(Candidate::Hosted { governor, name, limits });
        }
    }
    Ok(out)
}

/// Which of the candidates the others are compared with.
pub fn baseline(name: Option<&str>, candidates: &[Candidate]) -> Result<usize, CommandError> {
    let Some(name) = name else { return Ok(0) };
    candidates.iter().position(|c| c.is_called(name)).ok_or_else(|| {
        let known = candidates.iter().map(|c| c.name().to_owned()).collect();
        CommandError::Unknown { what: Named::Baseline, name: name.to_owned(), known }
    })
}

/// The same, and the file that an option names as the governor of a recording. `kernels` are the governors of `recordings`.
pub fn foreign_with<'c>(
    candidates: impl IntoIterator<Item = &'c Candidate>,
    recordings: &[Recording],
    kernels: impl IntoIterator<Item = &'c Result<Governor, NotKnown>>,
) -> Vec<ForeignHead> {
    let mut heads = foreign(candidates);
    let mut of_each = recordings.iter().zip(kernels);
    let given = of_each.find(|(r, _)| matches!(r.governor, KernelGovernor::Given(_)));
    let given = given.and_then(|(_, governor)| governor.as_ref().ok());
    let head = given.and_then(|governor| ForeignHead::of(governor, &governor.label()));
    heads.extend(head.filter(|head| heads.iter().all(|h| h.file != head.file)));
    heads
}

/// Where those that are none of ours came from.
pub fn foreign<'c>(candidates: impl IntoIterator<Item = &'c Candidate>) -> Vec<ForeignHead> {
    let head = |c: &Candidate| match c {
        Candidate::Hosted { governor, name, .. } => ForeignHead::of(governor, name),
        Candidate::Bound(_) => None,
    };
    candidates.into_iter().filter_map(head).collect()
}

impl Recording {
    /// What ships with us as the kernel's governor, by the release that the recording names; nothing where it names none, or the
    /// governor is one of which no several versions ship, or a version itself.
    #[must_use]
    pub fn kernels_version(&self) -> Option<ShippedVersion> {
        match &self.governor {
            KernelGovernor::Other(_) => None,
            name => shipped_version(name.as_str(), &self.tape.source.kernel),
        }
    }

    /// The kernel's governor, if it ships with us or is `offered`; or why it is not run.
    ///
    /// # Errors
    /// [`CommandError::Governor`] where an option of this invocation names one that cannot be had.
    pub fn kernels_governor(&self, offered: &Offered) -> Result<Result<Governor, NotKnown>, CommandError> {
        let name = self.governor.as_str();
        match &self.governor {
            KernelGovernor::Recorded(_) if name.is_empty() => Ok(Err(NotKnown::because(
                NoteId::GovernorNotNamed,
                "the recording does not name the kernel's idle governor (--kernel-governor)",
            ))),
            KernelGovernor::Recorded(recorded) => {
                let folder = self.path.parent();
                // Its parameters are data, too.
                let loads = |governor: Governor| {
                    governor.run(|loader| loader.load(TickGrid::period_of(1000)).map(drop))?;
                    Ok(governor)
                };
                let found = match self.kernels_version() {
                    Some(version) => version.spec.parse().and_then(|spec| Governor::find(&spec)),
                    None => recorded.find(offered, folder),
                };
                let found = found.and_then(loads);
                Ok(found.map_err(|why| {
                    NotKnown::because(NoteId::GovernorNotHere, not_selected(recorded, &why, folder))
                }))
            }
            KernelGovernor::Given(_) => {
                let version = self.kernels_version().map_or(name, |version| version.spec);
                find_one(version, offered.trees()).map(Ok)
            }
            KernelGovernor::Other(_) => {
                let why = format!("the kernel ran {name}, which is not among the governors here");
                Ok(Err(NotKnown::because(NoteId::GovernorNotHere, why)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_stands_before_a_governor_and_is_no_path() {
        assert_eq!(labelled("new@./teo.c:x=1"), (Some("new"), "./teo.c:x=1"));
        assert_eq!(labelled("6.12+fix@linux:6.12/teo"), (Some("6.12+fix"), "linux:6.12/teo"));
        for plain in ["teo", "./a@b.c", "@teo", "new@", "a b@teo", "a/b@c.c"] {
            assert_eq!(labelled(plain), (None, plain));
        }
        let names = ["old@menu".to_owned(), "new@menu:disable=1".to_owned(), "oracle".to_owned()];
        let all = candidates(&names, &[]).unwrap();
        let called: Vec<&str> = all.iter().map(Candidate::name).collect();
        assert_eq!(called, ["old", "new", ORACLE]);
        assert_eq!(baseline(Some("new"), &all).unwrap(), 1);
        assert!(candidates(&["a@menu".to_owned(), "a@teo".to_owned()], &[]).is_err());
    }
}
