// SPDX-License-Identifier: GPL-2.0-only
//! JSON Schemas of results, made of the types that the results are.

use idlewise_study::compare::{self, CompareReport};
use idlewise_study::info::{self, Info};
use idlewise_study::replay::{self, ReplayReport};
use idlewise_study::score::{self, ScoreReport};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use crate::args::SchemaArgs;
use crate::output::{Done, Failure, say};

/// A command, and the schema of its JSON.
type Report = (&'static str, fn() -> Schema);

/// The commands whose JSON has a schema.
const REPORTS: [Report; 4] = [
    ("compare", || of::<CompareReport>(compare::SCHEMA)),
    ("info", || of::<Info>(info::SCHEMA)),
    ("replay", || of::<ReplayReport>(replay::SCHEMA)),
    ("score", || of::<ScoreReport>(score::SCHEMA)),
];

pub(crate) fn run(a: &SchemaArgs) -> Done {
    let names = || REPORTS.map(|(name, _)| name).join(", ");
    let Some(asked) = &a.report else {
        say(&format!("{}\n", REPORTS.map(|(name, _)| name).join("\n")))?;
        return Ok(true);
    };
    let Some((_, schema)) = REPORTS.iter().find(|(name, _)| name == asked) else {
        return Err(Failure::Error(format!("{asked}: no result with a schema; expected one of {}", names())));
    };
    say(&format!("{:#}\n", schema().to_value()))?;
    Ok(true)
}

/// The schema of what serialises as `T`, in the form called `id`.
fn of<T: JsonSchema>(id: &str) -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.with_transform(Strict).into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), id.into());
    if let Some(own) = schema.pointer_mut("/properties/schema").and_then(Value::as_object_mut) {
        own.insert("const".to_owned(), id.into());
    }
    schema
}

/// Leaves out nothing that a result can be checked for: objects have no other fields. A number that is none is null in JSON.
#[derive(Clone)]
struct Strict;

impl Transform for Strict {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text.replace("[`", "`").replace("`]", "`");
        }
        if object.contains_key("properties") && !object.contains_key("additionalProperties") {
            object.insert("additionalProperties".to_owned(), false.into());
        }
        if object.get("format").is_some_and(|f| f == "double")
            && object.get("type").is_some_and(Value::is_string)
        {
            object.insert("type".to_owned(), serde_json::json!(["number", "null"]));
        }
        // Names of Rust's types are no formats of JSON Schema.
        object.remove("format");
    }
}
