// SPDX-License-Identifier: GPL-2.0-only
//! Has every governor its page in `docs/governors/`, and does it show the preface, the parameters and the story as they
//! are? `IDLEWISE_UPDATE_DOCS=1 cargo test -p idlewise-cli --test cli pages::` writes the pages anew; read them then.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_check::Property;
use idlewise_counterexample::{CounterexampleRequest, LONGEST, MACHINES, Origin, find};
use idlewise_governor::{Governor, GovernorInfo, Instance, Param, SHIPPED_VERSIONS, Spec, catalog};
use idlewise_recording::candidate::Candidate;
use idlewise_report::Format;
use idlewise_score::measure::ENERGY;

const HEAD: &str = "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n";

/// Where the index leads on to.
const SOURCES: &str = "\
What each governor does, version by version, is in [governor behaviour](../reference/governor-behaviour.md); the postings that
some of them come from are in [published documents](../reference/published-documents.md).
";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `tests/stories/GOVERNOR.md`, in its parts.
struct Story {
    stands_for: String,
    based_on: Option<String>,
    /// Properties that `idlewise check` finds violated, each with how.
    violates: Vec<(String, String)>,
    body: String,
}

impl Story {
    fn read(id: &str) -> Self {
        let path = root().join(format!("tests/stories/{id}.md"));
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let after = |mark: &str| text.lines().find_map(|l| l.strip_prefix(mark));
        let stands_for = after("Stands for: ").unwrap_or_else(|| panic!("{id}: no line `Stands for: `"));
        let body = |l: &&str| {
            !["<!--", "Stands for: ", "Based on: ", "Violates "].iter().any(|mark| l.starts_with(mark))
        };
        let violates = text.lines().filter_map(|l| l.strip_prefix("Violates ")?.split_once(": "));
        Self {
            stands_for: stands_for.to_owned(),
            based_on: after("Based on: ").map(|g| g.replace('`', "")),
            violates: violates.map(|(name, how)| (name.to_owned(), how.to_owned())).collect(),
            body: text.lines().filter(body).collect::<Vec<_>>().join("\n").trim().to_owned(),
        }
    }
}

/// The idle states of the machine that a table of a story is played on, since reasons name them by number.
fn machine(played: &str) -> String {
    let (place, _) = played.split_once(" by ").unwrap();
    let words: Vec<String> = place.split(", ").map(|w| w.replace('`', "")).collect();
    let platform = idlewise_platform::find(&words[0]).unwrap();
    let cluster = platform.clusters.iter().find(|c| words.contains(&c.name)).unwrap_or(&platform.clusters[0]);
    let only = words.iter().find_map(|w| w.strip_suffix(" only"));
    let states = cluster.table.states().iter().filter(|s| only.is_none_or(|o| s.name == o));
    let us = |ns: i64| (ns as f64 / 1000.0).to_string();
    let states: Vec<String> = states
        .enumerate()
        .map(|(i, s)| format!("{i} {} {}/{}", s.name, us(s.target_residency_ns), us(s.exit_latency_ns)))
        .collect();
    format!("States, target residency/exit latency in us: {}.", states.join(", "))
}

fn story_part(story: &Story) -> String {
    let mut out = String::new();
    let mut shown = String::new();
    for line in story.body.lines() {
        match line.strip_prefix("Played on ").map(machine) {
            Some(machine) if machine != shown => {
                out += &format!("{line}\n{machine}\n");
                shown = machine;
            }
            None if line.starts_with("## ") => out += &format!("#{line}\n"),
            _ => out += &format!("{line}\n"),
        }
    }
    out
}

/// Prose of a preface: parameters as code, governors that nothing else could mean as links.
fn prose(text: &str, id: &str, params: &[Param]) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let parameter = bare.split('=').next().unwrap_or(bare);
        if params.iter().any(|p| p.name == parameter && p.name != "seed" && p.name != "draw") {
            word.replacen(bare, &format!("`{bare}`"), 1)
        } else if bare != id && bare.contains('-') && catalog().iter().any(|g| g.id == bare) {
            word.replacen(bare, &format!("[{bare}]({bare}.md)"), 1)
        } else {
            word.to_owned()
        }
    };
    let mut out = String::new();
    let mut width = 0;
    for word in text.split_whitespace().map(word) {
        let room = width > 0 && width + 1 + word.len() <= 118;
        out += if room {
            " "
        } else if width > 0 {
            "\n"
        } else {
            ""
        };
        width = if room { width + 1 + word.len() } else { word.len() };
        out += &word;
    }
    out
}

fn parameters(params: &[Param]) -> String {
    let mut out = "| parameter | type | default | what it does |\n|---|---|---|---|\n".to_owned();
    for p in params {
        out += &format!("| `{}` | {} | {} | {} |\n", p.name, p.type_name, p.value, p.description);
    }
    out
}

fn page(info: &GovernorInfo, story: &Story) -> String {
    let id = info.id;
    let mut governor = Instance::load(&Spec::new(id), 4_000_000).unwrap();
    let mut params = governor.params();
    params.sort_by_key(|p| info.preface.find(&p.name));
    let based_on = story.based_on.as_ref().map_or_else(String::new, |g| format!("; based on [{g}]({g}.md)"));
    let mut out = format!(
        "{HEAD}<!-- Written from governors/{id}.c and tests/stories/{id}.md by crates/cli/tests/pages.rs -->\n\
         # {id}\n\n{}.\n\nStands for {}{based_on}. Source: [{id}.c](../../governors/{id}.c).\n",
        info.summary, story.stands_for
    );
    let mut paragraphs = info.preface.trim().split("\n\n");
    paragraphs.next();
    for paragraph in paragraphs {
        let heading = paragraph.split_once(": ").filter(|(h, _)| h.len() < 20 && !h.contains('\n'));
        let Some((heading, text)) = heading else {
            out += &format!("\n{}\n", prose(paragraph, id, &params));
            continue;
        };
        let (first, rest) = text.split_at(1);
        let names = params.iter().map(|p| p.name.as_str()).chain(catalog().iter().map(|g| g.id));
        let is_name = names.into_iter().any(|n| text.split([' ', ',', ';', '\n']).next() == Some(n));
        let text = if is_name { text.to_owned() } else { first.to_uppercase() + rest };
        out += &format!("\n## {heading}\n\n{}\n", prose(&text, id, &params));
        if heading == "Parameters" && !params.is_empty() {
            out += &format!("\n{}", parameters(&params));
        }
    }
    if !story.violates.is_empty() {
        out += "\n## What `idlewise check` finds\n\n";
        if !story.stands_for.starts_with("no governor") {
            out +=
                "It is as it is in what this governor stands for; other choices would not be the same.\n\n";
        }
        out += "| property | what it asks for | what happens |\n|---|---|---|\n";
        for (name, how) in &story.violates {
            let property: Property = name.parse().unwrap();
            let how = how.trim_end_matches('.');
            out += &format!(
                "| [`{name}`](../guide/check.md#what-it-asks-for) | {} | {how} |\n",
                property.requirement()
            );
        }
    }
    out += &counterexamples(id);
    out += "\n## Its story\n\nEach table is a test ([how to read it](../../tests/stories/README.md)). The reasons are the \
            governor's own words.\n\n";
    out + &story_part(story)
}

/// The lineage of TEO, oldest first.
const TEO: [&str; 6] = ["teo-5.6", "teo-6.1", "teo-util", "teo-6.6", "teo-fixed", "teo"];
/// How often a counter-example of a page is played over, and how many sequences are drawn for it.
const TIMES: usize = 20;
const ROUNDS: u64 = 300;

/// For a version of TEO where each of its neighbours does better by 5 % of idle energy, again and again.
fn counterexamples(id: &str) -> String {
    let Some(at) = TEO.iter().position(|v| *v == id) else { return String::new() };
    let neighbours = at.checked_sub(1).into_iter().chain([at + 1]).filter_map(|n| TEO.get(n));
    let mut out = "\n## Counter-examples\n\nThe shortest idle periods found that cost it 5 % more idle energy than its \
                   neighbour, when they come again and again.\nEach is drawn, played and compared in the tests; \
                   [`idlewise counterexample`](../guide/counterexample.md) finds others.\n"
        .to_owned();
    for other in neighbours {
        let candidate = |id: &str| Candidate::of(Governor::find(&Spec::new(id)).unwrap());
        let machines = MACHINES.iter().map(|m| idlewise_platform::find(m).unwrap()).collect();
        let request = CounterexampleRequest {
            a: candidate(id),
            b: candidate(other),
            measure: ENERGY,
            by: 5.0,
            origin: Origin::Drawn { machines, seed: 1, rounds: ROUNDS },
            hz: None,
            times: TIMES,
        };
        let found = find(&request, &|_, _, _| ()).unwrap();
        let of = found.found.as_ref().unwrap_or_else(|| panic!("{id} is never worse than {other}"));
        assert!(of.worse >= 5.0 && of.idle_periods <= LONGEST);
        let mut report = idlewise_findings::counterexample(&found);
        report.footer.clear();
        report.preamble.clear();
        let states: Vec<String> = of.machine.states.iter().map(|s| s.name.clone()).collect();
        report.tables.remove(0);
        report.tables[0].title.clear();
        let table = report.render(Format::Markdown, &found).unwrap();
        out += &format!(
            "\nAgainst [{other}]({other}.md): {:.1} % more, {} idle periods in {TIMES} rounds on `{}`, {} ({}), HZ {}.\nThe last \
             round, state and tick:\n\n{}\n\n```\nidlewise counterexample {id} {other} --times {TIMES} --rounds {ROUNDS}\n```\n",
            of.worse,
            of.idle_periods,
            of.machine.id,
            of.machine.cluster,
            states.join(", "),
            of.machine.hz,
            table.trim(),
        );
    }
    out
}

/// The governors based on `parent`, each with those based on it.
fn tree(stories: &BTreeMap<&str, Story>, parent: Option<&str>, indent: &str, out: &mut String) {
    let children: Vec<&&str> =
        stories.iter().filter_map(|(id, s)| (s.based_on.as_deref() == parent).then_some(id)).collect();
    for (i, id) in children.iter().enumerate() {
        let last = i + 1 == children.len();
        let (branch, below) = match (parent, last) {
            (None, _) => ("", ""),
            (_, true) => ("└─ ", "   "),
            (_, false) => ("├─ ", "│  "),
        };
        *out += &format!("{indent}{branch}{id}\n");
        tree(stories, Some(id), &format!("{indent}{below}"), out);
    }
}

fn index(stories: &BTreeMap<&str, Story>) -> String {
    let mut out = format!(
        "{HEAD}<!-- Written from governors/*.c and tests/stories/*.md by crates/cli/tests/pages.rs -->\n# Governors\n\n\
         | governor | what it is | stands for |\n|---|---|---|\n"
    );
    for info in catalog() {
        let stands_for = &stories[info.id].stands_for;
        out += &format!("| [{0}]({0}.md) | {1} | {stands_for} |\n", info.id, info.summary);
    }
    out += "\nTwo [bounds](../concepts/idle-loop.md#the-bounds) are part of the replay engine and have no page: `oracle` knows every wake\n\
         event, `hindsight` how long idle periods last on average.\n\n";
    out += SOURCES;
    out += "\n## Which governor is based on which\n\n```\n";
    tree(stories, None, "", &mut out);
    out + "```\n" + &versions()
}

/// Which governor here a kernel's own is, by release.
fn versions() -> String {
    let mut out = "\n## Which version a kernel has\n\nA recording whose kernel names its release, and `menu` or `teo` as its governor, \
                   is compared with the version of that release.\n*Same*: it makes the same choices; else it is the most alike of \
                   those that ship. Where a distribution leaves the number of the\nstable release out (`6.1.0-32-amd64`), the last of \
                   the series is taken. `--kernel-governor` names another.\n\n\
                   | kernel's | since | here | same | known by |\n|---|---|---|---|---|\n"
        .to_owned();
    for row in SHIPPED_VERSIONS {
        let since = match row.since {
            [0, 0, 0] => "before".to_owned(),
            [version, patch, 0] => format!("{version}.{patch}"),
            [version, patch, stable] => format!("{version}.{patch}.{stable}"),
        };
        let same = if row.same { "yes" } else { "no" };
        out += &format!("| {} | {since} | `{}` | {same} | {} |\n", row.governor, row.spec, row.source);
    }
    out + "\n*Golden decisions* were made by compiled code of that kernel, and tests compare them with what ships (crates/conform/tests/golden.rs).\n\
           *List of changes*: by those of the stable releases, [governor behaviour](../reference/governor-behaviour.md); their code was not\n\
           compiled.\n"
}

#[test]
fn every_governor_has_its_page() {
    let stories: BTreeMap<&str, Story> = catalog().iter().map(|g| (g.id, Story::read(g.id))).collect();
    for (id, story) in &stories {
        let known = story.based_on.as_deref().is_none_or(|g| stories.contains_key(g));
        assert!(known, "{id}: based on a governor that does not exist");
    }
    let mut pages: BTreeMap<String, String> =
        catalog().iter().map(|g| (format!("{}.md", g.id), page(g, &stories[g.id]))).collect();
    pages.insert("README.md".to_owned(), index(&stories));

    let folder = root().join("docs/governors");
    let update = std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some();
    if update {
        fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
    }
    for (name, text) in &pages {
        let shown = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(&shown, text, "docs/governors/{name} is out of date: IDLEWISE_UPDATE_DOCS=1 writes it");
    }
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(pages.contains_key(&name), "docs/governors/{name}: of no governor");
    }
}
