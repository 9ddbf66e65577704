// SPDX-License-Identifier: GPL-2.0-only
//! `idlewise review` and `idlewise bisect`: is a mail as wide as mails are, does the exit status say what was found, and does the
//! script for a CI do what it says?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::common::{idlewise, words};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The example of the guide, with more arguments.
fn example(more: &[&str]) -> Output {
    let mut command = idlewise();
    command.current_dir(root()).args(["review", "docs/guide/example/patient.mbox", "--sequences", "1"]);
    command.args(["--base", "docs/guide/example/patient.c", "--platform", "pixel6"]);
    command.args(["--recordings", "tests/data/mixed.dat", "tests/data/sleeploop.dat"]).args(more);
    command.output().unwrap()
}

/// One version more of the example's base, which is judged in half of the time that the series takes.
fn one_version(more: &[&str]) -> Command {
    static CHANGED: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        let text = fs::read_to_string(root().join("docs/guide/example/patient.c")).unwrap();
        let changed = text.replace("patience = 3;", "patience = 1;");
        assert_ne!(changed, text);
        fs::write(folder.path().join("patient.c"), changed).unwrap();
        folder
    });
    let mut command = idlewise();
    command.current_dir(root()).args(["review", "--sequences", "1"]).arg(CHANGED.path().join("patient.c"));
    command.args(["--base", "docs/guide/example/patient.c", "--platform", "pixel6"]);
    command.args(["--recordings", "tests/data/mixed.dat", "tests/data/sleeploop.dat"]).args(more);
    command
}

/// The example as mail, and as Markdown.
static MAIL: LazyLock<[String; 2]> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let markdown = folder.path().join("review.md");
    let also = ["--also", markdown.to_str().unwrap()];
    let few = ["--format", "mail", "--repeat", "1", "--workload", "timer"];
    let out = example(&[&few[..], &also[..]].concat());
    [words(&out.stdout), fs::read_to_string(markdown).unwrap()]
});

#[test]
fn a_mail_is_plain_text_of_76_columns() {
    let [mail, _] = &*MAIL;
    for line in mail.lines().filter(|line| !line.starts_with("command: ")) {
        assert!(line.is_ascii() && line.chars().count() <= 76, "{line}");
    }
    for part in
        [" base", " +1 ", " +2 ", " +3 ", "cpuidle: patient: Add a remark", "input (SHA-256): patient +2"]
    {
        assert!(mail.contains(part), "no {part:?} in {mail}");
    }
}

#[test]
fn a_mail_says_what_its_numbers_are_and_where_they_are_from() {
    let [mail, markdown] = MAIL.each_ref().map(|text| text.replace('\n', " "));
    for part in [
        "How to read this:",
        "energy: of idle periods, and of the idle loop around them; a model",
        "latency: from a wake event until the CPU has left its idle state, mean",
        "p99: the 99th percentile of that latency",
        "too deep: idle periods shorter than their state's target residency",
        "too shallow: idle periods that were long enough for a deeper enabled state",
        "recordings by machine: kvm-guest 2 (kernel not known)",
        "assumed: no latency limit, in 2 of 2 recordings",
        "speed by capacity, no cpu_frequency events idle",
        "idle states, disabled ones too: those of pixel6 for all recordings",
        "models: energy, what is called simulated;",
        "1 run (seed 1) of 6 s of timer alone;",
    ] {
        assert!(mail.contains(part), "no {part:?} in {mail}");
    }
    let left_out = "rows of which nothing is shown are left out";
    assert!(!mail.contains(left_out) && mail.contains("one run has no interval (?)"), "{mail}");
    assert!(markdown.contains("How to read this:"), "{markdown}");
    let table = words(&one_version(&["--repeat", "2", "--workload", "timer"]).output().unwrap().stdout)
        .replace('\n', " ");
    assert!(table.contains(left_out) && !table.contains("How to read this"), "{table}");
}

#[test]
fn what_booting_lacks_is_said_before_anything_is_judged() {
    let empty = tempfile::tempdir().unwrap();
    let refused = |name: &str, value: &Path| {
        let mut command = idlewise();
        command
            .current_dir(root())
            .env("IDLEWISE_LAB", empty.path())
            .env("IDLEWISE_KERNEL_SOURCES", empty.path());
        command.env(name, value).args(["review", "docs/guide/example/patient.mbox"]);
        command.args(["--base", "docs/guide/example/patient.c", "-r", "tests/data/mixed.dat", "--boot"]);
        let to = empty.path().join("boots");
        let out = command.arg(&to).output().unwrap();
        assert!(
            out.status.code() == Some(2) && out.stdout.is_empty() && !to.exists(),
            "{}",
            words(&out.stdout)
        );
        words(&out.stderr)
    };
    let said = refused("PATH", empty.path());
    assert!(said.contains("--boot ") && said.contains("aarch64-linux-gnu-gcc"), "{said}");
    assert!(said.contains("dtc, fdtoverlay is missing; on Debian: sudo apt-get install make "), "{said}");
    // All at once.
    assert!(said.contains("qemu-system-aarch64 "), "{said}");
    if !Path::new("/usr/src/linux-source-6.12.tar.xz").exists() {
        assert!(said.contains("apt-get, dpkg-deb"), "{said}");
    }
    let file = empty.path().join("file");
    fs::write(&file, "").unwrap();
    let said = refused("IDLEWISE_LAB", &file.join("lab"));
    assert!(said.contains("kept there, some 3 GB: name another folder with IDLEWISE_LAB"), "{said}");
}

/// What unpacks the kernel's sources stands for all that runs for guests.
#[test]
fn ctrl_c_ends_what_runs_for_guests() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let program = |name: &str, text: &str| {
        fs::write(at(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let needed = ["make", "gcc", "aarch64-linux-gnu-gcc", "bc", "bison", "flex", "perl", "dtc", "fdtoverlay"];
    needed.iter().for_each(|name| program(name, "exit 0"));
    program("qemu-system-aarch64", "echo QEMU emulator version 10.0.0");
    program("tar", &format!("sleep 600 & echo $! >{0}.new; mv {0}.new {0}; wait", at("pid").display()));
    fs::write(at("linux-source-6.12.tar.xz"), "").unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut command = idlewise();
    command.current_dir(root()).env("PATH", path).env("IDLEWISE_LAB", at("lab"));
    command.env("IDLEWISE_KERNEL_SOURCES", folder.path()).args(["review", "docs/guide/example/patient.mbox"]);
    command
        .args(["--base", "docs/guide/example/patient.c", "-r", "tests/data/mixed.dat", "--boot"])
        .arg(at("boots"));
    let mut review = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = |what: &str, done: &mut dyn FnMut() -> bool| {
        let waited = (0..600).any(|_| {
            done() || {
                sleep(Duration::from_millis(100));
                false
            }
        });
        assert!(waited, "{what}");
    };
    until("tar does not run", &mut || at("pid").exists());
    let pid = fs::read_to_string(at("pid")).unwrap().trim().to_owned();
    let runs = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(runs());
    assert!(Command::new("kill").args(["-INT", &review.id().to_string()]).status().unwrap().success());
    assert_eq!(review.wait().unwrap().code(), Some(130));
    until("it runs on", &mut || !runs());
}

#[test]
fn threads_change_no_byte() {
    let json = |threads: &str| {
        let mut command = one_version(&["--no-simulation", "--format", "json"]);
        let out = command.env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(out.status.success(), "{}", words(&out.stderr));
        words(&out.stdout)
    };
    assert_eq!(json("1"), json("3"));
}

#[test]
fn the_exit_status_is_that_of_conditions_and_all_forms_come_from_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, page, table) = (file("r.json"), file("r.html"), file("r.csv"));
    let more = [
        "--no-simulation",
        "--fail-if",
        "energy > +1%",
        "--fail-if",
        "worse > 0",
        "--also",
        &json,
        "--also",
        &table,
    ];
    let out = example(&[&more[..], &["--report", &page]].concat());
    assert_eq!(out.status.code(), Some(1), "{}", words(&out.stderr));
    let shown = words(&out.stdout);
    assert!(shown.contains("failed energy > +1%: +2 patient: +"), "{shown}");
    let result: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(result["checks"][0]["failed"], true);
    assert_eq!(result["checks"][1]["failed"], false);
    assert!(fs::read_to_string(&page).unwrap().contains("patch by patch"));
    assert!(fs::read_to_string(&table).unwrap().starts_with("governor,row,patch,against,recording,"));
    let again = example(&["--also", &json]);
    assert_eq!(again.status.code(), Some(2));
    assert!(words(&again.stderr).contains("exists"), "{}", words(&again.stderr));
}

#[test]
fn a_version_of_debians_sources_is_a_base() {
    let sources = std::env::var_os("IDLEWISE_KERNEL_SOURCES")
        .map_or_else(|| root().join("target/kernel-sources"), PathBuf::from);
    if !sources.join("linux-source-6.12/Makefile").is_file() {
        eprintln!("skipped: no linux-source-6.12 (tools/kernel-sources.sh fetches it)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let teo = sources.join("linux-source-6.12/drivers/cpuidle/governors/teo.c");
    let text = fs::read_to_string(teo).unwrap();
    fs::write(folder.path().join("teo.c"), text.replace("#define DECAY_SHIFT\t3", "#define DECAY_SHIFT\t1"))
        .unwrap();
    let mut command = idlewise();
    command.env("IDLEWISE_KERNEL_SOURCES", &sources).current_dir(root());
    command.arg("review").arg(folder.path().join("teo.c")).args(["--base", "6.12", "--no-simulation"]);
    command.args(["--sequences", "1"]);
    let out = command.args(["--recordings", "tests/data/mixed.dat", "-p", "pixel6"]).output().unwrap();
    let shown = words(&out.stdout);
    assert!(shown.starts_with("teo of linux-6.12."), "{shown}{}", words(&out.stderr));
    assert!(shown.contains("decisions differ from base in 1 of 1 recording"), "{shown}");
}

/// A kernel's repository with one governor, `patient`, and the series of the guide as commits after `base`.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let out =
            Command::new("git").current_dir(folder.path()).args(identity).args(arguments).output().unwrap();
        assert!(out.status.success(), "git {arguments:?}: {}", words(&out.stderr));
    };
    let governors = folder.path().join("drivers/cpuidle/governors");
    fs::create_dir_all(&governors).unwrap();
    fs::copy(root().join("docs/guide/example/patient.c"), governors.join("patient.c")).unwrap();
    fs::write(folder.path().join("Makefile"), "VERSION = 7\nPATCHLEVEL = 1\nSUBLEVEL = 0\nEXTRAVERSION =\n")
        .unwrap();
    git(&["init", "-q", "-b", "master"]);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "Linux 7.1"]);
    git(&["tag", "base"]);
    git(&["am", "-q", root().join("docs/guide/example/patient.mbox").to_str().unwrap()]);
    folder
}

#[test]
fn the_script_for_a_ci_judges_a_branch() {
    let tree = repository();
    let bin = Path::new(env!("CARGO_BIN_EXE_idlewise")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let summary = tree.path().join("summary");
    let script = |range: &str, more: &[&str]| {
        let mut command = Command::new(root().join("contrib/ci/review.sh"));
        command.current_dir(tree.path()).env("PATH", &path).env("GITHUB_STEP_SUMMARY", &summary);
        command.arg(range).arg(root().join("tests/data/mixed.dat")).args(["-p", "pixel6", "--no-simulation"]);
        command.args(["--sequences", "1"]);
        command.args(more).output().unwrap()
    };
    let out = script("base..master", &[]);
    let shown = words(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{shown}{}", words(&out.stderr));
    assert!(shown.contains("| patient |") && shown.contains("cpuidle: patient: Add a remark"), "{shown}");
    assert_eq!(fs::read_to_string(&summary).unwrap(), shown);
    let result = fs::read_to_string(tree.path().join("idlewise-review.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["checks"][0]["expression"], "new_findings > 0");
    // The second of the three.
    assert_eq!(script("master~2..master~1", &["--fail-if", "energy > +1%"]).status.code(), Some(1));
    assert_eq!(script("base..nowhere", &[]).status.code(), Some(2));
    let nothing = script("master..master", &[]);
    assert_eq!(
        (nothing.status.code(), words(&nothing.stdout)),
        (Some(0), "No governor changes in master..master.\n".into())
    );
}

#[test]
fn a_patch_that_cannot_be_read_is_named_by_file_and_line_and_the_rest_is_judged() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let head = |file: &str| {
        format!("--- a/drivers/cpuidle/governors/{file}\n+++ b/drivers/cpuidle/governors/{file}\n")
    };
    write("a.patch", &format!("Words.\n\n{}@@ -1 +1 @@\n-a\n+b\n", head(&format!("{}.c", "x".repeat(300)))));
    let cut = format!("{}@@ -1,3 +1,3 @@\n a\n-b\n", head("patient.c"));
    write(
        "b.mbox",
        &format!(
            "From a Mon Sep 17 00:00:00 2001\nFrom: A <a@b.c>\nSubject: [PATCH] Cut\n\nWords.\n---\n\n{cut}"
        ),
    );
    write("c.mbox", &fs::read_to_string(root().join("docs/guide/example/patient.mbox")).unwrap());
    let mut command = idlewise();
    command.current_dir(root()).arg("review").arg(folder.path()).args([
        "--base",
        "docs/guide/example/patient.c",
        "--sequences",
        "1",
    ]);
    command.args([
        "--recordings",
        "tests/data/mixed.dat",
        "-p",
        "pixel6",
        "--no-simulation",
        "--format",
        "markdown",
    ]);
    let out = command.output().unwrap();
    let (shown, said) = (words(&out.stdout), words(&out.stderr));
    assert_eq!(out.status.code(), Some(2), "{shown}{said}");
    assert!(
        said.ends_with("idlewise: not judged: +1, +2; the result says why, and has all the rest\n"),
        "{said}"
    );
    for part in [
        "it cannot be read: a.patch:3: a file name of 302 bytes, xxxxxxxxxxxxxxxxxxxx...;",
        "it cannot be read: b.mbox:10: hunk header does not match hunk; what follows is judged without it",
        "decisions differ from +3 in 1 of 1 recording",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let mut command = idlewise();
    command.current_dir(root()).args(["review", "docs/guide/example/patient.mbox", "--base", "/etc/passwd"]);
    let said = words(&command.args(["-r", "tests/data/mixed.dat"]).output().unwrap().stderr);
    assert!(said.contains("--base /etc/passwd: a file, and neither C nor a kernel's sources"), "{said}");
}

#[test]
fn what_could_not_be_judged_is_no_success() {
    let tree = repository();
    let file = tree.path().join("drivers/cpuidle/governors/patient.c");
    let text = fs::read_to_string(&file).unwrap();
    let commit = |text: &str, subject: &str| {
        fs::write(&file, text).unwrap();
        let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"];
        let mut git = Command::new("git");
        git.current_dir(tree.path()).args(identity).args(["commit", "-q", "-a", "-m", subject]);
        assert!(git.status().unwrap().success());
    };
    commit(&format!("int broken(;\n{text}"), "cpuidle: patient: Break it");
    let run = |arguments: &[&str]| {
        let mut command = idlewise();
        command.current_dir(root()).args(arguments).args(["-p", "pixel6"]).output().unwrap()
    };
    let base = tree.path().to_str().unwrap();
    let of_range = [
        &["review", "base..master", "--base", base, "--recordings", "tests/data/mixed.dat"][..],
        &["--no-simulation", "--sequences", "1"],
    ]
    .concat();
    let out = run(&of_range);
    let (shown, said) = (words(&out.stdout), words(&out.stderr));
    assert_eq!(out.status.code(), Some(2), "{shown}{said}");
    assert!(
        said.ends_with("idlewise: not judged: +4; the result says why, and has all the rest\n"),
        "{said}"
    );
    assert!(shown.contains("decisions differ from +1 in 1 of 1 recording"), "{shown}");
    assert!(shown.contains("cpuidle: patient: Break it\n      ! patient does not compile: "), "{shown}");
    // A condition that holds wins.
    assert_eq!(run(&[&of_range[..], &["--fail-if", "energy > +1%"]].concat()).status.code(), Some(1));
    let bisect = |condition: &str| {
        run(&[
            "bisect",
            "base",
            "master",
            "tests/data/mixed.dat",
            "--kernel-tree",
            base,
            "--fail-if",
            condition,
        ])
    };
    let out = bisect("energy > +50%");
    let (shown, said) = (words(&out.stdout), words(&out.stderr));
    assert_eq!(out.status.code(), Some(2), "{shown}{said}");
    assert!(shown.contains("master cannot be judged; ") && said.contains("not judged: "), "{shown}{said}");
    assert_eq!(bisect("energy > +1%").status.code(), Some(1));
    commit(&text, "cpuidle: patient: Mend it");
    assert_eq!(bisect("energy > +50%").status.code(), Some(2), "a version on the way is not judged");
}

#[test]
fn a_bisection_of_commits_names_the_patch_that_a_review_shows() {
    let tree = repository();
    let bisect = |condition: &str, more: &[&str]| {
        let mut command = idlewise();
        command.current_dir(root()).args([
            "bisect",
            "base",
            "master",
            "tests/data/mixed.dat",
            "-p",
            "pixel6",
        ]);
        command
            .arg("--kernel-tree")
            .arg(tree.path())
            .args(["--fail-if", condition])
            .args(more)
            .output()
            .unwrap()
    };
    let out = bisect("energy > +1%", &[]);
    let shown = words(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{shown}{}", words(&out.stderr));
    assert!(shown.contains("cpuidle: patient: Call fewer wakeups early"), "{shown}");
    assert_eq!(bisect("energy > +50%", &[]).status.code(), Some(0));
    assert_eq!(bisect("energy", &[]).status.code(), Some(2));
    let result: Value =
        serde_json::from_str(&words(&bisect("energy > +1%", &["-f", "json"]).stdout)).unwrap();
    assert_eq!((&result["culprit"], &result["monotone"]), (&Value::from(2), &Value::from(true)));
}
