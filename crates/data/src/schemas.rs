// SPDX-License-Identifier: GPL-2.0-only
//! JSON Schemas of results, made of the types that the results are.

use idlewise_check::{self as check, CheckReport};
use idlewise_collect::{CorpusRun, RUN_SCHEMA, VERIFY_SCHEMA, Verification};
use idlewise_conform::drive::{self, DriveReport};
use idlewise_corpus::{self as corpus, Index};
use idlewise_counterexample::{self as counterexample, Counterexample};
use idlewise_experiment::beside::{self, BesideReport};
use idlewise_experiment::simulate::{self, SimulateReport};
use idlewise_explain::{self as explain, ExplainReport, WhyDiffer};
use idlewise_fitness::{FITNESS_SCHEMA, Fitness};
use idlewise_live::watch::{self, Snapshot};
use idlewise_machine::ab::AbAnswer;
use idlewise_machine::advise::{self, Advice};
use idlewise_machine::boot::{self, BootReport, SelfTest};
use idlewise_machine::diff::{self, DiffReport};
use idlewise_machine::record::{self, RecordReport};
use idlewise_reproduce::{self as reproduce, ReproduceReport};
use idlewise_review::{self as review, BisectReport, ReviewReport};
use idlewise_study::compare::{self, CompareReport};
use idlewise_study::info::{self, Info};
use idlewise_study::replay::{self, ReplayReport};
use idlewise_study::score::{self, ScoreReport};
use idlewise_sweep::{self as sweep, SweepReport};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// A form, and what makes its schema.
pub type Form = (&'static str, fn(&str) -> Schema);

/// The forms of all results, by their names (`idlewise.NAME/VERSION`), each with its schema.
pub const FORMS: [Form; 26] = [
    (idlewise_ab::SCHEMA, of::<AbAnswer>),
    (advise::SCHEMA, of::<Advice>),
    (beside::SCHEMA, of::<BesideReport>),
    (review::BISECT_SCHEMA, of::<BisectReport>),
    (check::SCHEMA, of::<CheckReport>),
    (compare::SCHEMA, of::<CompareReport>),
    (corpus::SCHEMA, of::<Index>),
    (RUN_SCHEMA, of::<CorpusRun>),
    (VERIFY_SCHEMA, of::<Verification>),
    (counterexample::SCHEMA, of::<Counterexample>),
    (diff::SCHEMA, of::<DiffReport>),
    (drive::SCHEMA, of::<DriveReport>),
    (explain::SCHEMA, of::<ExplainReport>),
    (FITNESS_SCHEMA, of::<Fitness>),
    (info::SCHEMA, of::<Info>),
    (boot::SCHEMA, of::<BootReport>),
    (boot::SELF_TEST_SCHEMA, of::<SelfTest>),
    (record::SCHEMA, of::<RecordReport>),
    (replay::SCHEMA, of::<ReplayReport>),
    (reproduce::SCHEMA, of::<ReproduceReport>),
    (review::SCHEMA, of::<ReviewReport>),
    (score::SCHEMA, of::<ScoreReport>),
    (simulate::SCHEMA, of::<SimulateReport>),
    (sweep::SCHEMA, of::<SweepReport>),
    (watch::SCHEMA, of::<Snapshot>),
    (explain::WHY_DIFFER_SCHEMA, of::<WhyDiffer>),
];

/// NAME of `idlewise.NAME/VERSION`.
#[must_use]
pub fn form_name(form: &'static str) -> &'static str {
    form.trim_start_matches("idlewise.").split('/').next().unwrap_or(form)
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
