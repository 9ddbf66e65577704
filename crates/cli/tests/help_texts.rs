// SPDX-License-Identifier: GPL-2.0-only
use idlewise_cli::definition;

/// Names of arguments without a help text, below `command`.
fn without_help(command: &clap::Command, to: &mut Vec<String>) {
    let silent = command.get_arguments().filter(|a| a.get_help().is_none() && !a.is_hide_set());
    to.extend(silent.map(|a| format!("{} {}", command.get_name(), a.get_id())));
    command.get_subcommands().for_each(|c| without_help(c, to));
}

/// Text after the options in the whole help of `command` and those below it.
fn help_ends(command: &clap::Command, to: &mut Vec<String>) {
    to.extend(command.get_after_long_help().map(|help| help.to_string()));
    command.get_subcommands().for_each(|c| help_ends(c, to));
}

#[test]
fn what_follows_the_options_is_broken_where_it_is_written_to_break() {
    // Before the examples, the program's own help has its commands.
    let mut ends = vec![idlewise_manual::examples::ALL.to_owned()];
    definition().get_subcommands().for_each(|c| help_ends(c, &mut ends));
    assert!(ends.len() >= 7, "{ends:?}");
    for line in ends.iter().flat_map(|end| end.lines()) {
        if line.starts_with(' ') {
            // A command or a table: a terminal of 60 columns takes it as it is.
            assert!(line.chars().count() <= 60, "{line}");
        } else {
            // A paragraph, which the terminal's width breaks.
            assert!(line.is_empty() || line.ends_with(['.', ':', '?']), "{line}");
        }
    }
}

#[test]
fn every_command_is_in_one_group() {
    let root = definition();
    let mut shown: Vec<&str> =
        root.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name).collect();
    let groups = idlewise_manual::GROUPS;
    let mut grouped: Vec<&str> = groups.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    shown.sort_unstable();
    grouped.sort_unstable();
    assert_eq!(shown, grouped);
}

#[test]
fn every_argument_has_a_help_text() {
    let mut silent = Vec::new();
    without_help(&definition(), &mut silent);
    assert!(silent.is_empty(), "{silent:?}");
}
