// SPDX-License-Identifier: GPL-2.0-only
//! A corpus: a folder of recordings with an index, `index.toml`, that says of each what it is.
//!
//! [`Corpus::open`] reads the index, [`Corpus::select`] chooses recordings, [`Corpus::check`] says whether a recording is there
//! and unchanged. [`fetch`] downloads recordings that a list names with their hashes. docs/reference/corpus-format.md describes
//! the index.

mod corpus;
mod error;
mod fetch;
mod hash;
mod index;
mod split;

pub use corpus::{Corpus, INDEX, Presence, Selection, presence};
pub use error::CorpusError;
pub use fetch::{Download, FetchList, Fetched, fetch, fetch_at_most};
pub use hash::{FileHash, hash_of};
pub use index::{Basis, Entry, Index, SCHEMA, StateCount};
pub use split::Split;
