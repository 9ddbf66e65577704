// SPDX-License-Identifier: GPL-2.0-only
//! Is each patch judged for what it does, whatever form the series has, and is the rest judged where one cannot be?

use std::collections::BTreeSet;
use std::fs;
use std::sync::LazyLock;

use idlewise_checkout::{root, thorough};
use idlewise_review::{ProblemKind, ReviewReport, ReviewRequest, Shown};

use crate::tree::{Tree, checked, governor, recordings, refused, request, reviewed, row};

/// Looks half as far ahead.
const HALF: [&str; 2] = [
    "	bins->sleep_length_ns = choice.duration_ns;\n",
    "	bins->sleep_length_ns = choice.duration_ns;\n	choice.duration_ns /= 2;\n",
];
/// Forgets the latency limit.
const NO_LIMIT: [&str; 2] = ["	teo_bins_limit(drv, dev, latency_limit_ns, &choice);\n", ""];
/// No other code.
const COMMENT: [&str; 2] = ["static int teo_select(", "/* Chooses. */\nstatic int teo_select("];

/// A branch whose second commit moves the numbers and whose third breaks a property; the fourth mends it.
fn branch() -> Tree {
    let tree = Tree::new();
    tree.change("teo", COMMENT[0], COMMENT[1], "cpuidle: teo: Say what it does");
    tree.change("teo", HALF[0], HALF[1], "cpuidle: teo: Look half as far ahead");
    tree.write("kernel/other.c", "int x;\n");
    tree.change("teo", NO_LIMIT[0], "	/* No limit. */\n", "cpuidle: teo: Forget the limit");
    tree.change("teo", "	/* No limit. */\n", NO_LIMIT[0], "cpuidle: teo: Remember the limit");
    tree
}

/// Reviews the branch once for all who ask what it says.
static REVIEWED: LazyLock<ReviewReport> = LazyLock::new(|| {
    let tree = branch();
    reviewed(&checked(&tree, &["base..master"]))
});

#[test]
fn the_patch_that_moves_a_number_is_seen() {
    let report = &*REVIEWED;
    let rows: Vec<&str> = governor(report, "teo").rows.iter().map(|r| r.row.as_str()).collect();
    assert_eq!(rows, ["base", "+1", "+2", "+3", "+4"]);
    assert_eq!(report.governors.len(), 1, "menu does not change");
    let against = |name: &str| row(report, "teo", name).against_above.as_ref().unwrap();
    assert_eq!((against("+1").differing, against("+1").effects[0].shown), (0, Shown::Same));
    let moved = against("+2");
    assert_eq!((moved.row.as_str(), moved.differing), ("+1", 1));
    assert!(moved.differ_pct > 1.0 && moved.effects[0].mean.unwrap().abs() > 0.1, "{moved:?}");
    // One machine gives no interval.
    assert_eq!((report.on.machines, moved.effects[0].shown), (1, Shown::NoInterval));
    // The code of the second patch again.
    assert_eq!(row(report, "teo", "+4").same_as.as_deref(), Some("+2"));
    let periods = &row(report, "teo", "+2").periods;
    assert!(!periods.is_empty() && periods.len() <= 3, "{periods:?}");
    for p in periods {
        let [before, after] = [&p.before.chosen, &p.after.chosen];
        assert!((before.state, before.stop_tick) != (after.state, after.stop_tick), "{p:?}");
        assert_eq!((p.before.governor.as_str(), p.after.governor.as_str()), ("+1", "+2"));
        assert!(p.share_pct > 0.0 && p.at_ns > 0);
    }
}

#[test]
fn a_violation_is_new_where_it_comes_and_mended_where_it_goes() {
    let report = &*REVIEWED;
    let new: Vec<&str> =
        row(report, "teo", "+3").check.as_ref().unwrap().new.iter().map(|f| f.property).collect();
    assert_eq!(new, ["latency"]);
    for quiet in ["+1", "+2"] {
        let check = row(report, "teo", quiet).check.as_ref().unwrap();
        assert!(check.new.is_empty() && check.not_checked.is_empty(), "{check:?}");
    }
    assert_eq!(report.patches[2].not_judged, ["kernel/other.c"]);
    assert_eq!(report.patches[2].judged, ["drivers/cpuidle/governors/teo.c"]);
}

/// Rows without what the form of a series says of patches.
fn rows(report: &ReviewReport) -> String {
    serde_json::to_string(&report.governors).unwrap()
}

#[test]
fn an_mbox_a_folder_a_range_and_files_give_the_same_rows() {
    let tree = branch();
    let range = reviewed(&request(&tree, &["base..master"]));
    // Whatever the configuration says.
    for (name, value) in [
        ("color.ui", "always"),
        ("diff.noprefix", "true"),
        ("diff.external", "false"),
        ("core.quotePath", "true"),
        ("log.showSignature", "true"),
        ("core.pager", "false"),
    ] {
        tree.git(&["config", name, value]);
    }
    assert_eq!(rows(&range), rows(&reviewed(&request(&tree, &["base..master"]))));
    for name in ["color.ui", "diff.noprefix", "diff.external"] {
        tree.git(&["config", "--unset", name]);
    }
    let folder = tree.path().join("patches");
    tree.git(&["format-patch", "-q", "--cover-letter", "-o", folder.to_str().unwrap(), "base..master"]);
    let mut files = Vec::new();
    for n in 1..=4 {
        let text = tree.git(&["show", &format!("master~{}:drivers/cpuidle/governors/teo.c", 4 - n)]);
        let file = tree.path().join(format!("v{n}.c"));
        for header in ["governor.h", "teo-bins.h"] {
            fs::write(tree.path().join(header), tree.read(&format!("drivers/cpuidle/governors/{header}")))
                .unwrap();
        }
        fs::write(&file, text).unwrap();
        files.push(file.to_str().unwrap().to_owned());
    }
    let mbox = tree.mbox();
    let mailed = reviewed(&request(&tree, &[mbox.to_str().unwrap()]));
    assert_eq!(mailed.patches[1].name, "cpuidle: teo: Look half as far ahead");
    assert_eq!(rows(&range), rows(&mailed));
    assert_eq!(rows(&range), rows(&reviewed(&request(&tree, &[folder.to_str().unwrap()]))));
    let named = ReviewRequest {
        governors: vec!["teo".to_owned()],
        ..request(&tree, &files.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert_eq!(rows(&range), rows(&reviewed(&named)));
}

#[test]
fn what_cannot_be_judged_is_named_and_the_rest_is() {
    let tree = Tree::new();
    tree.change("teo", COMMENT[0], "static int teo_select(int, ", "cpuidle: teo: Do not compile");
    tree.change("teo", "static int teo_select(int, ", COMMENT[0], "cpuidle: teo: Compile");
    let crash = format!("{}	*(volatile int *)0 = 1;\n", HALF[0]);
    tree.change("teo", HALF[0], &crash, "cpuidle: teo: Crash");
    tree.change("teo", &crash, HALF[1], "cpuidle: teo: Look half as far ahead");
    tree.change("menu", "static int menu_select(", "/* */\nstatic int menu_select(", "cpuidle: menu: Change");
    let mbox = tree.mbox();
    // The base has moved on: the last patch no longer applies.
    tree.change(
        "menu",
        "static int menu_select(",
        "/* Moved on. */\nstatic int menu_select(",
        "cpuidle: menu: Move on",
    );
    let report = reviewed(&request(&tree, &[mbox.to_str().unwrap()]));
    let problem = |name: &str| row(&report, "teo", name).problem.as_ref().unwrap();
    assert_eq!(problem("+1").kind, ProblemKind::DoesNotCompile);
    assert_eq!(problem("+1").file.as_deref(), Some("drivers/cpuidle/governors/teo.c"));
    assert!(problem("+1").line.is_some() && !problem("+1").why.contains(".cache"), "{:?}", problem("+1"));
    assert_eq!(row(&report, "teo", "+2").same_as.as_deref(), Some("base"));
    assert_eq!(problem("+3").kind, ProblemKind::Misbehaves);
    assert!(problem("+3").why.contains("crashed in select"), "{}", problem("+3").why);
    // Against the last version that ran.
    let judged = row(&report, "teo", "+4").against_base.as_ref().unwrap();
    assert!(judged.differing > 0);
    let left_out = report.patches[4].problem.as_ref().unwrap();
    assert_eq!(left_out.kind, ProblemKind::DoesNotApply);
    assert!(left_out.line.is_some() && left_out.why.contains("Moved on"), "{left_out:?}");
    assert_eq!(report.problems().len(), 3, "{:?}", report.problems());
}

#[test]
fn the_same_request_gives_the_same_bytes() {
    let tree = branch();
    let request = ReviewRequest {
        recordings: recordings(),
        repeat: 2,
        workloads: if thorough() { Vec::new() } else { vec!["frames".to_owned(), "timer".to_owned()] },
        seed: 3,
        fail_if: vec!["energy > +0.1%".to_owned(), "new_findings > 0".to_owned(), "blocks > +50%".to_owned()],
        ..checked(&tree, &["base..master"])
    };
    let text = |r: &ReviewReport| serde_json::to_string_pretty(r).unwrap();
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| reviewed(&request))
    };
    let first = with(1);
    assert_eq!(text(&first), text(&with(3)));
    let simulated = &first.governors[0].rows[2].simulated;
    let workloads: BTreeSet<&str> = simulated.iter().map(|change| change.workload.as_str()).collect();
    assert!(workloads.len() == if thorough() { 7 } else { 2 }, "{simulated:?}");
    let checks: Vec<(&str, bool)> = first.checks.iter().map(|c| (c.expression.as_str(), c.failed)).collect();
    assert_eq!(checks, [("energy > +0.1%", true), ("new_findings > 0", true), ("blocks > +50%", false)]);
    // Nothing of where trees are kept.
    assert!(!text(&first).contains("/tree-"), "a folder of the cache");
}

#[test]
fn a_corpus_is_judged_by_its_index_with_intervals_over_machines() {
    let tree = branch();
    let corpus = root().join("corpus");
    let all = fs::read_to_string(corpus.join("index.toml")).unwrap().matches("[[recording]]").count();
    let request = ReviewRequest {
        recordings: vec![corpus],
        platform: None,
        fail_if: vec!["worse > 0".to_owned()],
        ..request(&tree, &["base..master~2"])
    };
    let report = reviewed(&request);
    // Those of others may not be there, and a few are not trusted.
    let known = |why: &str| why.contains("is not there") || why.contains("its grade is poor");
    assert_eq!(report.on.recordings.len() + report.on.left_out.len(), all, "{:?}", report.on.left_out);
    assert!(report.on.recordings.len() >= 60, "{}", report.on.recordings.len());
    assert!(report.on.left_out.iter().all(|l| known(&l.why)), "{:?}", report.on.left_out);
    assert!(report.on.machines >= 12, "{}", report.on.machines);
    let moved = row(&report, "teo", "+2").against_above.as_ref().unwrap();
    assert!(moved.effects.iter().all(|e| e.interval.is_some()), "{:?}", moved.effects);
    assert!(moved.effects.iter().any(|e| e.shown != Shown::Nothing && e.shown != Shown::NoInterval));
    // What carries a mean is seen: how many went which way, their middle, and each basis by itself.
    for e in &moved.effects {
        assert_eq!(e.fell + e.same + e.rose, e.recordings, "{e:?}");
        assert!(e.median.is_some(), "{e:?}");
    }
    let bases: Vec<&str> = moved.by_basis.iter().map(|part| part.name()).collect();
    assert_eq!(bases, ["measured", "emulated", "model"]);
    assert_eq!(moved.by_basis.iter().map(|part| part.recordings).sum::<usize>(), moved.recordings);
    for (at, e) in moved.effects.iter().enumerate() {
        let parts: usize = moved.by_basis.iter().map(|part| part.effects[at].recordings).sum();
        assert_eq!(parts, e.recordings, "{}", e.metric);
    }
    // The measured ones are of one machine.
    assert!(moved.by_basis[0].effects.iter().all(|e| e.interval.is_none()));
}

#[test]
fn a_poor_recording_of_a_folder_is_in_no_mean_and_one_that_is_named_is_and_is_said() {
    let tree = branch();
    let folder = tempfile::tempdir().unwrap();
    // Without what lies next to it nothing says its machine; the one that is assumed contradicts its idle states.
    let copy = folder.path().join("mixed.dat");
    fs::copy(root().join("tests/data/mixed.dat"), &copy).unwrap();
    let with = |path: std::path::PathBuf| ReviewRequest {
        recordings: vec![root().join("tests/data/sleeploop.dat"), path],
        recorded_on: Some("pixel6".to_owned()),
        ..request(&tree, &["base..master~2"])
    };
    let report = reviewed(&with(folder.path().to_owned()));
    let names: Vec<&str> = report.on.recordings.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["sleeploop.dat"]);
    let [left_out] = report.on.left_out.as_slice() else { panic!("{:?}", report.on.left_out) };
    assert_eq!(left_out.name, "mixed.dat");
    assert!(left_out.why.starts_with("its grade is poor: "), "{}", left_out.why);
    assert_eq!(row(&report, "teo", "+2").against_base.as_ref().unwrap().recordings, 1);
    let report = reviewed(&with(copy));
    assert_eq!((report.on.recordings.len(), report.on.left_out.len()), (2, 0));
    let [poor] = report.on.poor.as_slice() else { panic!("{:?}", report.on.poor) };
    assert_eq!(poor.name, "mixed.dat");
    assert_eq!(row(&report, "teo", "+2").against_base.as_ref().unwrap().recordings, 2);
}

#[test]
fn a_governor_may_come_and_go() {
    let tree = Tree::new();
    let teo = tree.read("drivers/cpuidle/governors/teo.c");
    tree.write("drivers/cpuidle/governors/new.c", &teo);
    tree.commit("cpuidle: Add new");
    let file = "drivers/cpuidle/governors/new.c";
    tree.write(file, &tree.read(file).replacen(HALF[0], HALF[1], 1));
    tree.commit("cpuidle: new: Look half as far ahead");
    fs::remove_file(tree.path().join(file)).unwrap();
    tree.commit("cpuidle: Remove new");
    let report = reviewed(&request(&tree, &["base..master"]));
    assert_eq!(row(&report, "new", "base").problem.as_ref().unwrap().kind, ProblemKind::NotThere);
    assert_eq!(row(&report, "new", "+2").against_base.as_ref().unwrap().row, "+1");
    assert_eq!(row(&report, "new", "+3").problem.as_ref().unwrap().kind, ProblemKind::NotThere);
    assert_eq!((report.problems(), report.not_judged()), (Vec::new(), None));
}

#[test]
fn what_cannot_be_done_says_what_and_what_to_do() {
    let tree = branch();
    let said = refused(&request(&tree, &["base..nowhere"]));
    assert!(said.contains("git knows no commit `nowhere`"), "{said}");
    let said = refused(&request(&tree, &["master..base"]));
    assert!(said.contains("none of its 0 commits changes a governor"), "{said}");
    let said = refused(&ReviewRequest { base: "6.999".to_owned(), ..request(&tree, &["base..master"]) });
    assert!(said.contains("apt-get install linux-source-6.999"), "{said}");
    let versions = ["old", "new"].map(|name| {
        let file = tree.path().join(format!("{name}.c"));
        fs::write(&file, tree.read("drivers/cpuidle/governors/teo.c")).unwrap();
        file.to_str().unwrap().to_owned()
    });
    let said = refused(&request(&tree, &versions.each_ref().map(String::as_str)));
    assert!(said.contains("say with --governor of which one they are versions"), "{said}");
    let said = refused(&ReviewRequest { base: "nowhere".to_owned(), ..request(&tree, &["base..master"]) });
    assert!(said.contains("no such folder or file"), "{said}");
    let said =
        refused(&ReviewRequest { governors: vec!["toe".to_owned()], ..request(&tree, &["base..master"]) });
    assert!(said.contains("it has: menu, teo"), "{said}");
    let said = refused(&ReviewRequest {
        fail_if: vec!["enregy > +1%".to_owned()],
        ..request(&tree, &["base..master"])
    });
    assert!(said.contains("new_findings"), "{said}");
    let said =
        refused(&ReviewRequest { workloads: vec!["wep".to_owned()], ..request(&tree, &["base..master"]) });
    assert!(said.contains("--workload \"wep\": ") && said.contains("those are frames, web, "), "{said}");
    let missing = vec![tree.path().join("none.dat")];
    let said = refused(&ReviewRequest { recordings: missing, ..request(&tree, &["base..master"]) });
    assert!(said.contains("none.dat") && said.contains("--recordings names"), "{said}");
    let said = refused(&ReviewRequest {
        recordings: vec![tree.path().join("drivers")],
        ..request(&tree, &["base..master"])
    });
    assert!(said.contains("none of"), "{said}");
}
