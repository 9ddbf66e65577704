// SPDX-License-Identifier: GPL-2.0-only
//! What corpora and counter-examples show, as text.

mod corpus;
mod counterexample;

pub use corpus::{corpus_list, corpus_run, corpus_verify};
pub use counterexample::counterexample;
