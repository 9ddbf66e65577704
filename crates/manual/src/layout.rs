// SPDX-License-Identifier: GPL-2.0-only
//! `--help` is short: a line for each option, two examples. `idlewise help COMMAND` and the manual page have everything.

use clap::{Arg, ArgAction, Command};

/// The commands, by what one wants to do.
pub const GROUPS: [(&str, &[&str]); 5] = [
    (
        "What would other governors have done?",
        &[
            "record",
            "replay",
            "compare",
            "counterexample",
            "explain",
            "score",
            "sweep",
            "fitness",
            "review",
            "bisect",
        ],
    ),
    ("This machine", &["advise", "ab", "top", "diff", "restore"]),
    ("Machines that are not here", &["simulate", "reproduce", "boot"]),
    ("Recordings and files", &["info", "tape", "convert", "corpus"]),
    ("What there is", &["governors", "platform", "drive", "check", "schema"]),
];

/// Examples of a short help.
const EXAMPLES: usize = 2;

/// `command` with the help of itself and of all below it laid out.
#[must_use]
pub fn laid_out(command: Command) -> Command {
    let groups = groups(&command);
    let template = "{about}\n\n{usage-heading} idlewise COMMAND ...{after-help}";
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    short(command, "").help_template(template).after_long_help(format!("{groups}{examples}")).after_help(format!(
        "{groups}Two to begin with:\n  idlewise record -o trace.dat -- ./load\n  idlewise replay trace.dat -g menu,teo,oracle\n\n\
         idlewise COMMAND --help is short, too, idlewise help COMMAND complete. More examples: idlewise help"
    ))
}

/// A heading for each group, and a line for each command.
fn groups(root: &Command) -> String {
    let line = |name: &&str| {
        let about = root.find_subcommand(name).and_then(Command::get_about);
        format!("  {name:<14} {}\n", about.map(ToString::to_string).unwrap_or_default())
    };
    let group = |(heading, names): &(&str, &[&str])| {
        format!("{heading}\n{}\n", names.iter().map(line).collect::<String>())
    };
    GROUPS.iter().map(group).collect()
}

fn short(command: Command, above: &str) -> Command {
    let name = format!("{above} {}", command.get_name()).trim().to_owned();
    let long = command.get_after_help().map(ToString::to_string);
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::HelpShort)
        .help("Print this help")
        .help_heading(None::<&str>);
    let command = command.disable_help_flag(true).arg(help.display_order(1000));
    let command = match long {
        Some(long) => command
            .after_help(format!("{}\n\nAll of it: {}", first_examples(&long), asks_for_all(&name)))
            .after_long_help(long),
        None => command,
    };
    names.iter().fold(command, |command, below| command.mut_subcommand(below, |c| short(c, &name)))
}

/// `idlewise help boot run`
fn asks_for_all(name: &str) -> String {
    name.replacen("idlewise", "idlewise help", 1)
}

/// The first examples of what stands below a help.
fn first_examples(long: &str) -> String {
    let mut shown = 0;
    let mut out = Vec::new();
    for line in long.lines().take_while(|line| !line.is_empty()) {
        let is_prose = !line.starts_with(' ');
        // A comment begins an example.
        if is_prose {
            shown += 1;
        }
        if shown > EXAMPLES {
            break;
        }
        out.push(line);
    }
    out.join("\n")
}
