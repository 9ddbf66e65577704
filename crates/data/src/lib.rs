// SPDX-License-Identifier: GPL-2.0-only
//! Results as tables of typed columns, one for each command: what CSV, Parquet and Arrow files hold.
//!
//! A name of a column ends with the unit of its numbers, or a column next to it has the unit; times are ns. A column keeps its
//! kind whatever the result. docs/reference/data-tables.md describes them.

mod ab;
mod advise;
mod beside;
mod bisect;
mod boot;
mod check;
mod compare;
mod corpus;
mod counterexample;
mod declared;
mod diff;
mod explain;
mod head;
mod info;
mod reproduce;
mod review;
mod said;
mod schemas;
mod scored;
mod simulate;
mod sweep;
mod top;

pub use ab::ab;
pub use advise::advise;
pub use beside::beside;
pub use bisect::bisect;
pub use boot::{boot, self_test};
pub use check::check;
pub use compare::compare;
pub use corpus::{corpus_list, corpus_run, corpus_verify};
pub use counterexample::counterexample;
pub use diff::diff;
pub use explain::{explain, why_differ};
pub use head::{TableHead, tables};
pub use info::info;
pub use reproduce::reproduce;
pub use review::review;
pub use schemas::{FORMS, Form, form_name};
pub use scored::{replay, score};
pub use simulate::simulate;
pub use sweep::sweep;
pub use top::{Grouping, top};
