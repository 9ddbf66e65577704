// SPDX-License-Identifier: GPL-2.0-only
//! Do the documents show what the command prints? A block that follows a line `$ idlewise ...` is compared with a run of
//! that command. `IDLEWISE_UPDATE_DOCS=1 cargo test -p idlewise-cli --test cli docs::` writes the blocks anew; read them then.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use idlewise_checkout::{root, thorough};

/// Documents, and whether a block holds the whole output, or what follows the head of a replay and its kin.
const DOCUMENTS: [(&str, Part); 20] = [
    ("README.md", Part::Table),
    ("docs/guide/ten-minutes.md", Part::Table),
    ("docs/guide/judge-a-patch.md", Part::Table),
    ("docs/guide/choose-a-governor.md", Part::Table),
    ("docs/guide/tune-a-phone.md", Part::Table),
    ("docs/guide/slow-server.md", Part::Table),
    ("docs/guide/first-replay.md", Part::Whole),
    ("docs/guide/comparing-two-governors.md", Part::Table),
    ("docs/guide/explaining-a-decision.md", Part::Table),
    ("docs/guide/your-own-governor.md", Part::Table),
    ("docs/guide/looking-at-a-trace.md", Part::Whole),
    ("docs/guide/watching.md", Part::Whole),
    ("docs/guide/check.md", Part::Whole),
    ("docs/guide/review.md", Part::Whole),
    ("docs/guide/bisect.md", Part::Whole),
    ("docs/guide/counterexample.md", Part::Whole),
    ("docs/guide/three-disputes.md", Part::Whole),
    ("docs/guide/eco.md", Part::Whole),
    ("docs/guide/sweep.md", Part::Whole),
    ("docs/concepts/power-criterion.md", Part::Whole),
];

/// Commands whose result begins with what it depends on: what a table needs no more than once in a page.
const HEADED: [&str; 3] = [" replay -v ", " compare -v ", " explain "];

/// Commands that take long; `make thorough` compares what they print.
const LONG: [&str; 4] = [
    "idlewise bisect teo-6.6 teo ../shared/traces/mt8196/",
    "idlewise review docs/guide/example/patient.mbox ",
    "idlewise review docs/guide/example/eco.mbox ",
    "idlewise bisect teo-6.6 teo-fixed corpus ",
];

/// Recordings of others, which a clone may lack.
const SHARED: &str = "../shared/traces";

#[derive(Clone, Copy)]
enum Part {
    Whole,
    Table,
}

fn is_update() -> bool {
    std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some()
}

fn printed(command: &str, part: Part) -> String {
    // What a command writes does not belong among the sources.
    let folder = tempfile::tempdir().unwrap();
    let place = format!("{}/", folder.path().display());
    let (run, filter) =
        command.split_once(" | ").map_or((command, None), |(run, filter)| (run, Some(filter)));
    let mut args: Vec<String> = shlex::split(run).unwrap().split_off(2);
    if let Some(at) = args.iter().position(|arg| arg == "-o") {
        args[at + 1].insert_str(0, &place);
    }
    let o = Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).current_dir(root()).output().unwrap();
    // What `check` finds is a result, too.
    let finds = ["idlewise check ", "idlewise bisect "].iter().any(|c| command.contains(c));
    let found = finds && o.status.code() == Some(1);
    assert!(o.status.success() || found, "{command}: {}", String::from_utf8_lossy(&o.stderr));
    let all = String::from_utf8(o.stdout).unwrap().replace(&place, "");
    if let Some(filter) = filter {
        return filtered(&all, filter);
    }
    let shown = match part {
        Part::Whole => all.as_str(),
        Part::Table if !HEADED.iter().any(|c| command.contains(c)) => all.as_str(),
        Part::Table => &all[all.find("\n\n").unwrap() + 2..],
    };
    shown.trim_end().to_owned() + "\n"
}

/// What a filter of the reader's shell, such as `grep`, leaves of an output.
fn filtered(all: &str, filter: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", filter]).current_dir(root()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    child.stdin.take().unwrap().write_all(all.as_bytes()).unwrap();
    let o = child.wait_with_output().unwrap();
    assert!(o.status.success(), "{filter}: nothing is left");
    String::from_utf8(o.stdout).unwrap()
}

#[test]
fn documents_show_what_the_command_prints() {
    for (name, part) in DOCUMENTS {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap();
        if text.contains(SHARED) && !root().join(SHARED).exists() {
            println!("skipped: {name} needs the recordings of {SHARED}");
            continue;
        }
        let written = with_outputs(name, &text, part);
        if is_update() {
            fs::write(&path, written).unwrap();
        } else {
            assert_eq!(text, written, "{name} is out of date");
        }
    }
}

/// Pictures of documents, and the command that draws each but for `--plot CHART=FILE`.
const PICTURES: [(&str, &str, &str); 3] = [
    (
        "docs/pictures/energy-and-latency.svg",
        "front",
        "replay tests/data/mixed.dat --platform pixel6 --governor menu,teo-6.1,teo,teo-util,shallow,oracle",
    ),
    (
        "docs/pictures/timeline.svg",
        "timeline",
        "replay tests/data/mixed.dat --platform pixel6 --governor menu,teo-6.1,teo-util,oracle",
    ),
    (
        "docs/pictures/power-criterion.svg",
        "published",
        "reproduce docs/pictures/power-criterion.toml --runs 3",
    ),
];

#[test]
fn pictures_are_those_that_the_command_draws() {
    let folder = tempfile::tempdir().unwrap();
    for (file, chart, command) in PICTURES {
        let drawn = folder.path().join(format!("{chart}.svg"));
        let o = Command::new(env!("CARGO_BIN_EXE_idlewise"))
            .args(command.split_whitespace())
            .arg("--plot")
            .arg(format!("{chart}={}", drawn.display()))
            .current_dir(root())
            .output()
            .unwrap();
        assert!(o.status.success(), "{command}: {}", String::from_utf8_lossy(&o.stderr));
        let drawn = fs::read(&drawn).unwrap();
        if is_update() {
            fs::create_dir_all(root().join(file).parent().unwrap()).unwrap();
            fs::write(root().join(file), &drawn).unwrap();
        }
        assert!(fs::read(root().join(file)).is_ok_and(|there| there == drawn), "{file} is out of date");
    }
}

#[test]
fn the_front_page_counts_what_there_is() {
    const NUMBERS: [&str; 20] = [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
    ];
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let words: Vec<&str> =
        page.split(|c: char| c.is_whitespace() || "[]()*,.".contains(c)).filter(|w| !w.is_empty()).collect();
    // The number before a phrase.
    let said = |phrase: &[&str]| {
        let at = words.windows(phrase.len()).position(|w| w == phrase);
        let word = words[at.unwrap_or_else(|| panic!("README.md lacks {phrase:?}")) - 1];
        NUMBERS.iter().position(|n| *n == word).map_or_else(|| word.parse().unwrap(), |n| n + 1)
    };
    let files = |folder: &str, begin: &str, end: &str| {
        let names =
            fs::read_dir(root().join(folder)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        names.filter(|n| n.starts_with(begin) && n.ends_with(end)).count()
    };
    assert_eq!(said(&["machines", "ship", "with"]), files("platforms", "", ".toml"), "platforms");
    assert_eq!(said(&["published", "tables"]), files("experiments", "", ".toml"), "experiments");
    assert_eq!(said(&["versions", "of", "TEO"]), files("governors", "teo", ".c"), "versions of TEO");
}

/// The document with every command's output as it is now.
fn with_outputs(name: &str, text: &str, part: Part) -> String {
    const MARK: &str = "```\n$ idlewise ";
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(MARK) {
        let (before, from) = rest.split_at(at + "```\n".len());
        let (command, from) =
            from.split_once("\n```\n```\n").unwrap_or_else(|| panic!("{name}: no output after a command"));
        let after = from.strip_prefix("```\n").or_else(|| Some(from.split_once("\n```\n")?.1)).unwrap();
        let output = if thorough() || is_update() || !LONG.iter().any(|long| command.contains(long)) {
            printed(command, part)
        } else {
            from.strip_suffix(after).unwrap().strip_suffix("```\n").unwrap().to_owned()
        };
        out.push_str(&format!("{before}{command}\n```\n```\n{output}```\n"));
        rest = after;
    }
    assert!(!out.is_empty(), "{name}: no command to run");
    out + rest
}
