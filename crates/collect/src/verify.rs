// SPDX-License-Identifier: GPL-2.0-only
//! Are the files of a corpus what its index says?

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_corpus::{Corpus, Entry, Presence};
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

/// Version of the JSON of a verification.
pub const VERIFY_SCHEMA: &str = "idlewise.corpus-verify/1";

/// What became of each recording.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Verification {
    /// [`VERIFY_SCHEMA`].
    pub schema: &'static str,
    pub version: &'static str,
    /// The folder of the corpus, as it was named.
    pub corpus: String,
    pub recordings: Vec<VerifiedRecording>,
    /// Tapes in the folder of the corpus that its index does not name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
}

/// A recording, and whether its file is there and unchanged.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct VerifiedRecording {
    pub id: String,
    pub file: String,
    /// It is there, with the hash of the index.
    pub whole: bool,
    /// It is not there. Files outside of the corpus's folder may be missing.
    pub missing: bool,
    /// The file lies in the folder of the corpus.
    pub inside: bool,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl Verification {
    /// Whether a file was changed, or one of the corpus's own folder is missing.
    #[must_use]
    pub fn has_findings(&self) -> bool {
        self.recordings.iter().any(|r| !(r.whole || r.missing && !r.inside))
    }
}

/// Compares the files of `entries` with their hashes.
#[must_use]
pub fn verify(corpus: &Corpus, entries: &[&Entry]) -> Verification {
    let checked = |entry: &&Entry| {
        let presence = corpus.check(entry);
        VerifiedRecording {
            id: entry.id.clone(),
            file: entry.file.display().to_string(),
            whole: presence == Presence::Whole,
            missing: presence == Presence::Missing,
            inside: entry.is_inside(),
            why: match presence {
                Presence::Whole => None,
                Presence::Missing => Some(format!("{} is not there", corpus.path(entry).display())),
                Presence::Changed(why) => Some(why),
            },
        }
    };
    Verification {
        schema: VERIFY_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        corpus: corpus.folder().display().to_string(),
        recordings: entries.par_iter().map(checked).collect(),
        unknown: unknown(corpus),
    }
}

fn unknown(corpus: &Corpus) -> Vec<String> {
    let known: BTreeSet<&Path> = corpus.index().recordings.iter().map(|e| e.file.as_path()).collect();
    let there = fs::read_dir(corpus.folder()).into_iter().flatten().filter_map(Result::ok);
    let names = there.map(|entry| PathBuf::from(entry.file_name()));
    let is_tape = |name: &PathBuf| name.extension().is_some_and(|ending| ending == "tape");
    let lacking = names.filter(|name| is_tape(name) && !known.contains(name.as_path()));
    let mut out: Vec<String> = lacking.map(|name| name.display().to_string()).collect();
    out.sort();
    out
}
