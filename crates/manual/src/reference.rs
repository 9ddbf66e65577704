// SPDX-License-Identifier: GPL-2.0-only
//! `docs/reference/commands.md`: every command, its options and its examples.

use clap::Arg;

use crate::described::Described;
use crate::notes::{Notes, Part};

const HEAD: &str = "<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Generated: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli reference:: -->
# Commands

Every command with its arguments, options and examples, as `idlewise help COMMAND` and the manual pages
(`man idlewise-replay`) have them.

";

pub(crate) fn page(commands: &[Described]) -> String {
    let mut out = HEAD.to_owned();
    out += "| command | what it does |\n|---|---|\n";
    for c in &commands[1..] {
        out += &format!("| [`{}`](#{}) | {} |\n", c.name, c.page(), cell(&c.about()));
    }
    commands.iter().for_each(|c| command(c, &mut out));
    out
}

fn command(c: &Described, out: &mut String) {
    *out +=
        &format!("\n## {}\n\n{}\n\n```\n{}\n```\n", c.name, prose(&c.description()), c.usage().join("\n"));
    // Help is an option of every command.
    let arguments: Vec<&Arg> =
        c.command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help").collect();
    if !arguments.is_empty() {
        *out += "\n| argument | what it is |\n|---|---|\n";
        for a in arguments {
            *out += &format!("| {} | {} |\n", cell(&name(a)), cell(&meaning(a)));
        }
    }
    let notes = Notes::of(&c.after_help());
    parts(&notes.examples, out);
    parts(&notes.others, out);
    if let Some(status) = notes.exit_status {
        *out += &format!("\nExit status: {}\n", prose(&status));
    }
}

/// `-g`, `--governor` LIST
fn name(a: &Arg) -> String {
    let value = a.get_num_args().is_some_and(|n| n.takes_values()).then(|| {
        let names = a.get_value_names().unwrap_or_default();
        names.iter().map(|n| n.as_str()).collect::<Vec<_>>().join(" ")
    });
    let mut names: Vec<String> = a.get_short().map(|c| format!("`-{c}`")).into_iter().collect();
    names.extend(a.get_long().map(|long| format!("`--{long}`")));
    match (names.is_empty(), value) {
        (true, value) => format!("*{}*", value.unwrap_or_default()),
        (false, Some(value)) => format!("{} *{value}*", names.join(", ")),
        (false, None) => names.join(", "),
    }
}

fn meaning(a: &Arg) -> String {
    let help = a.get_help().map(ToString::to_string).unwrap_or_default();
    prose(&help.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn parts(parts: &[Part], out: &mut String) {
    for part in parts {
        match part {
            Part::Prose(text) => *out += &format!("\n{}\n", prose(text)),
            Part::Lines(lines) => *out += &format!("\n```\n{}\n```\n", lines.join("\n")),
        }
    }
}

/// Text in which nothing is markup by accident, but for what is code already.
fn prose(text: &str) -> String {
    let escaped = |part: &str| part.replace('<', "\\<").replace('*', "\\*").replace('[', "\\[");
    let parts = text.split('`').enumerate();
    let parts: Vec<String> =
        parts.map(|(i, part)| if i % 2 == 0 { escaped(part) } else { part.to_owned() }).collect();
    parts.join("`")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
