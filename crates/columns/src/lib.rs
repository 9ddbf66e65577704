// SPDX-License-Identifier: GPL-2.0-only
//! Tables of typed columns, in the forms that data frames read.
//!
//! A [`Schema`] says what the columns hold. Rows are pushed into a [`Block`]; [`Schema::encode`] turns a block into bytes that
//! follow those of other blocks in a file, whoever encoded them and in which order: only [`Schema::end`] knows of all. So a file of
//! any length needs the memory of one block, and several threads or processes can write parts of it. A [`DataTable`] is a small
//! table whose cells say themselves what they hold.

mod arrow;
mod block;
mod column;
mod csv;
mod delta;
mod flat;
mod hybrid;
mod parquet;
mod schema;
mod table;
mod thrift;

pub use block::{Block, Cell};
pub use column::{Column, Kind};
pub use parquet::{Chunk, Group};
pub use schema::{Form, Schema};
pub use table::{DataTable, TooLarge, Value};
