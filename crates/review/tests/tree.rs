// SPDX-License-Identifier: GPL-2.0-only
//! A kernel tree with governors of ours in it, as a git repository with a series of ours.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_checkout::{root, thorough};
use idlewise_review::{GovernorReview, ReviewReport, ReviewRequest, Row, review};

const GOVERNORS: &str = "drivers/cpuidle/governors";

pub(crate) struct Tree {
    pub(crate) folder: tempfile::TempDir,
}

impl Tree {
    /// teo-6.1 and menu-6.1 of ours, as `teo` and `menu` of Linux 7.3.
    pub(crate) fn new() -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap() };
        this.write("Makefile", "VERSION = 7\nPATCHLEVEL = 3\nSUBLEVEL = 0\nEXTRAVERSION =\n");
        for (name, file) in [("teo.c", "teo-6.1.c"), ("menu.c", "menu-6.1.c")] {
            this.write(&format!("{GOVERNORS}/{name}"), &ours(file));
        }
        for header in fs::read_dir(root().join("governors")).unwrap() {
            let name = header.unwrap().file_name().into_string().unwrap();
            if Path::new(&name).extension().is_some_and(|e| e == "h") {
                this.write(&format!("{GOVERNORS}/{name}"), &ours(&name));
            }
        }
        this.git(&["init", "-q", "-b", "master"]);
        this.commit("Linux 7.3");
        this.git(&["tag", "base"]);
        this
    }

    /// Of a kernel's own files.
    pub(crate) fn of_kernel(kernel: &Path) -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap() };
        this.write("Makefile", &fs::read_to_string(kernel.join("Makefile")).unwrap());
        for file in fs::read_dir(kernel.join(GOVERNORS)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            this.write(&format!("{GOVERNORS}/{name}"), &fs::read_to_string(&path).unwrap());
        }
        this.git(&["init", "-q", "-b", "master"]);
        this.commit("A kernel");
        this.git(&["tag", "base"]);
        this
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn base(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, inside: &str, text: &str) {
        let path = self.path().join(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path().join(inside)).unwrap()
    }

    /// Replaces `old` in a governor's file, and commits.
    pub(crate) fn change(&self, governor: &str, old: &str, new: &str, subject: &str) {
        let inside = format!("{GOVERNORS}/{governor}.c");
        let text = self.read(&inside);
        assert!(text.contains(old), "{inside} has no {old:?}");
        self.write(&inside, &text.replacen(old, new, 1));
        self.commit(subject);
    }

    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let out = git.arg("-C").arg(self.path()).args(identity).args(arguments).output().unwrap();
        assert!(out.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }

    /// The commits since `base` as an mbox; the tree is as before them then.
    pub(crate) fn mbox(&self) -> PathBuf {
        let text = self.git(&["format-patch", "--stdout", "base..master"]);
        self.git(&["checkout", "-q", "base"]);
        let path = self.path().join("series.mbox");
        fs::write(&path, text).unwrap();
        path
    }
}

fn ours(file: &str) -> String {
    fs::read_to_string(root().join("governors").join(file)).unwrap()
}

/// Recordings that belong to the project.
pub(crate) fn recordings() -> Vec<PathBuf> {
    ["sleeploop.dat", "mixed.dat"].map(|name| root().join("tests/data").join(name)).to_vec()
}

/// A review on a phone, without simulations and without sequences to check.
pub(crate) fn request(tree: &Tree, series: &[&str]) -> ReviewRequest {
    ReviewRequest {
        series: series.iter().map(|s| (*s).to_owned()).collect(),
        base: tree.base(),
        recordings: vec![recordings()[0].clone()],
        platform: Some("pixel6".to_owned()),
        check_sequences: (!thorough()).then_some(0),
        ..ReviewRequest::default()
    }
}

/// The same with the fewest sequences.
pub(crate) fn checked(tree: &Tree, series: &[&str]) -> ReviewRequest {
    ReviewRequest { check_sequences: (!thorough()).then_some(1), ..request(tree, series) }
}

pub(crate) fn reviewed(request: &ReviewRequest) -> ReviewReport {
    review(request, &|_, _, _| ()).unwrap()
}

pub(crate) fn refused(request: &ReviewRequest) -> String {
    review(request, &|_, _, _| ()).map(drop).unwrap_err().to_string()
}

pub(crate) fn governor<'r>(report: &'r ReviewReport, name: &str) -> &'r GovernorReview {
    report.governors.iter().find(|g| g.governor == name).unwrap()
}

pub(crate) fn row<'r>(report: &'r ReviewReport, name: &str, row: &str) -> &'r Row {
    governor(report, name).rows.iter().find(|r| r.row == row).unwrap()
}
