// SPDX-License-Identifier: GPL-2.0-only
//! Does the command take a C file for a governor, and say what became of it?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A folder with a governor whose select does what `body` says, and a cache.
struct Bench(TempDir);

impl Bench {
    fn new(body: &str) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        bench.write("mine.c", body);
        bench
    }

    fn write(&self, name: &str, body: &str) {
        let text = format!(
            "// SPDX-License-Identifier: GPL-2.0-only\n#include <linux/cpuidle.h>\n#include <linux/module.h>\n\
             static int depth;\nmodule_param(depth, int, 0644);\nMODULE_PARM_DESC(depth, \"how deep\");\n\
             static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n{{\n\t{body}\n}}\n\
             static struct cpuidle_governor it = {{ .name = \"it\", .rating = 42, .select = pick }};\n\
             static int start(void)\n{{\n\treturn cpuidle_register_governor(&it);\n}}\nmodule_init(start);\n"
        );
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs the command in the folder, with the cache there.
    fn idlewise(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_idlewise"))
            .args(args)
            .current_dir(self.0.path())
            .env("XDG_CACHE_HOME", self.0.path().join("cache"))
            .env("IDLEWISE_PATIENCE", "1")
            .output()
            .unwrap()
    }
}

fn mixed() -> String {
    root().join("tests/data/mixed.dat").display().to_string()
}

fn out(o: &Output) -> String {
    String::from_utf8(o.stdout.clone()).unwrap()
}

fn err(o: &Output) -> String {
    String::from_utf8(o.stderr.clone()).unwrap()
}

#[test]
fn a_file_is_shown_with_its_parameters() {
    let bench = Bench::new("return depth;");
    let o = bench.idlewise(&["governors", "show", "mine.c"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    for word in ["mine.c", "Registers as it, rating 42", "depth=0 (int)  how deep", "newest kernel"] {
        assert!(out(&o).contains(word), "no {word:?} in {}", out(&o));
    }
    assert!(bench.0.path().join("cache/idlewise").is_dir(), "it is kept where the environment says");
}

/// A line of its own would pass for one of idlewise's.
#[test]
fn line_breaks_in_a_governors_words_are_shown_as_such() {
    let bench = Bench::new("return depth;");
    let path = bench.0.path().join("mine.c");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replace("how deep", "how\\n  forged=1\\033[31m").replace("\"it\"", "\"a\\nb\\tc\"");
    fs::write(&path, text).unwrap();
    let o = bench.idlewise(&["governors", "show", "mine.c"]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    for line in ["Registers as a\\nb\\tc, rating 42", "  depth=0 (int)  how\\n  forged=1\\u001b[31m"] {
        assert!(out(&o).lines().any(|l| l == line), "no {line:?} in {}", out(&o));
    }
}

#[test]
fn a_crash_is_told_below_the_table_and_by_the_exit_status() {
    let bench = Bench::new("__builtin_trap();");
    let args = ["replay", "-v", &mixed(), "--platform", "pixel6", "-g", "menu,./mine.c:depth=1,shallow"];
    let o = bench.idlewise(&args);
    assert_eq!(o.status.code(), Some(2), "{}", err(&o));
    assert!(err(&o).contains("`./mine.c:depth=1` crashed in select, CPU 0, decision 0"), "{}", err(&o));
    let table = out(&o);
    let wakeups = table.lines().find(|l| l.trim_start().starts_with("wakeups")).unwrap();
    let cells: Vec<&str> = wakeups.split_whitespace().collect();
    assert!(cells[1].parse::<u32>().unwrap() > 1000 && cells[2] == "-", "{wakeups}");
    assert!(table.contains("failed    governor"), "{table}");
    let csv = out(&bench.idlewise(&[&args[..], &["-f", "csv"]].concat()));
    let widths: Vec<usize> = csv.lines().map(|l| l.split(',').count()).collect();
    assert!(widths.len() == 4 && widths.iter().all(|w| *w == widths[0]), "{csv}");
}

#[test]
fn one_that_does_not_come_back_is_given_up() {
    let bench = Bench::new("for (;;)\n\t\tbarrier();");
    let o = bench.idlewise(&["replay", &mixed(), "--platform", "pixel6", "-g", "menu,mine.c"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(err(&o).contains("does not return") && out(&o).contains("wakeups"), "{}", err(&o));
}

#[test]
fn a_result_is_not_asked_again_of_another_file() {
    let bench = Bench::new("return depth;");
    let first = bench.0.path().join("first.json").display().to_string();
    let o = bench.idlewise(&[
        "replay",
        &mixed(),
        "--platform",
        "pixel6",
        "-g",
        "mine.c:depth=1",
        "-f",
        "json",
        "-o",
        &first,
    ]);
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    let again = bench.idlewise(&["replay", "--again", &first, "--trust", "mine.c", "-f", "json"]);
    assert_eq!(out(&again), fs::read_to_string(&first).unwrap(), "{}", err(&again));
    bench.write("mine.c", "return !depth;");
    let o = bench.idlewise(&["replay", "--again", &first, "--trust", "./mine.c"]);
    assert_eq!(o.status.code(), Some(2));
    assert!(err(&o).contains("mine.c") && err(&o).contains("has changed since"), "{}", err(&o));
}

#[test]
fn governors_of_a_tree_are_listed_and_found() {
    let bench = Bench::new("return depth;");
    fs::create_dir(bench.0.path().join("tree")).unwrap();
    fs::write(bench.0.path().join("tree/Makefile"), "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n").unwrap();
    bench.write("tree/drivers/cpuidle/governors/one.c", "return 1;");
    bench.write("tree/drivers/cpuidle/governors/two.c", "return 0 ");
    let tree = ["--kernel-tree", "tree"];
    let o = bench.idlewise(&[&["governors", "list"], &tree[..]].concat());
    assert_eq!(o.status.code(), Some(0), "{}", err(&o));
    assert!(out(&o).contains("linux:6.12.1/one") && out(&o).contains("two.c"), "{}", out(&o));
    let o = bench.idlewise(&[&["governors", "show", "linux:6.12/one"], &tree[..]].concat());
    assert!(out(&o).starts_with("linux-6.12.1/one\n") && out(&o).contains("as a file of Linux 6.12.1"));
    let golden = root().join("tests/data/golden/closed/teo-6.1");
    let file =
        fs::read_dir(golden).unwrap().map(|e| e.unwrap().path()).find(|p| p.extension().unwrap() == "gz");
    let file = file.unwrap().display().to_string();
    let o = bench.idlewise(&[&["drive", "-g", "linux/one", "--golden", &file], &tree[..]].concat());
    assert_eq!(o.status.code(), Some(1), "{}", err(&o));
    let o = bench.idlewise(&[&["drive", "-g", "linux:6.12", "--golden", &file], &tree[..]].concat());
    assert!(err(&o).contains("linux:6.12/GOVERNOR"), "{}", err(&o));
    let o = bench.idlewise(&[&["replay", &mixed(), "-g", "linux/two"], &tree[..]].concat());
    assert!(err(&o).contains("Linux 6.12.1") && err(&o).contains("two.c:9"), "{}", err(&o));
}
