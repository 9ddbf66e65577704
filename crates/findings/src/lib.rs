// SPDX-License-Identifier: GPL-2.0-only
//! What corpora, counter-examples and sweeps show, as text.

mod corpus;
mod counterexample;
mod fitness;
mod sweep;

pub use corpus::{corpus_list, corpus_run, corpus_verify};
pub use counterexample::counterexample;
pub use fitness::fitness;
pub use sweep::{sweep, sweep_estimate, sweep_page};
