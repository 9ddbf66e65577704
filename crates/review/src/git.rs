// SPDX-License-Identifier: GPL-2.0-only
//! What is asked of git: commits of a range, and files of a commit. Only its plumbing is called, whose output no configuration
//! changes; nothing is checked out.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use idlewise_recording::CommandError;

use crate::mails::MOST_SUBJECT;
use crate::snapshot::{MAKEFILE, Snapshot, is_judged};

/// Where git's commands look for governors and what they include.
const CPUIDLE: &str = "drivers/cpuidle";
/// What a caller's environment would say about another repository: a hook runs in one.
const OF_A_REPOSITORY: [&str; 6] =
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE"];

/// A repository's own configuration starts no program.
const QUIET: [&str; 5] = ["--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];

/// A repository of a kernel.
pub(crate) struct Repository {
    folder: PathBuf,
}

/// A commit with the first line of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) hash: String,
    pub(crate) subject: String,
}

impl Commit {
    /// As people write it.
    pub(crate) fn short(&self) -> &str {
        self.hash.get(..12).unwrap_or(&self.hash)
    }
}

impl Repository {
    pub(crate) fn open(folder: &Path) -> Result<Self, CommandError> {
        let this = Self { folder: folder.to_owned() };
        this.text(&["rev-parse", "--git-dir"])?;
        Ok(this)
    }

    /// The commit that `revision` names.
    pub(crate) fn commit(&self, revision: &str) -> Result<Commit, CommandError> {
        if revision.starts_with('-') || revision.is_empty() {
            return Err(CommandError::input(&self.folder, format!("`{revision}` is no revision of git")));
        }
        let named = format!("{revision}^{{commit}}");
        let hash = self.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named]);
        let hash = hash.map_err(|_| {
            let why = format!(
                "git knows no commit `{revision}`; expected a branch, a tag or a hash (a shallow clone lacks older ones)"
            );
            CommandError::input(&self.folder, why)
        })?;
        self.described(hash.trim())
    }

    fn described(&self, hash: &str) -> Result<Commit, CommandError> {
        let raw = self.output(&["cat-file", "commit", hash])?;
        let text = String::from_utf8_lossy(&raw);
        let message = text.split_once("\n\n").map_or("", |(_, message)| message);
        let subject = message.lines().next().unwrap_or("").trim().chars().take(MOST_SUBJECT).collect();
        Ok(Commit { hash: hash.to_owned(), subject })
    }

    /// The commits after `from` up to `to`, oldest first, that change governors or what they include; and how many others there
    /// are. Where branches were merged, the commits of one follow those of the other.
    pub(crate) fn between(&self, from: &Commit, to: &Commit) -> Result<(Vec<Commit>, usize), CommandError> {
        let range = format!("{}..{}", from.hash, to.hash);
        let list = |paths: &[&str]| {
            let options = ["rev-list", "--reverse", "--topo-order", range.as_str(), "--"];
            self.text(&[&options, paths].concat())
        };
        let all = list(&[])?.lines().count();
        let touching = list(&[CPUIDLE])?;
        let mut commits: Vec<Commit> = Vec::new();
        let mut before = self.snapshot(from)?;
        for hash in touching.lines() {
            let commit = self.described(hash)?;
            let snapshot = self.snapshot(&commit)?;
            if !snapshot.changed_from(&before).iter().all(|path| path == MAKEFILE) {
                commits.push(commit);
            }
            before = snapshot;
        }
        let others = all - commits.len();
        Ok((commits, others))
    }

    /// Paths that `commit` changes, against its first parent.
    pub(crate) fn changed(&self, commit: &Commit) -> Result<Vec<String>, CommandError> {
        let arguments =
            ["diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", "--no-renames", "-m"];
        let raw = self.output(&[&arguments, ["--first-parent", commit.hash.as_str()].as_slice()].concat())?;
        Ok(names(&raw))
    }

    /// The governors of `commit`, and what they include.
    pub(crate) fn snapshot(&self, commit: &Commit) -> Result<Snapshot, CommandError> {
        let paths = [format!("{CPUIDLE}/"), format!("{CPUIDLE}/governors/"), MAKEFILE.to_owned()];
        let arguments = ["ls-tree", "-z", "--full-tree", "--name-only", commit.hash.as_str()];
        let paths: Vec<&str> = arguments.into_iter().chain(paths.iter().map(String::as_str)).collect();
        let mut files = BTreeMap::new();
        for path in names(&self.output(&paths)?) {
            if is_judged(&path) || path == MAKEFILE {
                let blob = format!("{}:{path}", commit.hash);
                let size = self.text(&["cat-file", "-s", &blob])?;
                if size.trim().parse::<u64>().is_ok_and(|size| size > idlewise_files::LARGEST) {
                    let why = format!(
                        "{path} of commit {} has {} bytes, more than any governor: at most {} are read",
                        commit.short(),
                        size.trim(),
                        idlewise_files::LARGEST
                    );
                    return Err(CommandError::input(&self.folder, why));
                }
                let text = self.output(&["cat-file", "blob", &blob])?;
                files.insert(path, text);
            }
        }
        if files.keys().all(|path| path == MAKEFILE) {
            let why = format!("commit {} has no {CPUIDLE}/governors: is it a kernel's?", commit.short());
            return Err(CommandError::input(&self.folder, why));
        }
        Ok(Snapshot::of_files(files))
    }

    fn text(&self, arguments: &[&str]) -> Result<String, CommandError> {
        Ok(String::from_utf8_lossy(&self.output(arguments)?).into_owned())
    }

    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, CommandError> {
        let mut git = Command::new("git");
        git.args(QUIET).arg("-C").arg(&self.folder).args(arguments.iter().map(OsStr::new));
        OF_A_REPOSITORY.iter().for_each(|name| {
            git.env_remove(name);
        });
        // Its words are not read, but shown; objects that a partial clone lacks are not fetched behind the user's back.
        git.env("LC_ALL", "C").env("GIT_NO_LAZY_FETCH", "1").env("GIT_OPTIONAL_LOCKS", "0");
        git.env("GIT_NO_REPLACE_OBJECTS", "1").stdin(Stdio::null());
        let wrong = |why: String| CommandError::input(&self.folder, why);
        let out = git.output().map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => wrong(
                "git is not installed, which a range of commits needs; export the patches (git format-patch) where it is, \
                 and name their folder"
                    .to_owned(),
            ),
            _ => wrong(format!("git: {e}")),
        })?;
        if out.status.success() {
            return Ok(out.stdout);
        }
        let said = String::from_utf8_lossy(&out.stderr);
        let first = said.lines().find(|l| !l.is_empty()).unwrap_or("it ended without a word");
        Err(wrong(format!("git {}: {first}", arguments.first().unwrap_or(&""))))
    }
}

/// Names that end with a zero each.
fn names(raw: &[u8]) -> Vec<String> {
    let all = raw.split(|b| *b == 0).filter(|name| !name.is_empty());
    all.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}
