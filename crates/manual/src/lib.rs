// SPDX-License-Identifier: GPL-2.0-only
//! The manual pages, the completions of shells and the reference of commands, from the definitions that read the command
//! line.

mod described;
mod edition;
pub mod examples;
mod layout;
mod notes;
mod pages;
mod python;
mod reference;

use std::io;

use clap::builder::PossibleValue;
use clap::{Arg, Command};
use clap_complete::{Shell, generate};

pub use edition::Edition;
pub use layout::{GROUPS, laid_out};

use described::{Described, lower_first, sentences};

/// Files about the command that `root` defines, each with its name: `man/NAME.1`, `completions/...`, `commands.md`, `commands.py`.
///
/// # Errors
/// When a manual page cannot be written.
pub fn files(root: &Command, edition: Edition) -> io::Result<Vec<(String, Vec<u8>)>> {
    let commands = shown(root.clone());
    let mut files = pages::pages(&commands, edition)?;
    for (shell, name) in [
        (Shell::Bash, "completions/idlewise.bash"),
        (Shell::Zsh, "completions/_idlewise"),
        (Shell::Fish, "completions/idlewise.fish"),
    ] {
        let mut text = Vec::new();
        generate(shell, &mut without_hidden(root), "idlewise", &mut text);
        files.push((name.to_owned(), text));
    }
    files.push(("commands.md".to_owned(), reference::page(&commands).into_bytes()));
    files.push(("commands.py".to_owned(), python::module(&commands).into_bytes()));
    Ok(files)
}

/// All commands that the help shows, each before those below it.
fn shown(root: Command) -> Vec<Described> {
    let mut root = root.disable_help_subcommand(true);
    root.build();
    let mut all = Vec::new();
    collect(&root, "", &mut all);
    all
}

fn collect(command: &Command, above: &str, to: &mut Vec<Described>) {
    let name = format!("{above} {}", command.get_name()).trim().to_owned();
    to.push(Described { name: name.clone(), command: command.clone().mut_args(with_values) });
    command.get_subcommands().filter(|c| !c.is_hide_set()).for_each(|c| collect(c, &name, to));
}

/// The argument with the values that it takes, and its default, in its help.
fn with_values(a: Arg) -> Arg {
    let takes = a.get_num_args().is_some_and(|n| n.takes_values());
    let value = |v: &PossibleValue| match v.get_help() {
        Some(help) => format!("{} ({})", v.get_name(), lower_first(&help.to_string())),
        None => v.get_name().to_owned(),
    };
    let values = if a.is_hide_possible_values_set() { Vec::new() } else { a.get_possible_values() };
    let values: Vec<String> = values.iter().filter(|v| takes && !v.is_hide_set()).map(value).collect();
    let mut help = match a.get_long_help() {
        Some(long) => sentences(&long.to_string()),
        None => a.get_help().map(ToString::to_string).unwrap_or_default(),
    };
    if a.get_id() == "help" {
        help = "Print a short help".to_owned();
    }
    if !values.is_empty() {
        let end = if help.ends_with('.') { " Values" } else { "" };
        help += &format!("{end}: {}", values.join(", "));
    }
    let defaults = if a.is_hide_default_value_set() { &[] } else { a.get_default_values() };
    if takes && !defaults.is_empty() {
        let defaults: Vec<_> = defaults.iter().map(|v| v.to_string_lossy()).collect();
        help += &format!(" [default: {}]", defaults.join(","));
    }
    a.help(help).long_help(None::<&str>).hide_possible_values(true).hide_default_value(true)
}

/// The same command without subcommands that the help does not show: shells need not offer them.
fn without_hidden(command: &Command) -> Command {
    let mut out = Command::new(command.get_name().to_owned()).disable_version_flag(true);
    if let Some(about) = command.get_about() {
        out = out.about(about.clone());
    }
    out = out.args(command.get_arguments().filter(|a| !a.is_hide_set()).map(alone));
    out.subcommands(command.get_subcommands().filter(|c| !c.is_hide_set()).map(without_hidden))
}

/// What a shell needs to know of an argument, without its relations to others.
fn alone(a: &Arg) -> Arg {
    let mut out = Arg::new(a.get_id().as_str().to_owned())
        .value_parser(a.get_value_parser().clone())
        .action(a.get_action().clone())
        .value_hint(a.get_value_hint())
        .global(a.is_global_set())
        .last(a.is_last_set());
    if let Some(short) = a.get_short() {
        out = out.short(short);
    }
    if let Some(long) = a.get_long() {
        out = out.long(long.to_owned());
    }
    if let Some(range) = a.get_num_args() {
        out = out.num_args(range);
    }
    if let Some(names) = a.get_value_names() {
        out = out.value_names(names.to_vec());
    }
    match a.get_help() {
        Some(help) => out.help(help.clone()),
        None => out,
    }
}
