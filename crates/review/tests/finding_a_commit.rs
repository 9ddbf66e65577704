// SPDX-License-Identifier: GPL-2.0-only
//! Does a bisection name the version that moved a number, and say where it cannot be sure?

use idlewise_review::{BisectReport, BisectRequest, bisect};

use crate::tree::{Tree, recordings};

const HALF: [&str; 2] = [
    "	bins->sleep_length_ns = choice.duration_ns;\n",
    "	bins->sleep_length_ns = choice.duration_ns;\n	choice.duration_ns /= 2;\n",
];
const SELECT: &str = "static int teo_select(";

fn request(tree: &Tree, fail_if: &str) -> BisectRequest {
    BisectRequest {
        good: "base".to_owned(),
        bad: "master".to_owned(),
        kernel_tree: Some(tree.path().to_owned()),
        recordings: recordings(),
        platform: Some("pixel6".to_owned()),
        fail_if: fail_if.to_owned(),
        ..BisectRequest::default()
    }
}

fn found(request: &BisectRequest) -> BisectReport {
    bisect(request, &|_, _, _| ()).unwrap()
}

fn culprit(report: &BisectReport) -> Option<&str> {
    report.culprit.map(|at| report.steps[at].subject.as_str())
}

#[test]
fn the_commit_is_named_with_the_number_along_the_way() {
    let tree = Tree::new();
    tree.change("teo", SELECT, "/* 1 */\nstatic int teo_select(", "one");
    tree.write("README", "x\n");
    tree.commit("not of a governor");
    tree.change("menu", "static int menu_select(", "/* */\nstatic int menu_select(", "of another governor");
    tree.change("teo", HALF[0], HALF[1], "two");
    tree.change("teo", SELECT, "/* 3 */\nstatic int teo_select(", "three");
    let base = request(&tree, "differ > 1%");
    let said = bisect(&base, &|_, _, _| ()).map(drop).unwrap_err().to_string();
    assert!(said.contains("the commits change menu, teo"), "{said}");
    let report = found(&BisectRequest { governor: Some("teo".to_owned()), ..base });
    assert_eq!(culprit(&report), Some("two"));
    let subjects: Vec<&str> = report.steps.iter().map(|s| s.subject.as_str()).collect();
    assert_eq!(subjects, ["Linux 7.3", "one", "two", "three"]);
    assert!(report.monotone && report.suspects.is_empty() && report.without_change == 1);
    let holds: Vec<bool> = report.steps.iter().map(|s| s.measured.as_ref().unwrap().holds).collect();
    assert_eq!(holds, [false, false, true, true]);
    assert!(report.confidence().unwrap().contains("interval needs 5"), "{:?}", report.confidence());
}

#[test]
fn a_way_that_goes_back_and_versions_that_cannot_be_judged_are_said() {
    let tree = Tree::new();
    tree.change("teo", HALF[0], HALF[1], "there");
    tree.change("teo", HALF[1], HALF[0], "back");
    tree.change("teo", SELECT, "static int teo_select(int, ", "broken");
    tree.change("teo", "static int teo_select(int, ", SELECT, "mended");
    let moved = HALF[1].replace("/= 2", "/= 3");
    tree.change(
        "teo",
        "static int teo_select(",
        "static long nothing;\nstatic int teo_select(int, ",
        "broken again",
    );
    tree.change("teo", "static long nothing;\nstatic int teo_select(int, ", SELECT, "mended again");
    tree.change("teo", HALF[0], &moved, "there again");
    let report = found(&request(&tree, "differ > 1%"));
    assert_eq!(culprit(&report), Some("there again"));
    assert!(!report.monotone);
    assert!(report.steps.iter().any(|s| s.subject == "broken" && s.problem.is_some()));
    let nothing = found(&BisectRequest { bad: "master~1".to_owned(), ..request(&tree, "differ > 1%") });
    assert_eq!((nothing.culprit, nothing.monotone), (None, false));
    let said =
        bisect(&request(&tree, "latency_mean > 1ns"), &|_, _, _| ()).map(drop).unwrap_err().to_string();
    assert!(said.contains("there is nothing to find"), "{said}");
}

#[test]
fn our_own_versions_are_a_lineage_as_well() {
    let request = BisectRequest {
        good: "teo-5.6".to_owned(),
        bad: "teo-util".to_owned(),
        recordings: recordings(),
        platform: Some("pixel6".to_owned()),
        fail_if: "latency_mean < -40%".to_owned(),
        ..BisectRequest::default()
    };
    let report = found(&request);
    let names: Vec<&str> = report.steps.iter().map(|s| s.name.as_str()).collect();
    assert_eq!((names.as_slice(), report.culprit), (["teo-5.6", "teo-6.1", "teo-util"].as_slice(), Some(2)));
    let open = report.open_sleep_lengths.as_ref().unwrap();
    let found_too: Vec<Option<&str>> = open.bounds.iter().map(|b| b.culprit.as_deref()).collect();
    assert_eq!(found_too, [Some("teo-util"); 2], "{:?}", report.open_lengths());
    assert!(open.unsure_pct > 0.0 && open.unsure_pct < 50.0, "{}", open.unsure_pct);
    let steps: Vec<f64> = open.bounds.iter().map(|b| b.effect.as_ref().unwrap().mean.unwrap()).collect();
    assert!(steps[0] != steps[1], "other sleep lengths change nothing: {steps:?}");
    for (good, bad, words) in
        [("teo", "teo-6.1", "not later"), ("menu", "teo", "one lineage"), ("v6.1", "v6.6", "--kernel-tree")]
    {
        let wrong = BisectRequest { good: good.to_owned(), bad: bad.to_owned(), ..request.clone() };
        let said = bisect(&wrong, &|_, _, _| ()).map(drop).unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}

/// The sign of a step may depend on sleep lengths that nobody recorded, and the report says so.
#[test]
fn a_step_that_depends_on_unknown_sleep_lengths_is_told() {
    let name = "mt8196/trace_6_12_sleep_length.dat";
    let Some(recording) = idlewise_testkit::recording(name) else { return };
    let request = BisectRequest {
        good: "teo-fixed".to_owned(),
        bad: "teo".to_owned(),
        recordings: vec![recording],
        platform: Some("mt8196".to_owned()),
        recorded_on: Some("mt8196".to_owned()),
        fail_if: "energy < -1%".to_owned(),
        ..BisectRequest::default()
    };
    let report = found(&request);
    let words = report.open_lengths().unwrap();
    assert!(words.starts_with("90 % of sleep lengths are not certain"), "{words}");
    assert!(words.contains("with the least that they allow teo-6.12 is found"), "{words}");
    let open = report.open_sleep_lengths.as_ref().unwrap();
    let found_too: Vec<Option<&str>> = open.bounds.iter().map(|b| b.culprit.as_deref()).collect();
    assert_eq!((report.culprit, found_too), (Some(2), vec![Some("teo-6.12"), Some("teo-6.12")]), "{words}");
}

/// What the guide to three disputes says of a kernel's own file, which no example of it can run: as its users reported, it spends
/// nearly all idle time in WFI. They are its shares, not ours: the recording is of 6.6, which did not.
#[test]
fn teo_of_6_12_stays_in_wfi_where_a_state_is_refused() {
    let Some(tree) = idlewise_testkit::kernel_trees::tree("linux-source-6.12") else { return };
    for (name, least_pct) in [("trace_mainline_tick_wakeups", 93.0), ("trace_6_12_sleep_length", 84.0)] {
        let Some(trace) = idlewise_testkit::recording(&format!("mt8196/{name}.dat")) else { return };
        let governors = ["teo-6.6", "linux/teo", "teo-6.12", "teo"];
        let mut request = idlewise_testkit::request(&[&trace], "mt8196", "", &governors);
        request.setup.kernel_trees = vec![tree.clone()];
        let report = idlewise_testkit::run(&request);
        let wfi = |score: &idlewise_score::Score| score.states[0].residency_pct;
        let shares: Vec<f64> = report.traces[0].governors.iter().map(|g| wfi(&g.score)).collect();
        let [old, of_6_12, ours, new] = shares[..] else { panic!("{shares:?}") };
        assert!(old < 5.0 && new < 10.0 && of_6_12 > least_pct && of_6_12 == ours, "{name}: {shares:?}");
    }
}

#[test]
fn a_governor_larger_than_any_is_refused_before_it_is_read() {
    let tree = Tree::new();
    let text = tree.read("drivers/cpuidle/governors/teo.c");
    tree.write("drivers/cpuidle/governors/teo.c", &(text + &"\n".repeat(16 << 20)));
    tree.commit("Grow");
    tree.git(&["checkout", "-q", "base"]);
    let said = crate::tree::refused(&crate::tree::request(&tree, &["base..master"]));
    assert!(said.contains("drivers/cpuidle/governors/teo.c of commit"), "{said}");
    assert!(said.contains("at most 16777216 are read"), "{said}");
}
