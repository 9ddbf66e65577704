// SPDX-License-Identifier: GPL-2.0-only
//! `python/idlewise/_commands.py`: a function for each command that has a result.

use clap::{Arg, ArgAction};

use crate::described::Described;

/// The commands that are functions. The others watch or change the running machine, or print for a shell.
const FUNCTIONS: [&str; 22] = [
    "info",
    "tape",
    "convert",
    "replay",
    "compare",
    "explain",
    "score",
    "simulate",
    "reproduce",
    "check",
    "diff",
    "review",
    "bisect",
    "counterexample",
    "sweep",
    "fitness",
    "corpus run",
    "corpus list",
    "corpus add",
    "corpus scrub",
    "corpus verify",
    "corpus fetch",
];

/// Options about where and how a result is printed: the functions return it.
const PRINTED: [&str; 6] = ["help", "format", "report", "plot", "details", "list"];

/// Commands whose option `output` is the file that they are for.
const WRITES: [&str; 2] = ["tape", "convert"];

const HEAD: &str = r#"# SPDX-License-Identifier: GPL-2.0-only
# Generated: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli reference::
"""The commands of idlewise as functions, with their options as keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Progress, Value, call
from ._result import Result
"#;

/// Characters of a line of a docstring.
const WIDTH: usize = 84;

pub(crate) fn module(commands: &[Described]) -> String {
    let mut out = HEAD.to_owned();
    for name in FUNCTIONS {
        let full = format!("idlewise {name}");
        if let Some(c) = commands.iter().find(|c| c.name == full) {
            function(name, c, &mut out);
        }
    }
    out
}

fn function(name: &str, c: &Described, out: &mut String) {
    let is_kept = |a: &&Arg| {
        let id = a.get_id().as_str();
        !a.is_hide_set() && !PRINTED.contains(&id) && (id != "output" || WRITES.contains(&name))
    };
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        c.command.get_arguments().filter(is_kept).partition(|a| a.is_positional());
    let is_many = |a: &Arg| a.get_num_args().is_some_and(|n| n.max_values() > 1) || is_repeated(a);
    let mut parameters: Vec<String> = positional
        .iter()
        .map(|a| match (is_many(a), a.is_required_set()) {
            (true, _) => format!("*{}: Value", identifier(a)),
            (false, true) => format!("{}: Value", identifier(a)),
            (false, false) => format!("{}: Value | None = None", identifier(a)),
        })
        .collect();
    if !positional.iter().any(|a| is_many(a)) {
        parameters.push("*".to_owned());
    }
    parameters.extend(options.iter().map(|a| format!("{}: {}", identifier(a), kind(a))));
    parameters.extend(["charts: bool = True", "progress: Progress = None"].map(str::to_owned));
    let own = name.replace(' ', "_");
    *out += &format!("\n\ndef {own}(\n    {},\n) -> Result:\n", parameters.join(",\n    "));
    *out += &docstring(c, &positional, &options);
    let given: Vec<String> = positional
        .iter()
        .map(|a| if is_many(a) { format!("*{}", identifier(a)) } else { identifier(a) })
        .collect();
    *out += &format!("    return call(\n        \"{name}\",\n        [{}],\n        {{\n", given.join(", "));
    for a in &options {
        *out += &format!("            \"{}\": {},\n", flag(a), value(a));
    }
    *out += "        },\n        charts,\n        progress,\n    )\n";
}

/// Whether the option stands once for each value.
fn is_repeated(a: &Arg) -> bool {
    matches!(a.get_action(), ArgAction::Append)
}

fn is_switch(a: &Arg) -> bool {
    matches!(a.get_action(), ArgAction::SetTrue)
}

/// The name of the keyword: that of the option, `fail_if`.
fn identifier(a: &Arg) -> String {
    let name = a.get_long().unwrap_or(a.get_id().as_str()).replace('-', "_");
    if KEYWORDS.contains(&name.as_str()) { name + "_" } else { name }
}

/// Words of Python that options have for names; as keywords they end with `_`.
const KEYWORDS: [&str; 4] = ["as", "from", "in", "with"];

fn flag(a: &Arg) -> String {
    format!("--{}", a.get_long().unwrap_or(a.get_id().as_str()))
}

fn kind(a: &Arg) -> &'static str {
    match a {
        a if is_switch(a) => "bool = False",
        a if is_list(a) && a.is_required_set() => "Value | Iterable[Value]",
        a if is_list(a) => "Value | Iterable[Value] | None = None",
        a if a.is_required_set() => "Value",
        _ => "Value | None = None",
    }
}

/// Whether it takes several values.
fn is_list(a: &Arg) -> bool {
    let names = a.get_value_names().unwrap_or_default();
    let by_commas = names.iter().any(|n| n.contains("LIST") || n.contains(','));
    by_commas || is_repeated(a) || a.get_num_args().is_some_and(|n| n.max_values() > 1)
}

/// The value as the command line takes several: each with the option again, all after one, or with commas between.
fn value(a: &Arg) -> String {
    let several = a.get_num_args().is_some_and(|n| n.max_values() > 1);
    let how = match a {
        a if is_switch(a) => return identifier(a),
        _ if several => "after",
        a if is_repeated(a) && a.get_value_delimiter().is_none() => "again",
        _ => "commas",
    };
    format!("({}, \"{how}\")", identifier(a))
}

fn docstring(c: &Described, positional: &[&Arg], options: &[&Arg]) -> String {
    let text = |t: &str| t.replace('\\', "\\\\").replace("\"\"\"", "'''");
    let (what, more) = (text(c.about().trim()), text(c.description().trim()));
    let more = more.strip_prefix(what.as_str()).unwrap_or_default().trim_start_matches(['.', ' ']);
    let mut out = format!("    \"\"\"{what}.\n\n");
    if !more.is_empty() {
        out += &format!("{}\n", wrapped(more));
    }
    let extra = [
        ("charts", "Whether the result keeps what charts and pages are made of."),
        (
            "progress",
            "Called with (what, done, of); None: a bar on terminals and in notebooks; False: nothing.",
        ),
    ];
    let arguments = positional.iter().chain(options).map(|a| {
        let help = a.get_help().map(ToString::to_string).unwrap_or_default();
        (identifier(a), help.split_whitespace().collect::<Vec<_>>().join(" "))
    });
    let extra = extra.map(|(name, what)| (name.to_owned(), what.to_owned()));
    for (name, what) in arguments.chain(extra) {
        out += &wrapped(&format!("{name}: {}", text(&what)));
    }
    out + "    \"\"\"\n"
}

fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut line = String::from("   ");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH && line.trim() != "" {
            out += &format!("{line}\n");
            line = String::from("       ");
        }
        line += &format!(" {word}");
    }
    out + &line + "\n"
}
