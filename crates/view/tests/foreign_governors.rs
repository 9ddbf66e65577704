// SPDX-License-Identifier: GPL-2.0-only
//! In a comparison with foreign governors, does each get its own result, and does one that fails leave the others theirs?

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_explain::{WhyDifferRequest, why_differ};
use idlewise_recording::ReplaySetup;
use idlewise_report::Format;
use idlewise_study::replay::{GovernorResult, Per, ReplayReport, ReplayRequest, replay};
use idlewise_view as view;

/// A governor whose select does what `body` says; the same path each time, so that one object is kept for each name.
fn file(name: &str, body: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign");
    fs::create_dir_all(&folder).unwrap();
    let text = format!(
        "// SPDX-License-Identifier: GPL-2.0-only\n#include <linux/cpuidle.h>\nstatic unsigned int calls;\n\
         static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n{{\n\t{body}\n}}\n\
         static struct cpuidle_governor it = {{ .name = \"it\", .rating = 1, .select = pick }};\n\
         static int start(void)\n{{\n\tcalls = 0;\n\treturn cpuidle_register_governor(&it);\n}}\npostcore_initcall(start);\n"
    );
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn request(governors: &[&str]) -> ReplayRequest {
    ReplayRequest {
        traces: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")],
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        governors: governors.iter().map(|g| (*g).to_owned()).collect(),
        per: Per::Cpu,
        ..ReplayRequest::default()
    }
}

fn result<'r>(report: &'r ReplayReport, governor: &str) -> &'r GovernorResult {
    report.traces[0].governors.iter().find(|g| g.governor == governor).unwrap()
}

#[test]
fn one_that_crashes_leaves_the_others_their_results() {
    let bad = file("crash.c", "if (++calls == 100)\n\t\treturn *(volatile int *)NULL;\n\treturn 0;");
    let good = file("shallow.c", "return dev->states_usage[0].disable ? 1 : 0;");
    let alone = idlewise_testkit::run(&request(&["menu", "shallow", &good]));
    let report = idlewise_testkit::run(&request(&["menu", &bad, "shallow", &good]));
    for name in ["menu", "shallow", good.as_str()] {
        assert_eq!(result(&report, name), result(&alone, name), "{name}");
    }
    assert_eq!(result(&report, &good).score, result(&report, "shallow").score);
    let failed = result(&report, &bad);
    let why = failed.failure.as_deref().unwrap();
    assert!(why.contains("crashed in select, CPU 0, decision 99 (SIGSEGV"), "{why}");
    for form in [Format::Table, Format::Markdown, Format::Csv, Format::Json] {
        let text = view::replay(&report).render(form, &report).unwrap();
        assert!(form == Format::Csv || text.contains("crashed in select"), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }
    let json = serde_json::to_value(failed).unwrap();
    assert!(json.get("score").is_none() && json["regret_pct"].is_null(), "{json}");
    // As the baseline it leaves nothing to compare with.
    let first = idlewise_testkit::run(&request(&[&bad, "menu"]));
    let text = view::replay(&first).render(Format::Table, &first).unwrap();
    assert!(!text.contains('%') || !text.contains("pp)"), "{text}");
}

#[test]
fn answers_that_are_no_state_and_state_that_cpus_share_are_told() {
    let bad = file("range.c", "return calls++ >= 7 ? 99 : 0;");
    let report = idlewise_testkit::run(&request(&[&bad, "menu"]));
    let got = result(&report, &bad);
    assert_eq!(got.out_of_range, got.decisions - 7);
    assert!(got.notes[0].contains("returned 99 on CPU 0, decision 7"), "{:?}", got.notes);
    assert!(got.notes[1].contains("state that CPUs share"), "{:?}", got.notes);
    let text = view::replay(&report).render(Format::Table, &report).unwrap();
    assert!(text.contains("answers out of range") && text.contains("decision 7"), "{text}");
}

#[test]
fn a_mistake_in_the_request_is_refused_before_anything_runs() {
    let good = file("params.c", "return 0;");
    let said = idlewise_testkit::refused(&request(&["menu", &format!("{good}:no_such=1")]));
    assert!(said.contains("no parameter `no_such`"), "{said}");
    let said = idlewise_testkit::refused(&request(&["menu", &file("broken.c", "return no_such();")]));
    assert!(
        said.contains("broken.c:6: neither the file nor idlewise's headers have a function `no_such`"),
        "{said}"
    );
    let said = idlewise_testkit::refused(&request(&["linux:6.12"]));
    assert!(said.contains("--kernel-tree"), "{said}");
}

#[test]
fn the_recorded_kernels_governor_may_be_a_file() {
    let mut asked = request(&["menu"]);
    let deepest = file("deepest.c", "return drv->state_count - 1;");
    asked.setup.recording.kernel_governor = Some(deepest.clone());
    let report = idlewise_testkit::run(&asked);
    let head = report.traces[0].fidelity.as_ref().unwrap();
    assert_eq!(head.governor, deepest);
    assert!(head.decisions > 1000 && head.same_tick_pct.is_some_and(|pct| pct < 50.0), "{head:?}");
    asked.setup.recording.kernel_governor = Some(file("trap.c", "__builtin_trap();"));
    let report = idlewise_testkit::run(&asked);
    let why = report.traces[0].fidelity.as_ref().unwrap_err();
    assert!(why.why().contains("not known") && why.why().contains("crashed in select"), "{why}");
}

#[test]
fn copies_of_a_tree_are_told_apart_by_their_paths() {
    let copy = |name: &str, body: &str| -> PathBuf {
        let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("foreign").join(name);
        let governors = tree.join("drivers/cpuidle/governors");
        fs::create_dir_all(&governors).unwrap();
        fs::write(tree.join("Makefile"), "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n").unwrap();
        let text = fs::read_to_string(file(&format!("{name}.c"), body)).unwrap();
        fs::write(governors.join("one.c"), text).unwrap();
        governors.join("one.c")
    };
    let (a, b) = (copy("a", "return 0;"), copy("b", "return 1;"));
    let (a, b) = (a.display().to_string(), b.display().to_string());
    let report = replay(&request(&[&a, &b]), &|_, _| ()).unwrap();
    let names: Vec<&str> = report.traces[0].governors.iter().map(|g| g.governor.as_str()).collect();
    assert_eq!(names, ["linux-6.12.1/one", b.as_str()]);
    let twice = replay(&request(&[&a, &b, &a]), &|_, _| ()).unwrap_err().to_string();
    assert!(twice.contains("linux-6.12.1/one is named twice"), "{twice}");
    let asked = request(&[]);
    let differ = why_differ(&WhyDifferRequest {
        trace: asked.traces[0].clone(),
        setup: ReplaySetup { platform: asked.setup.platform, ..ReplaySetup::default() },
        governors: [a.clone(), b.clone()],
        cpu: None,
    })
    .unwrap();
    let names: Vec<&str> = differ.foreign.iter().map(|g| g.governor.as_str()).collect();
    assert_eq!(names, [a.as_str(), b.as_str()]);
    assert!(differ.waits.other_state > 0);
    let text = idlewise_view::explain::why_differ(&differ).render(Format::Table, &differ).unwrap();
    for path in [&a, &b] {
        assert!(text.contains(path.as_str()), "no {path} in {text}");
    }
}
