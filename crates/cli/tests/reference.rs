// SPDX-License-Identifier: GPL-2.0-only
//! Are the manual pages, the completions and the page of commands sound, and of the commands that there are?
//! `IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli reference::` writes the page anew; read it then.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{idlewise, words};
use crate::house::root;

fn described() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let o = idlewise().arg("self-describe").arg(folder.path()).output().unwrap();
    assert!(o.status.success(), "{}", words(&o.stderr));
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

/// Whether a tool that another project brings is here.
fn has(tool: &str) -> bool {
    let there = Command::new("sh").args(["-c", "command -v \"$0\"", tool]).output().unwrap().status.success();
    if !there {
        println!("skipped: checks of manual pages and completions by {tool} (not installed)");
    }
    there
}

/// Runs a checker, which is silent where all is well.
fn silent(tool: &str, args: &[&str], file: &Path) {
    let o = Command::new(tool).args(args).arg(file).output().unwrap();
    let all = words(&o.stdout) + &words(&o.stderr);
    assert!(o.status.success() && all.is_empty(), "{tool} {args:?} {}:\n{all}", file.display());
}

/// A file of the repository is as the command describes itself.
fn is_described(written: &str, shown: &str) {
    let folder = described();
    let written = fs::read_to_string(folder.path().join(written)).unwrap();
    let file = root().join(shown);
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&file, &written).unwrap();
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(there, written, "{shown} is out of date: IDLEWISE_UPDATE_DOCS=1 writes it");
}

#[test]
fn the_page_of_commands_is_that_of_the_command() {
    is_described("commands.md", "docs/reference/commands.md");
}

#[test]
fn the_functions_of_python_are_those_of_the_command() {
    is_described("commands.py", "python/idlewise/_commands.py");
}

#[test]
fn every_command_has_a_manual_page_that_parses() {
    let folder = described();
    let pages = files(&folder.path().join("man"));
    let help = words(&idlewise().arg("--help").output().unwrap().stdout);
    let names = help.lines().filter_map(|l| l.strip_prefix("  ")?.split(' ').next());
    let commands: Vec<&str> = names.filter(|c| *c != "idlewise").collect();
    let mut seen = 0;
    for command in commands {
        let page = folder.path().join(format!("man/idlewise-{command}.1"));
        let text = fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        for part in [
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH OPTIONS",
            ".SH EXAMPLES",
            ".SH \"EXIT STATUS\"",
            ".SH \"SEE ALSO\"",
        ] {
            assert!(
                text.contains(part) || (command == "platform" && part == ".SH OPTIONS"),
                "{command}: no {part}"
            );
        }
        seen += 1;
    }
    assert!(seen > 15 && pages.len() > 25, "{seen} commands, {} pages", pages.len());
    if has("mandoc") {
        pages.iter().for_each(|page| silent("mandoc", &["-Tlint", "-Wwarning"], page));
    }
    if has("man") {
        pages.iter().for_each(|page| {
            let o = Command::new("man")
                .args(["--warnings", "-l"])
                .arg(page)
                .env("MANPAGER", "cat")
                .output()
                .unwrap();
            // A list of governors that is wider than the page stays in one piece.
            let said =
                words(&o.stderr).lines().filter(|l| !l.is_empty() && !l.contains("can't break line")).count();
            assert!(o.status.success() && said == 0, "{}: {}", page.display(), words(&o.stderr));
        });
    }
}

#[test]
fn completions_load_and_offer_what_the_help_shows() {
    let folder = described();
    let file = |name: &str| folder.path().join("completions").join(name);
    for (shell, name) in [("bash", "idlewise.bash"), ("zsh", "_idlewise"), ("fish", "idlewise.fish")] {
        let text = fs::read_to_string(file(name)).unwrap();
        assert!(text.contains("governors") && !text.contains("put-back"), "{name}: a hidden command");
        if has(shell) {
            silent(shell, &["-n"], &file(name));
        }
    }
    if !has("bash") {
        return;
    }
    let script = "source \"$1\"; COMP_WORDS=(idlewise rep); COMP_CWORD=1; \
                  _idlewise idlewise rep idlewise; echo \"${COMPREPLY[*]}\"";
    let o = Command::new("bash").args(["-c", script, "bash"]).arg(file("idlewise.bash")).output().unwrap();
    assert_eq!(words(&o.stdout).trim(), "replay reproduce", "{}", words(&o.stderr));
}

/// The numbers of a version.
fn is_semantic(version: &str) -> bool {
    let parts: Vec<&str> = version.split('.').collect();
    parts.len() == 3 && parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))
}

#[test]
fn the_changes_begin_with_this_version_and_the_manual_has_its_date() {
    let changes = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let heads: Vec<&str> = changes.lines().filter_map(|l| l.strip_prefix("## ")).collect();
    let (version, date) = heads[0].split_once(" - ").unwrap();
    assert_eq!(version, env!("CARGO_PKG_VERSION"), "the first heading of CHANGELOG.md");
    assert!(heads.iter().all(|h| is_semantic(h.split(' ').next().unwrap())), "{heads:?}");
    let folder = described();
    let page = fs::read_to_string(folder.path().join("man/idlewise.1")).unwrap();
    let title = page.lines().find(|l| l.starts_with(".TH")).unwrap();
    assert!(title.contains(date), "{title}: CHANGELOG.md has {date}; crates/cli/src/version.rs");
    let guide = fs::read_to_string(root().join("docs/guide/ten-minutes.md")).unwrap();
    assert!(
        guide.contains(&format!("idlewise_{version}_amd64.deb")),
        "docs/guide/ten-minutes.md: the package's name"
    );
}

#[test]
fn the_version_has_the_facts_of_the_build_on_request() {
    let short = words(&idlewise().arg("--version").output().unwrap().stdout);
    assert_eq!(short, format!("idlewise {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(words(&idlewise().arg("-V").output().unwrap().stdout), short);
    let o = idlewise().args(["--version", "--verbose"]).output().unwrap();
    let long = words(&o.stdout);
    assert!(long.starts_with(&short), "{long}");
    for fact in ["commit ", "target ", "profile ", "compiler ", "governors ", "platforms ", "experiments "] {
        assert!(long.lines().any(|l| l.starts_with(fact)), "no {fact}in\n{long}");
    }
    assert!(!long.contains('/') || !long.contains(&root().display().to_string()), "{long}");
    let o = idlewise().arg("--verbose").output().unwrap();
    assert_eq!(o.status.code(), Some(2));
}
