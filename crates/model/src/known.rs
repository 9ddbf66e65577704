// SPDX-License-Identifier: GPL-2.0-only
//! A value that may not be known, in JSON: the value under its name, or null there and why under the name with `_not_known`.
//!
//! For `#[serde(flatten, serialize_with = "known::fidelity")]`: each function is called as the field that it is for.

use schemars::JsonSchema;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use crate::{NotKnown, Note};

macro_rules! fields {
    ($($name:ident $why:ident $schema:ident)*) => {$(
        /// The field of this name, or why it is not known.
        ///
        /// # Errors
        /// What the serialiser says.
        pub fn $name<T: Serialize, S: Serializer>(value: &Result<T, NotKnown>, to: S) -> Result<S::Ok, S::Error> {
            put(stringify!($name), stringify!($why), value.as_ref(), to)
        }

        /// What is written so, for its JSON Schema alone.
        #[derive(JsonSchema, Serialize)]
        #[schemars(inline)]
        pub struct $schema<T> {
            $name: Option<T>,
            #[serde(skip_serializing_if = "Option::is_none")]
            $why: Option<Note>,
        }
    )*};
}

fields! {
    ab ab_not_known AbOrWhy
    fidelity fidelity_not_known FidelityOrWhy
    replay replay_not_known ReplayOrWhy
    result result_not_known ResultOrWhy
}

/// The same of a `replay` that may not have been asked for: then it is null, and no reason is given.
///
/// # Errors
/// What the serialiser says.
pub fn replay_if_asked<T: Serialize, S: Serializer>(
    value: &Option<Result<T, NotKnown>>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => replay(value, to),
        None => one("replay", &(), to),
    }
}

/// `value` as the entry `name`, or why it is not known as the entry `why`.
///
/// # Errors
/// What the serialiser says.
pub fn put<T: Serialize, S: Serializer>(
    name: &'static str,
    why: &'static str,
    value: Result<T, &NotKnown>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Ok(value) => one(name, &value, to),
        Err(not_known) => {
            let mut entries = to.serialize_map(Some(2))?;
            entries.serialize_entry(name, &())?;
            entries.serialize_entry(why, not_known)?;
            entries.end()
        }
    }
}

fn one<T: Serialize, S: Serializer>(name: &'static str, value: &T, to: S) -> Result<S::Ok, S::Error> {
    let mut entries = to.serialize_map(Some(1))?;
    entries.serialize_entry(name, value)?;
    entries.end()
}
