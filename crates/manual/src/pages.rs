// SPDX-License-Identifier: GPL-2.0-only
//! A manual page for each command: `man idlewise`, `man idlewise-replay`, `man idlewise-boot-run`.

use std::io;

use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

use crate::described::{Described, lower_first};
use crate::edition::Edition;
use crate::notes::{Notes, Part};

/// What each status of the command's `main` means, where a command's help does not say it.
const EXIT_STATUS: &str = "0 success, 1 a comparison found a difference, 2 failure.";

const FILES: [(&str, &str); 5] = [
    (
        "FILE.toml",
        "The side-car of a recording without a description of its own: its machine, its kernel's governor.",
    ),
    (
        "$XDG_CACHE_HOME/idlewise, else ~/.cache/idlewise",
        "Compiled governors of the user and of kernel trees; in lab, the sources and builds of idlewise-boot(1).",
    ),
    (
        "/run/idlewise/journal",
        "What a running session has changed on this machine. The next command that needs root restores it, if the \
         session died.",
    ),
    (
        "PREFIX/share/doc/idlewise",
        "The documentation: guides by task, concepts, reference, validation, and an example recording.",
    ),
    (
        "PREFIX/share/idlewise/platforms",
        "The machines that ship with idlewise, as text; the command has its own copies.",
    ),
];

const ENVIRONMENT: [(&str, &str); 7] = [
    ("CC", "The C compiler for governors that do not ship with idlewise; cc, gcc or clang without it."),
    ("XDG_CACHE_HOME, HOME", "Where compiled governors are kept."),
    ("IDLEWISE_LAB", "The folder for sources, builds and guests of idlewise-boot(1)."),
    (
        "IDLEWISE_KERNEL_SOURCES",
        "A folder of kernel sources for idlewise-boot(1), searched before /usr/src and before Debian's archive.",
    ),
    ("IDLEWISE_PATIENCE", "CPU time that one step of a foreign governor may take, in seconds."),
    ("IDLEWISE_MEMORY", "Memory that a foreign governor may use, in MiB."),
    ("NO_COLOR", "If it is not empty, idlewise-top(1) uses no colours."),
];

/// The pages: file names and contents.
pub(crate) fn pages(commands: &[Described], edition: Edition) -> io::Result<Vec<(String, Vec<u8>)>> {
    let page = |c: &Described| Ok((format!("man/{}.1", c.page()), page(c, commands, edition)?));
    commands.iter().map(page).collect()
}

fn page(described: &Described, all: &[Described], edition: Edition) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let name = described.page();
    let is_root = described.name == "idlewise";
    let source = format!("idlewise {}", edition.version);
    let mut roff = Roff::new();
    roff.control(
        "TH",
        [name.to_uppercase().as_str(), "1", edition.released, source.as_str(), "User Commands"],
    );
    // Names and lists are not broken, and lines not stretched.
    roff.control("nh", []);
    roff.control("ad", ["l"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {}", lower_first(&described.about())))]);
    roff.control("SH", ["SYNOPSIS"]);
    for (i, way) in described.usage().iter().enumerate() {
        if i > 0 {
            roff.control("br", []);
        }
        let rest = way.strip_prefix(&described.name).unwrap_or(way);
        roff.text([bold(described.name.as_str()), roman(rest)]);
    }
    roff.control("SH", ["DESCRIPTION"]);
    roff.text([roman(described.description())]);
    if is_root {
        describe_all(&mut roff);
    }
    roff.to_writer(&mut out)?;

    let below: Vec<&Described> =
        all.iter().filter(|c| above(&c.name) == Some(described.name.as_str())).collect();
    if !below.is_empty() {
        let mut roff = Roff::new();
        roff.control("SH", ["COMMANDS"]);
        for command in below {
            roff.control("TP", []);
            roff.text([bold(command.page()), roman("(1)")]);
            roff.text([roman(command.about() + ".")]);
        }
        roff.to_writer(&mut out)?;
    }
    Man::new(described.command.clone()).render_options_section(&mut out)?;

    let notes = Notes::of(&described.after_help());
    let mut roff = Roff::new();
    section(&mut roff, "EXAMPLES", &notes.examples);
    section(&mut roff, "NOTES", &notes.others);
    roff.control("SH", ["EXIT STATUS"]);
    for status in notes.exit_status.as_deref().unwrap_or(EXIT_STATUS).split_inclusive([',', ';']) {
        roff.text([roman(status.trim())]);
    }
    if is_root {
        list(&mut roff, "FILES", &FILES);
        list(&mut roff, "ENVIRONMENT", &ENVIRONMENT);
    }
    see_also(&mut roff, described, all);
    roff.to_writer(&mut out)?;
    Ok(out)
}

fn describe_all(roff: &mut Roff) {
    roff.control("PP", []);
    roff.text([roman(
        "A CPU that has nothing to run enters an idle state; the idle governor of the kernel chooses which. idlewise \
         records what a machine does, replays the recording through governors as they are in the kernel, and compares \
         their sleep, latency and energy in one table.",
    )]);
    roff.control("PP", []);
    roff.text([roman(
        "Times are recorded times; energy is in mJ where the powers of a machine's states were measured, and relative \
         elsewhere. An unknown value is ?. The oracle knows every wakeup in advance: it is a bound, not a governor.",
    )]);
}

fn section(roff: &mut Roff, title: &str, parts: &[Part]) {
    if parts.is_empty() {
        return;
    }
    roff.control("SH", [title]);
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Prose(prose) => {
                if i > 0 {
                    roff.control("PP", []);
                }
                roff.text([roman(prose.as_str())]);
            }
            Part::Lines(lines) => {
                roff.control("RS", ["4"]);
                roff.control("nf", []);
                lines.iter().for_each(|line| {
                    roff.text([roman(line.as_str())]);
                });
                roff.control("fi", []);
                roff.control("RE", []);
            }
        }
    }
}

fn list(roff: &mut Roff, title: &str, rows: &[(&str, &str)]) {
    roff.control("SH", [title]);
    for (name, what) in rows {
        roff.control("TP", []);
        roff.text([italic(*name)]);
        roff.text([roman(*what)]);
    }
}

/// The pages above and next to this one, and those of the tools that make and show recordings.
fn see_also(roff: &mut Roff, described: &Described, all: &[Described]) {
    let parent = above(&described.name);
    let near = |c: &&Described| {
        let is_parent = Some(c.name.as_str()) == parent;
        let is_sibling = parent.is_some() && above(&c.name) == parent && c.name != described.name;
        let is_below = above(&c.name) == Some(described.name.as_str());
        is_parent || is_sibling || is_below
    };
    let mut pages: Vec<String> = all.iter().filter(near).map(Described::page).collect();
    pages.extend(["trace-cmd".to_owned(), "perf".to_owned()]);
    roff.control("SH", ["SEE ALSO"]);
    let n = pages.len();
    for (i, page) in pages.into_iter().enumerate() {
        let end: Inline = roman(if i + 1 < n { "(1)," } else { "(1)" });
        roff.text([bold(page), end]);
    }
}

/// `idlewise boot` of `idlewise boot run`.
fn above(name: &str) -> Option<&str> {
    Some(name.rsplit_once(' ')?.0)
}
