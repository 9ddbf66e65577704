// SPDX-License-Identifier: GPL-2.0-only
//! JSON Schemas of results.

use idlewise_data::{FORMS, form_name as name};

use crate::args::SchemaArgs;
use crate::output::{Done, Failure, say};

/// The names of all forms, and `boot`, which those who look for it type.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    FORMS.into_iter().map(|(form, _)| name(form)).chain(["boot"])
}

pub(crate) fn run(a: &SchemaArgs) -> Done {
    let names = |between: &str| FORMS.map(|(form, _)| name(form)).join(between);
    let Some(asked) = &a.report else {
        say(&format!("{}\n", names("\n")))?;
        return Ok(true);
    };
    // The form has the name that the command had first.
    let asked = if asked == "boot" { "lab" } else { asked.as_str() };
    let Some((form, schema)) = FORMS.iter().find(|(form, _)| name(form) == asked) else {
        let names = names(", ");
        return Err(Failure::Error(format!("{asked}: no result with a schema; expected one of {names}")));
    };
    say(&format!("{:#}\n", schema(form).to_value()))?;
    Ok(true)
}
