// SPDX-License-Identifier: GPL-2.0-only
//! Do the documents show what the command prints? A block that follows a line `$ idlewise ...` is compared with a run of
//! that command. `IDLEWISE_UPDATE_DOCS=1 cargo test -p idlewise-cli --test docs` writes the blocks anew; read them then.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Documents, and whether a block holds the whole output or the table at its end.
const DOCUMENTS: [(&str, Part); 3] = [
    ("README.md", Part::Table),
    ("docs/guide/first-replay.md", Part::Whole),
    ("docs/guide/comparing-two-governors.md", Part::Table),
];

#[derive(Clone, Copy)]
enum Part {
    Whole,
    Table,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn printed(command: &str, part: Part) -> String {
    let args = command.split_whitespace().skip(2);
    let o = Command::new(env!("CARGO_BIN_EXE_idlewise")).args(args).current_dir(root()).output().unwrap();
    assert!(o.status.success(), "{command}: {}", String::from_utf8_lossy(&o.stderr));
    let all = String::from_utf8(o.stdout).unwrap();
    let shown = match part {
        Part::Whole => all.as_str(),
        Part::Table => &all[all.find("\n\n").unwrap() + 2..],
    };
    shown.trim_end().to_owned() + "\n"
}

#[test]
fn documents_show_what_the_command_prints() {
    const MARK: &str = "```\n$ idlewise ";
    let update = std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some();
    for (name, part) in DOCUMENTS {
        let path = root().join(name);
        let text = fs::read_to_string(&path).unwrap();
        let at = text.find(MARK).unwrap_or_else(|| panic!("{name}: no command to run"));
        let (before, rest) = text.split_at(at + "```\n".len());
        let (command, rest) =
            rest.split_once("\n```\n```\n").unwrap_or_else(|| panic!("{name}: no output after it"));
        let (shown, after) = rest.split_once("```\n").unwrap();
        let now = printed(command, part);
        if update {
            fs::write(&path, format!("{before}{command}\n```\n```\n{now}```\n{after}")).unwrap();
        } else {
            assert_eq!(shown, now, "{name} is out of date");
        }
    }
}
