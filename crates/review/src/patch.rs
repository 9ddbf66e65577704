// SPDX-License-Identifier: GPL-2.0-only
//! A patch applied to the part of a kernel tree that is judged.

use diffy::patch_set::{FileOperation, ParseOptions, PatchKind, PatchSet};
use diffy::{Line, Patch, apply};
use schemars::JsonSchema;
use serde::Serialize;

use crate::snapshot::{LONGEST, Snapshot, is_judged};

/// What is wrong with a patch, or with a governor after it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Problem {
    pub kind: ProblemKind,
    /// The file in the tree; of a patch that cannot be read, the file that has it; nothing where it is about no file.
    pub file: Option<String>,
    /// The line in it, from 1; of a patch that does not apply, that of the hunk as the patch has it.
    pub line: Option<u32>,
    pub why: String,
}

/// What keeps a patch, or a governor after it, from being judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProblemKind {
    /// The patch cannot be read.
    Malformed,
    DoesNotApply,
    DoesNotCompile,
    /// The governor crashed, or did not return, on a recording or in a check.
    Misbehaves,
    /// The tree has no such governor any more, or not yet.
    NotThere,
}

impl Problem {
    /// A sentence about it, of `row` and of `governor`, if that is not empty.
    #[must_use]
    pub fn words(&self, row: &str, governor: &str) -> String {
        let what = match self.kind {
            ProblemKind::Malformed => "cannot be read",
            ProblemKind::DoesNotApply => "does not apply",
            ProblemKind::DoesNotCompile => "does not compile",
            ProblemKind::Misbehaves => "misbehaves",
            ProblemKind::NotThere => "is not there",
        };
        let who = if governor.is_empty() { row.to_owned() } else { format!("{row} {governor}") };
        let line = self.line.map_or_else(String::new, |line| format!(":{line}"));
        let place = self.file.as_ref().map_or_else(String::new, |file| format!(" {file}{line}:"));
        format!("{who} {what}:{place} {}", self.why)
    }
}

/// What became of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Applied {
    /// Files that the patch changes and that are judged.
    pub(crate) judged: Vec<String>,
    /// Other files that it changes.
    pub(crate) others: Vec<String>,
}

/// What a patch would change that does not apply, as far as it can be read.
pub(crate) fn touched(text: &str) -> Applied {
    let named = text.lines().filter_map(|line| line.strip_prefix("+++ ")?.split('\t').next());
    let (judged, others) = named.map(|path| in_tree(path).to_owned()).partition(|path| is_judged(path));
    Applied { judged, others }
}

/// A path of a patch, in the tree: most have a prefix, `a/` or the name of a folder; names of a rename, and a patch made without
/// prefixes, have none.
fn in_tree(path: &str) -> &str {
    match path.split_once('/') {
        Some((first, rest)) if !is_judged(path) && (first.len() == 1 || is_judged(rest)) => rest,
        _ => path,
    }
}

/// Applies `text` to `tree`: all of it that is judged, or nothing.
pub(crate) fn apply_to(tree: &mut Snapshot, text: &str) -> Result<Applied, Problem> {
    let malformed = |line: usize, why: String| Problem {
        kind: ProblemKind::Malformed,
        file: None,
        line: u32::try_from(line).ok(),
        why,
    };
    // The mark of a mail's signature ends a patch.
    let text = text.split("\n-- \n").next().unwrap_or(text);
    let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let by_git = text.lines().any(|line| line.starts_with("diff --git "));
    let options = if by_git { ParseOptions::gitdiff() } else { ParseOptions::unidiff() };
    let mut after = tree.clone();
    let mut out = Applied::default();
    for (n, file) in PatchSet::parse(&text, options).enumerate() {
        let file =
            file.map_err(|e| malformed(line_of(&text, n, by_git), reason(&e.to_string()).to_owned()))?;
        let operation = file.operation();
        let (from, to) = match operation {
            FileOperation::Delete(path) => (Some(path), None),
            FileOperation::Create(path) => (None, Some(path)),
            FileOperation::Modify { original: from, modified: to }
            | FileOperation::Rename { from, to }
            | FileOperation::Copy { from, to } => (Some(from), Some(to)),
        };
        let [from, to] = [from, to].map(|path| path.map(|path| in_tree(path)));
        let paths = [from, to];
        if let Some(name) =
            paths.into_iter().flatten().flat_map(|path| path.split('/')).find(|n| n.len() > LONGEST)
        {
            let start: String = name.chars().take(20).collect();
            let why = format!(
                "a file name of {} bytes, {start}...; no file system takes more than {LONGEST}",
                name.len()
            );
            return Err(malformed(line_of(&text, n, by_git), why));
        }
        let judged = paths.into_iter().flatten().any(is_judged);
        let list = if judged { &mut out.judged } else { &mut out.others };
        for path in paths.into_iter().flatten().filter(|path| is_judged(path) == judged) {
            if !list.iter().any(|p| p == path) {
                list.push(path.to_owned());
            }
        }
        if !judged {
            continue;
        }
        let does_not_apply = |path: &str, line: Option<usize>, why: String| Problem {
            kind: ProblemKind::DoesNotApply,
            file: Some(path.to_owned()),
            line: line.and_then(|line| u32::try_from(line).ok()),
            why,
        };
        let PatchKind::Text(patch) = file.patch() else {
            let path = to.or(from).unwrap_or("");
            return Err(does_not_apply(path, None, "it is a binary patch of a source file".to_owned()));
        };
        if patch.hunks().iter().any(|hunk| hunk.lines().is_empty()) {
            let path = to.or(from).unwrap_or("");
            let why = format!("{path}: a hunk has no lines, by its header `@@ -0,0 +0,0 @@`");
            return Err(malformed(line_of(&text, n, by_git), why));
        }
        let path = from.or(to).unwrap_or("");
        let before = match from {
            Some(from) => after.get(from).map(|text| String::from_utf8_lossy(text).into_owned()),
            None => Some(String::new()),
        };
        if from.is_none() && after.get(path).is_some() {
            return Err(does_not_apply(path, None, "the patch adds this file, which is there".to_owned()));
        }
        let Some(before) = before else {
            return Err(does_not_apply(path, None, "the tree has no such file".to_owned()));
        };
        let changed = apply(&before, patch).map_err(|_| {
            let (line, mut why) = first_that_does_not(&before, patch);
            // What only takes lines away fits everywhere backwards.
            let mut lines = patch.hunks().iter().flat_map(|hunk| hunk.lines());
            let has_result = lines.any(|line| !matches!(line, Line::Delete(_)));
            if has_result && apply(&before, &patch.reverse()).is_ok() {
                why += "; the tree has this change already";
            }
            does_not_apply(path, Some(line), why)
        })?;
        if let Some(from) = from.filter(|_| !matches!(operation, FileOperation::Copy { .. })) {
            after.remove(from);
        }
        if let Some(to) = to.filter(|to| is_judged(to)) {
            after.set(to, changed.into_bytes());
            if let Some(why) = after.too_large() {
                return Err(does_not_apply(to, None, why));
            }
        }
    }
    *tree = after;
    Ok(out)
}

/// What the parser of patches says, without where: it counts bytes from places that nobody sees.
fn reason(text: &str) -> &str {
    match text.split_once(": ") {
        Some((before, after)) if before.starts_with("error parsing patch") => reason(after),
        _ => text,
    }
}

/// The line, from 1, of the first hunk in part `n` of a patch that has not the lines that its header says; else that of the part.
fn line_of(text: &str, n: usize, by_git: bool) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let begins = |at: &usize| match by_git {
        true => lines[*at].starts_with("diff --git "),
        false => lines[*at].starts_with("--- ") && lines.get(at + 1).is_some_and(|l| l.starts_with("+++ ")),
    };
    let starts: Vec<usize> = (0..lines.len()).filter(begins).collect();
    let Some(start) = starts.get(n).copied() else { return 1 };
    let end = starts.get(n + 1).copied().unwrap_or(lines.len());
    let mut at = start;
    while at < end {
        if lines[at].starts_with("@@ ") {
            let Some([mut old, mut new]) = lengths(lines[at]) else { return at + 1 };
            let hunk = at;
            while old > 0 || new > 0 {
                at += 1;
                let left = match lines.get(at).filter(|_| at < end).map(|l| l.bytes().next().unwrap_or(b' '))
                {
                    Some(b' ') => old.checked_sub(1).zip(new.checked_sub(1)),
                    Some(b'-') => old.checked_sub(1).zip(Some(new)),
                    Some(b'+') => Some(old).zip(new.checked_sub(1)),
                    Some(b'\\') => Some((old, new)),
                    _ => None,
                };
                let Some(left) = left else { return hunk + 1 };
                (old, new) = left;
            }
        }
        at += 1;
    }
    start + 1
}

/// `@@ -1,3 +1,4 @@`: 3 and 4.
fn lengths(header: &str) -> Option<[usize; 2]> {
    let mut ranges = header.strip_prefix("@@ -")?.split(" @@").next()?.split(" +");
    let mut length = || {
        let range = ranges.next()?;
        range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok())
    };
    Some([length()?, length()?])
}

/// The first hunk that does not apply after those before it: its line as the patch has it, and what is wrong.
fn first_that_does_not(before: &str, patch: &Patch<'_, str>) -> (usize, String) {
    let hunks = patch.hunks();
    let here: Vec<&str> = before.lines().collect();
    let expected = |hunk: &diffy::Hunk<'_, str>| -> Vec<String> {
        let old = hunk.lines().iter().filter_map(|line| match line {
            Line::Context(text) | Line::Delete(text) => Some(text.trim_end_matches('\n').to_owned()),
            Line::Insert(_) => None,
        });
        old.collect()
    };
    let fits = |wanted: &[String]| {
        wanted.is_empty()
            || here.windows(wanted.len()).any(|part| part.iter().zip(wanted).all(|(a, b)| a == b))
    };
    let all = hunks.len();
    let Some((n, hunk)) = hunks.iter().enumerate().find(|(_, hunk)| !fits(&expected(hunk))) else {
        let line = hunks.first().map_or(1, |h| h.old_range().start());
        return (line, format!("its {all} hunks do not apply one after the other"));
    };
    let start = hunk.old_range().start();
    let wanted = expected(hunk);
    // The line that the file does not have at all says most; else the first that is another where the hunk should be.
    let missing = wanted.iter().enumerate().find(|(_, line)| !here.contains(&line.as_str()));
    let moved =
        || wanted.iter().enumerate().find(|(i, line)| here.get(start - 1 + i) != Some(&line.as_str()));
    let place = missing.or_else(|| if start > 0 { moved() } else { None });
    let (line, what) = match place {
        Some((i, line)) => (start + i, format!("expected `{}`", line.trim())),
        None => (start, "its lines are elsewhere in the file".to_owned()),
    };
    let there = here
        .get(line.saturating_sub(1))
        .map_or_else(String::new, |text| format!(", the tree has `{}`", text.trim()));
    (line, format!("hunk {} of {all} does not apply: {what}{there}", n + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const TEO: &str = "drivers/cpuidle/governors/teo.c";

    fn tree(text: &str) -> Snapshot {
        Snapshot::of_files(BTreeMap::from([(TEO.to_owned(), text.as_bytes().to_vec())]))
    }

    fn hunk(old: &str, new: &str) -> String {
        format!("--- a/{TEO}\n+++ b/{TEO}\n@@ -1,3 +1,3 @@\n one\n-{old}\n+{new}\n three\n")
    }

    #[test]
    fn what_is_judged_is_changed_and_what_is_not_is_named() {
        let mut tree = tree("zero\none\ntwo\nthree\n");
        let other = "--- a/kernel/x.c\n+++ b/kernel/x.c\n@@ -7 +7 @@\n-a\n+b\n";
        let text = format!("Some words.\n---\n 1 file\n\n{}{other}-- \n2.39\n", hunk("two", "2"));
        let applied = apply_to(&mut tree, &text).unwrap();
        assert_eq!((applied.judged, applied.others), (vec![TEO.to_owned()], vec!["kernel/x.c".to_owned()]));
        // A line further down than the patch says.
        assert_eq!(tree.get(TEO), Some(b"zero\none\n2\nthree\n".as_slice()));
    }

    #[test]
    fn copies_without_bound_are_no_tree() {
        let mut tree = tree(&"a line of some words\n".repeat(300_000));
        let before = tree.clone();
        let copies = |n: usize| {
            let copy = |i| {
                let to = format!("drivers/cpuidle/governors/t{i}.c");
                format!("diff --git a/{TEO} b/{to}\nsimilarity index 100%\ncopy from {TEO}\ncopy to {to}\n")
            };
            (0..n).map(copy).collect::<String>()
        };
        let problem = apply_to(&mut tree, &copies(1000)).unwrap_err();
        assert_eq!((problem.kind, &tree), (ProblemKind::DoesNotApply, &before));
        assert!(problem.why.contains("more than any kernel's: 16777216 at most"), "{}", problem.why);
        apply_to(&mut tree, &copies(1)).unwrap();
        assert_eq!(tree.governors().count(), 2);
    }

    #[test]
    fn what_does_not_apply_says_where_and_changes_nothing() {
        let mut tree = tree("one\nTWO\nthree\n");
        let before = tree.clone();
        let problem = apply_to(&mut tree, &hunk("two", "2")).unwrap_err();
        assert_eq!((problem.kind, problem.line), (ProblemKind::DoesNotApply, Some(2)));
        assert_eq!(problem.why, "hunk 1 of 1 does not apply: expected `two`, the tree has `TWO`");
        assert_eq!(tree, before);
        let no_file = hunk("two", "2").replace("teo.c", "toe.c");
        let problem = apply_to(&mut tree, &no_file).unwrap_err();
        assert_eq!(problem.why, "the tree has no such file");
    }

    #[test]
    fn a_hunk_that_hides_its_lines_is_no_patch() {
        let hidden = hunk("two", "2").replace("-1,3 +1,3", "-0,0 +0,0");
        let problem = apply_to(&mut tree("one\ntwo\nthree\n"), &hidden).unwrap_err();
        assert_eq!((problem.kind, problem.line), (ProblemKind::Malformed, Some(1)));
        assert!(problem.why.contains("a hunk has no lines"), "{problem:?}");
    }

    #[test]
    fn files_are_made_renamed_and_removed() {
        let mut tree = tree("one\n");
        let new = "diff --git a/drivers/cpuidle/governors/new.c b/drivers/cpuidle/governors/new.c\nnew file mode 100644\n\
                   index 0000000..1111111\n--- /dev/null\n+++ b/drivers/cpuidle/governors/new.c\n@@ -0,0 +1,2 @@\n+a\n+b\n";
        apply_to(&mut tree, new).unwrap();
        assert_eq!(tree.get("drivers/cpuidle/governors/new.c"), Some(b"a\nb\n".as_slice()));
        assert_eq!(apply_to(&mut tree, new).unwrap_err().kind, ProblemKind::DoesNotApply);
        let gone = "diff --git a/drivers/cpuidle/governors/new.c b/drivers/cpuidle/governors/new.c\ndeleted file mode 100644\n\
                    index 1111111..0000000\n--- a/drivers/cpuidle/governors/new.c\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n";
        apply_to(&mut tree, gone).unwrap();
        assert_eq!(tree.get("drivers/cpuidle/governors/new.c"), None);
    }

    #[test]
    fn names_without_a_prefix_are_found_in_the_tree() {
        let mut tree = tree("one\ntwo\nthree\n");
        let bare = hunk("two", "2").replace("a/drivers", "drivers").replace("b/drivers", "drivers");
        assert_eq!(touched(&bare).judged, [TEO]);
        assert_eq!(apply_to(&mut tree, &bare).unwrap().judged, [TEO]);
        assert_eq!(tree.get(TEO), Some(b"one\n2\nthree\n".as_slice()));
        let new = TEO.replace("teo", "new");
        let renamed = format!(
            "diff --git a/{TEO} b/{new}\nsimilarity index 100%\nrename from {TEO}\nrename to {new}\n"
        );
        assert_eq!(apply_to(&mut tree, &renamed).unwrap().judged, [TEO, &new]);
        assert_eq!(tree.get(TEO), None);
        assert_eq!(tree.get(&new), Some(b"one\n2\nthree\n".as_slice()));
    }

    #[test]
    fn a_patch_cut_off_is_malformed() {
        let cut: String = hunk("two", "2").lines().take(4).map(|l| format!("{l}\n")).collect();
        let problem = apply_to(&mut tree("one\ntwo\nthree\n"), &format!("Words.\n{cut}")).unwrap_err();
        assert_eq!((problem.kind, problem.line), (ProblemKind::Malformed, Some(4)), "{problem:?}");
        assert_eq!(problem.why, "hunk header does not match hunk");
        // The second file of two.
        let both = format!("{}{cut}", hunk("two", "2"));
        assert_eq!(apply_to(&mut tree("one\ntwo\nthree\n"), &both).unwrap_err().line, Some(10));
    }

    #[test]
    fn a_name_that_no_file_system_takes_is_a_problem_of_its_patch() {
        let name = "x".repeat(300);
        let text = hunk("two", "2").replace("teo.c", &format!("{name}.c"));
        let problem = apply_to(&mut tree("one\ntwo\nthree\n"), &text).unwrap_err();
        assert_eq!((problem.kind, problem.line), (ProblemKind::Malformed, Some(1)));
        assert!(problem.why.starts_with("a file name of 302 bytes, xxxxxxxxxxxxxxxxxxxx...;"), "{problem:?}");
        assert!(!is_judged(&format!("drivers/cpuidle/governors/{name}.c")));
    }

    proptest! {
        #[test]
        fn no_patch_is_too_strange(text in ".*") {
            let _ = apply_to(&mut tree("one\ntwo\nthree\n"), &text);
        }

        #[test]
        fn nearly_right_patches_are_applied_or_refused(
            from in "(a/drivers/cpuidle/governors/(teo|new).c|/dev/null|a/../x.c|)",
            to in "(b/drivers/cpuidle/governors/(teo|new).c|/dev/null|b/x)",
            head in "@@ -[0-9]{0,20}(,[0-9]{0,3})? [+][0-9]{0,3}(,[0-9]{0,20})? @@",
            lines in prop::collection::vec("[-+ ](one|two|three|)", 0..6),
        ) {
            let text = format!("--- {from}\n+++ {to}\n{head}\n{}\n", lines.join("\n"));
            let mut after = tree("one\ntwo\nthree\n");
            if let Err(problem) = apply_to(&mut after, &text) {
                prop_assert!(!problem.words("+1", "").is_empty());
                prop_assert_eq!(after, tree("one\ntwo\nthree\n"));
            }
        }
    }
}
