// SPDX-License-Identifier: GPL-2.0-only
//! Does `make install` put everything in its place, and does `make uninstall` leave nothing? Can the site be built? The long
//! forms are `make package` and `make site`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::words;
use crate::house::root;

/// All files below a folder, by their names in it.
fn below(folder: &Path) -> Vec<String> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next).unwrap().map(|e| e.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                out.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    out.sort();
    out
}

fn install(to: &Path, arguments: &[&str]) {
    let mut script = Command::new(root().join("tools/install.sh"));
    script
        .args(arguments)
        .env("DESTDIR", to)
        .env("PREFIX", "/usr")
        .env("NO_STRIP", "1")
        .env_remove("DESCRIBE");
    let o = script.output().unwrap();
    assert!(o.status.success(), "{arguments:?}: {}", words(&o.stderr));
}

/// Links in an installed page to files that are not installed.
fn dead_links(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    // An example in a fence is no link.
    let prose = text.split("```").step_by(2).collect::<String>();
    let links = prose.split("](").skip(1).filter_map(|l| l.split(')').next());
    let files = links.filter(|l| !l.starts_with("http")).map(|l| l.split('#').next().unwrap());
    let dead = files.filter(|f| !f.is_empty() && !page.parent().unwrap().join(f).exists());
    dead.map(|f| format!("{}: {f}", page.display())).collect()
}

#[test]
fn what_is_installed_is_complete_and_goes_away_again() {
    let folder = tempfile::tempdir().unwrap();
    // A file that is not idlewise's stays.
    let other = folder.path().join("usr/share/man/man1/other.1");
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, "").unwrap();
    install(folder.path(), &["install", env!("CARGO_BIN_EXE_idlewise")]);
    let files = below(folder.path());
    for file in [
        "usr/bin/idlewise",
        "usr/share/bash-completion/completions/idlewise",
        "usr/share/doc/idlewise/CHANGELOG.md",
        "usr/share/doc/idlewise/README.md",
        "usr/share/doc/idlewise/docs/guide/ten-minutes.md",
        "usr/share/doc/idlewise/tests/data/mixed.dat",
        "usr/share/fish/vendor_completions.d/idlewise.fish",
        "usr/share/idlewise/platforms/pixel6.toml",
        "usr/share/idlewise/workloads/frames.json",
        "usr/share/man/man1/idlewise-boot-run.1",
        "usr/share/man/man1/idlewise-replay.1",
        "usr/share/man/man1/idlewise.1",
        "usr/share/zsh/site-functions/_idlewise",
    ] {
        assert!(files.iter().any(|f| f == file), "{file} is not installed: {files:#?}");
    }
    let pages: Vec<PathBuf> =
        files.iter().filter(|f| f.ends_with(".md")).map(|f| folder.path().join(f)).collect();
    let dead: Vec<String> = pages.iter().flat_map(|page| dead_links(page)).collect();
    assert!(pages.len() > 60 && dead.is_empty(), "links to what is not installed: {dead:#?}");

    // The guides' commands work in the folder of the documentation.
    let o = Command::new(folder.path().join("usr/bin/idlewise"))
        .args(["replay", "tests/data/mixed.dat", "--platform", "pixel6", "--governor", "menu,oracle"])
        .current_dir(folder.path().join("usr/share/doc/idlewise"))
        .output()
        .unwrap();
    assert!(o.status.success() && words(&o.stdout).contains("idle energy"), "{}", words(&o.stderr));

    install(folder.path(), &["uninstall"]);
    assert_eq!(below(folder.path()), ["usr/share/man/man1/other.1"]);
}

#[test]
fn the_site_is_built_without_a_warning() {
    let venv = root().join("target/site-venv");
    let pinned = fs::read(root().join("tools/site/requirements.txt")).unwrap();
    if fs::read(venv.join("requirements.txt")).is_ok_and(|there| there == pinned) {
        let to = tempfile::tempdir().unwrap();
        let o = Command::new(root().join("tools/site.sh")).arg(to.path().join("site")).output().unwrap();
        assert!(o.status.success(), "{}{}", words(&o.stdout), words(&o.stderr));
        assert!(to.path().join("site/index.html").exists());
    } else {
        println!("skipped: building the site (make site fetches what it needs)");
    }
}
