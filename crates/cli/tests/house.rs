// SPDX-License-Identifier: GPL-2.0-only
//! Is the house as ARCHITECTURE.md draws it? Imports run downwards only, `unsafe` stays in the rooms that call C or share memory with the kernel, every source file
//! begins with its licence, nothing names a machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Floor of each room, from the drawing in ARCHITECTURE.md.
const FLOORS: [(&str, u32); 53] = [
    ("checkout", 1),
    ("columns", 1),
    ("debuginfo", 1),
    ("files", 1),
    ("manual", 1),
    ("model", 1),
    ("power", 1),
    ("corpus", 2),
    ("governor", 2),
    ("signal", 2),
    ("freq", 2),
    ("trace", 2),
    ("platform", 2),
    ("workload", 2),
    ("stats", 2),
    ("idle", 3),
    ("tape", 3),
    ("score", 3),
    ("madetraces", 3),
    ("report", 3),
    ("chart", 3),
    ("replay", 4),
    ("boot", 4),
    ("live", 4),
    ("parts", 4),
    ("madeinput", 4),
    ("check", 4),
    ("sim", 5),
    ("recorder", 5),
    ("ab", 6),
    ("answer", 6),
    ("recording", 5),
    ("conform", 6),
    ("counterexample", 6),
    ("study", 7),
    ("collect", 8),
    ("explain", 8),
    ("machine", 8),
    ("experiment", 9),
    ("testkit", 9),
    ("reproduce", 10),
    ("review", 10),
    ("sweep", 10),
    ("fitness", 10),
    ("data", 11),
    ("findings", 12),
    ("page", 12),
    ("posting", 12),
    ("view", 12),
    ("screen", 13),
    ("host", 13),
    ("cli", 14),
    ("python", 15),
];

/// The files that may hold `unsafe`.
const UNSAFE: [&str; 13] = [
    "crates/cli/src/main.rs",
    "crates/governor/src/abi.rs",
    "crates/governor/src/apart.rs",
    "crates/governor/src/child.rs",
    "crates/governor/src/landlock.rs",
    "crates/governor/src/object.rs",
    "crates/governor/src/of_caller.rs",
    "crates/governor/src/process.rs",
    "crates/governor/src/region.rs",
    "crates/governor/src/spawn.rs",
    "crates/recorder/src/bpf/sys.rs",
    "crates/signal/src/c/pelt.rs",
    "crates/signal/src/c.rs",
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Files below `folder` with one of the endings, without what a build, npm or git leaves behind.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                out.extend(files(&path, endings));
            }
        } else if endings.iter().any(|e| name.ends_with(e)) {
            out.push(path);
        }
    }
    out.sort();
    out
}

pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

#[test]
fn imports_run_downwards_only() {
    let floors: BTreeMap<&str, u32> = FLOORS.into_iter().collect();
    let mut wrong = Vec::new();
    let mut rooms = 0;
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let room = path.file_name().unwrap().to_string_lossy().into_owned();
        let Some(floor) = floors.get(room.as_str()) else {
            wrong.push(format!("crates/{room} has no floor in tests/house.rs and ARCHITECTURE.md"));
            continue;
        };
        rooms += 1;
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies.split("\n[").next().unwrap_or("");
        for other in dependencies.lines().filter_map(|l| l.strip_prefix("idlewise-")) {
            let other = other.split(['.', ' ', '=']).next().unwrap();
            if floors[other] >= *floor {
                wrong
                    .push(format!("crates/{room} (floor {floor}) imports {other} (floor {})", floors[other]));
            }
        }
    }
    assert_eq!(rooms, FLOORS.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unsafe_stays_where_c_is_called_and_governors_are_kept_apart() {
    let word = concat!("un", "safe");
    let mut holders = Vec::new();
    for path in files(&root().join("crates"), &[".rs"]) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
        if code.into_iter().any(|l| {
            l.contains(&format!("{word} {{"))
                || l.contains(&format!("{word} fn"))
                || l.contains(&format!("{word} impl"))
        }) {
            holders.push(shown(&path));
        }
    }
    assert_eq!(holders, UNSAFE);
    for room in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = fs::read_to_string(room.unwrap().path().join("Cargo.toml")).unwrap();
        let forbidden = manifest.contains("[lints]\nworkspace = true");
        let denied = manifest.contains("unsafe_code = \"deny\"")
            && ["cli", "governor", "recorder", "signal"]
                .iter()
                .any(|r| manifest.contains(&format!("name = \"idlewise-{r}\"")));
        assert!(forbidden || denied, "a room without the workspace's lints:\n{manifest}");
    }
}

#[test]
fn one_file_writes_to_the_terminal() {
    let mut writers = Vec::new();
    for path in files(&root().join("crates"), &[".rs"]) {
        let name = shown(&path);
        let text = fs::read_to_string(&path).unwrap();
        // Tests, benches and build scripts print what no data names; a room of the house prints nothing.
        if !name.contains("/src/") || name.ends_with("tests.rs") || name.starts_with("crates/testkit/") {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        let words = [
            "print!(",
            "println!(",
            "dbg!(",
            "stdout().lock",
            "stdout().write",
            "stderr().lock",
            "stderr().write",
        ];
        if words.iter().any(|w| code.contains(w)) {
            writers.push(name);
        }
    }
    assert_eq!(writers, ["crates/host/src/said.rs"], "`say`, `warn` and reports escape what data names");
}

/// Defaults that may hide a mistake of ours, at most, in the crates that compute. Who removes one lowers the number.
const DEFAULTS: [(&str, usize); 15] = [
    ("conform", 7),
    ("data", 3),
    ("experiment", 4),
    ("explain", 2),
    ("freq", 4),
    ("idle", 0),
    ("machine", 19),
    ("recording", 6),
    ("replay", 0),
    ("score", 2),
    ("sim", 8),
    ("stats", 0),
    ("study", 6),
    ("page", 0),
    ("view", 16),
];
/// So many may go before the number has to follow.
const SLACK: usize = 5;
/// Assertions of our own invariants at run time, at least, in all crates. Who adds one may raise the number.
const ASSERTIONS: usize = 18;

/// The lines of code of a crate, without tests.
fn code(room: &str) -> Vec<String> {
    let folder = root().join("crates").join(room).join("src");
    let mut lines = Vec::new();
    for path in files(&folder, &[".rs"]) {
        let name = shown(&path);
        let text = fs::read_to_string(&path).unwrap();
        if name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        lines.extend(code.lines().map(str::trim).filter(|l| !l.starts_with("//")).map(str::to_owned));
    }
    lines
}

#[test]
fn mistakes_of_our_own_become_no_numbers() {
    let count = |lines: &[String], words: &[&str]| -> usize {
        lines.iter().map(|l| words.iter().map(|w| l.matches(w).count()).sum::<usize>()).sum()
    };
    let mut wrong = Vec::new();
    for (room, most) in DEFAULTS {
        let n = count(&code(room), &["unwrap_or(0)", "unwrap_or_default()"]);
        if n > most {
            wrong.push(format!(
                "crates/{room}: {n} times unwrap_or(0) or unwrap_or_default(), {most} at most: assert what is ours, \
                 and let unknown be None (CONTRIBUTING.md)"
            ));
        } else if n + SLACK < most {
            wrong.push(format!("crates/{room}: only {n} defaults are left: lower its number from {most}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let rooms = FLOORS.iter().map(|(room, _)| *room);
    let all: Vec<String> = rooms.flat_map(code).collect();
    let asserted = count(&all, &["assert!(", "assert_eq!(", "assert_ne!(", "unreachable!("]);
    assert!(
        asserted >= ASSERTIONS,
        "{asserted} assertions at run time, {ASSERTIONS} at least: one went away"
    );
}

/// A file of tests that nobody names is not compiled, and nobody would miss it.
#[test]
fn every_file_of_tests_is_run() {
    let (mut missed, mut seen) = (Vec::new(), 0);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let room = entry.unwrap().path();
        let Ok(tests) = fs::read_dir(room.join("tests")) else { continue };
        let manifest = fs::read_to_string(room.join("Cargo.toml")).unwrap();
        let main = fs::read_to_string(room.join("tests/main.rs")).unwrap();
        assert!(
            manifest.contains("autotests = false") && manifest.contains("path = \"tests/main.rs\""),
            "{room:?}"
        );
        let files = tests.map(|file| file.unwrap().path());
        for file in files.filter(|f| f.extension().is_some_and(|e| e == "rs") && !f.ends_with("main.rs")) {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            seen += 1;
            if !main.contains(&format!("\nmod {name};\n"))
                && !manifest.contains(&format!("[[test]]\nname = \"{name}\""))
            {
                missed.push(shown(&file));
            }
        }
    }
    assert!(seen > 100 && missed.is_empty(), "named neither in main.rs nor in Cargo.toml: {missed:?}");
}

/// A source file that no module names is not compiled: it looks like code, and is none.
#[test]
fn every_source_file_is_compiled() {
    let (mut left, mut seen) = (Vec::new(), 0);
    for (room, _) in FLOORS {
        let src = root().join("crates").join(room).join("src");
        for path in files(&src, &[".rs"]) {
            let folder = path.parent().unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            if folder == src && ["lib", "main"].contains(&name.as_str()) {
                continue;
            }
            let above = if folder == src {
                vec![src.join("lib.rs"), src.join("main.rs")]
            } else {
                vec![folder.with_extension("rs")]
            };
            let declaration = format!("mod {name};");
            let declares = |text: String| text.lines().any(|line| line.trim().ends_with(&declaration));
            seen += 1;
            if !above.iter().any(|file| fs::read_to_string(file).is_ok_and(declares)) {
                left.push(shown(&path));
            }
        }
    }
    assert!(seen > 300 && left.is_empty(), "{seen} files; no module names these: {left:?}");
}

/// A program of tests without a test is built, linked and run for nothing; a test in a crate that builds none is not run.
#[test]
fn crates_build_the_test_programs_that_they_have_tests_for() {
    let mut wrong = Vec::new();
    for (room, _) in FLOORS {
        let folder = root().join("crates").join(room);
        if !folder.join("src/lib.rs").exists() {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let of_lib = manifest.split("\n[").find_map(|part| part.strip_prefix("lib]")).unwrap_or_default();
        let sources: Vec<String> =
            files(&folder.join("src"), &[".rs"]).iter().map(|f| fs::read_to_string(f).unwrap()).collect();
        let any = |line: fn(&str) -> bool| sources.iter().any(|s| s.lines().map(str::trim_start).any(line));
        let tested = any(|l| l.starts_with("#[test]") || l.starts_with("proptest!"));
        let shown = any(|l| (l.starts_with("///") || l.starts_with("//!")) && l.contains("```"));
        for (option, has) in [("test", tested), ("doctest", shown)] {
            let off = of_lib.lines().any(|l| l == format!("{option} = false"));
            if off == has {
                let has = if has { "has some: remove" } else { "has none: add" };
                wrong.push(format!("crates/{room}/Cargo.toml: the crate {has} `{option} = false` in [lib]"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_source_file_begins_with_its_licence() {
    let endings = [".rs", ".c", ".h", ".toml", ".sh", ".py", ".md", ".ts", ".mjs", ".css", "Makefile"];
    let mut without = Vec::new();
    for path in files(&root(), &endings) {
        let text = fs::read_to_string(&path).unwrap();
        let first: Vec<&str> = text.lines().take(2).collect();
        if !first.iter().any(|l| l.contains("SPDX-License-Identifier: GPL-2.0-only")) {
            without.push(shown(&path));
        }
    }
    assert!(without.is_empty(), "{}", without.join("\n"));
}

#[test]
fn nothing_names_the_machine_it_was_built_on() {
    let folder = root().parent().unwrap().display().to_string();
    if folder == "/" {
        eprintln!("skipped: the checkout lies in the root folder");
        return;
    }
    let mut named = Vec::new();
    for path in files(&root(), &[".rs", ".c", ".h", ".toml", ".sh", ".py", ".md", "Makefile"]) {
        let text = fs::read_to_string(&path).unwrap();
        if text.contains(&format!("{folder}/")) {
            named.push(shown(&path));
        }
    }
    assert!(named.is_empty(), "{}", named.join("\n"));
}

#[test]
fn a_module_is_in_a_file_of_its_name() {
    let all = files(&root().join("crates"), &["mod.rs"]);
    let named_mod = all.iter().filter(|path| path.ends_with("mod.rs"));
    let named_mod: Vec<String> = named_mod.map(|path| shown(path)).collect();
    assert!(named_mod.is_empty(), "name.rs next to the folder, not name/mod.rs: {named_mod:?}");
}

/// The pages that a newcomer reads first have a limit, lines.
const FRONT_PAGE: usize = 120;
const FIRST_OUTPUT: usize = 15;
const CONCEPT: usize = 100;

/// Pages that people write; those of governors are made from their sources.
fn pages() -> Vec<PathBuf> {
    let written = |p: &PathBuf| !shown(p).starts_with("docs/governors/");
    files(&root(), &[".md"]).into_iter().filter(written).collect()
}

/// The prose of a page: what stands between the fences of its examples and outputs is left out.
fn prose(page: &str) -> String {
    let mut outside = true;
    let mut kept = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            outside = !outside;
        } else if outside {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn front_page_and_concepts_are_short() {
    let lines = |path: &Path| fs::read_to_string(path).unwrap().lines().count();
    assert!(lines(&root().join("README.md")) <= FRONT_PAGE, "README.md: {FRONT_PAGE} lines at most");
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let output = page.split("\n```\n```\n").nth(1).unwrap().split("\n```").next().unwrap();
    assert!(output.lines().count() <= FIRST_OUTPUT, "README.md: {FIRST_OUTPUT} lines of output at most");
    let concepts = files(&root().join("docs/concepts"), &[".md"]);
    assert!(!concepts.is_empty());
    for page in concepts {
        let n = lines(&page);
        let page = shown(&page);
        assert!(n <= CONCEPT, "{page}: {n} lines, {CONCEPT} at most: evidence belongs in docs/validation");
    }
}

/// Phrases that have a word of the field, or plainer ones.
const PHRASES: [(&str, &str); 26] = [
    ("hang on", "depend on"),
    ("hangs on", "depends on"),
    ("rest on", "depend on, use"),
    ("rests on", "depends on, uses"),
    ("laid open", "read, explained"),
    ("lays open", "reads, explains"),
    ("work off", "run"),
    ("works off", "runs"),
    ("worked off", "ran"),
    ("dearer", "more expensive"),
    ("dearest", "most expensive"),
    ("manieth", "every Nth"),
    ("come along", "ship with"),
    ("comes along", "ships with"),
    ("came along", "shipped with"),
    ("put back", "restore"),
    ("puts back", "restores"),
    ("held against", "compared with"),
    ("holds against", "compares with"),
    ("is told", "gets, was given"),
    ("are told", "get, were given"),
    ("was told", "was given"),
    ("were told", "were given"),
    ("be told", "be given, be known"),
    ("been told", "been given"),
    ("in so many words", "itself"),
];

/// How often the phrases stand in sources; who removes some lowers it. Half of it may go before it has to follow.
const PHRASES_IN_SOURCES: usize = 20;

/// The phrases in a text, whatever breaks its lines: a comment's marks, a string's backslash.
fn phrases(text: &str) -> Vec<(&'static str, &'static str)> {
    let marks = |c: char| c.is_whitespace() || "/*!#\\".contains(c);
    let words = text.lines().flat_map(|l| l.trim_matches(marks).split_whitespace());
    let flat = words.collect::<Vec<_>>().join(" ").to_lowercase();
    let alone = |at: usize, phrase: &str| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        !flat[..at].ends_with(is_part) && !flat[at + phrase.len()..].starts_with(is_part)
    };
    let found = |(phrase, instead): &(&'static str, &'static str)| {
        let n = flat.match_indices(phrase).filter(|(at, _)| alone(*at, phrase)).count();
        vec![(*phrase, *instead); n]
    };
    PHRASES.iter().flat_map(found).collect()
}

#[test]
fn phrases_are_found_across_lines_and_only_as_words() {
    let text = "// What it hangs\n    /// on: \"dearest\" \\\n    and this told";
    assert_eq!(phrases(text).iter().map(|(p, _)| *p).collect::<Vec<_>>(), ["hangs on", "dearest"]);
}

#[test]
fn pages_are_written_in_the_fields_words() {
    let mut wrong = Vec::new();
    for page in pages() {
        for (phrase, instead) in phrases(&prose(&fs::read_to_string(&page).unwrap())) {
            wrong.push(format!("{}: `{phrase}`: {instead}", shown(&page)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sources_come_nearer_to_the_fields_words() {
    let mut found = Vec::new();
    for path in files(&root(), &[".rs", ".c", ".h", ".toml", ".sh", ".py", ".json", "Makefile"]) {
        if path.ends_with("house.rs") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let here = phrases(&text);
        found.extend(here.iter().map(|(p, instead)| format!("{}: `{p}`: {instead}", shown(&path))));
    }
    let n = found.len();
    assert!(n <= PHRASES_IN_SOURCES, "{n}, {PHRASES_IN_SOURCES} at most\n{}", found.join("\n"));
    assert!(n * 2 >= PHRASES_IN_SOURCES, "only {n} are left: lower PHRASES_IN_SOURCES");
}

/// A heading's name in links, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in files(&root(), &[".md"]) {
        let text = prose(&fs::read_to_string(&page).unwrap());
        for link in text.split("](").skip(1).filter_map(|l| l.split(')').next()) {
            if link.starts_with("http") {
                continue;
            }
            seen += 1;
            let (path, name) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let there = match (target.exists(), name) {
                (there, "") => there,
                (false, _) => false,
                _ => {
                    let other = prose(&fs::read_to_string(&target).unwrap());
                    other.lines().any(|l| l.starts_with('#') && anchor(l) == name)
                }
            };
            if !there {
                wrong.push(format!("{}: {link}", shown(&page)));
            }
        }
    }
    assert!(seen > 200 && wrong.is_empty(), "{seen} links; these lead nowhere:\n{}", wrong.join("\n"));
}

/// The most private headers of a governor, with those that they include: one that Linux has today reads from top to bottom.
const HEADERS: usize = 1;
/// The same for an older version, a posting or a variant, whose name has a hyphen: it may share its history with others.
const HEADERS_OF_A_VERSION: usize = 2;

/// Adds the private headers that the text of a source includes, and theirs.
fn private_headers(folder: &Path, text: &str, found: &mut BTreeSet<String>) {
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("#include \""));
    for name in lines.filter_map(|rest| rest.split('"').next()) {
        if found.insert(name.to_owned()) {
            let header = fs::read_to_string(folder.join(name)).unwrap();
            private_headers(folder, &header, found);
        }
    }
}

#[test]
fn a_governor_is_read_without_a_ladder_of_headers() {
    let folder = root().join("governors");
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.extension().is_none_or(|e| e != "c") {
            continue;
        }
        let id = path.file_stem().unwrap().to_string_lossy().into_owned();
        let most = if id.contains('-') { HEADERS_OF_A_VERSION } else { HEADERS };
        let mut headers = BTreeSet::new();
        private_headers(&folder, &fs::read_to_string(&path).unwrap(), &mut headers);
        if headers.len() > most {
            wrong.push(format!("governors/{id}.c needs {headers:?}, and {most} at most are allowed"));
        }
        used.extend(headers);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let headers =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let headers: BTreeSet<String> = headers.filter(|name| name.ends_with(".h")).collect();
    assert_eq!(used, headers, "a header that no governor includes");
}

#[test]
fn headers_are_counted_with_those_that_they_include() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("low.h", "#include <linux/tick.h>\n");
    write("middle.h", "#include \"low.h\"\n");
    let mut found = BTreeSet::new();
    private_headers(
        folder.path(),
        "#include <linux/init.h>\n#include \"middle.h\"\n#include \"low.h\"\n",
        &mut found,
    );
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["low.h", "middle.h"]);
}

#[test]
fn who_reads_a_traces_events_asks_whether_all_could_be_read() {
    let mut wrong = Vec::new();
    let mut readers = 0;
    for path in files(&root().join("crates"), &[".rs"]) {
        let (name, text) = (shown(&path), fs::read_to_string(&path).unwrap());
        let kit = ["trace", "madetraces", "madeinput", "testkit"];
        if !name.contains("/src/") || kit.iter().any(|room| name.starts_with(&format!("crates/{room}/"))) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        if code.contains("trace.events()") {
            readers += 1;
            // Who looks at the first events only leaves it to the caller, who reads on.
            if !code.contains("check_read()") && name != "crates/recording/src/arch.rs" {
                wrong.push(name);
            }
        }
    }
    assert!(readers > 5, "only {readers} files read events");
    assert!(wrong.is_empty(), "trace.events() without trace.check_read(): {wrong:?}");
}
