// SPDX-License-Identifier: GPL-2.0-only
//! A line below a replay's tables for each reason why there is a `?`.

use std::path::Path;

use idlewise_report::UNKNOWN;
use idlewise_score::Score;
use idlewise_study::replay::{Group, Per, ReplayReport, results_of_scores};
use idlewise_testkit::{request, run};
use idlewise_view as view;

/// What is said of the `?` in the tables of `report`.
fn why(report: &ReplayReport) -> Vec<String> {
    let footer = view::replay(report).footer;
    footer.iter().filter(|l| l.label() == Some(UNKNOWN)).map(|l| l.text().to_owned()).collect()
}

#[test]
fn every_question_mark_has_its_reason() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat");
    let mut report = run(&request(&[&path], "pixel6", "menu", &["menu", "teo"]));
    let known = report.traces[0].governors[0].score.clone();
    let mut with = |menu: &Score, teo: &Score, groups: [usize; 2], per: Per| {
        let nothing = Group { name: "? what".to_owned(), score: Score::of(&[]) };
        let groups = groups.map(|n| vec![nothing.clone(); n]);
        let [of_menu, of_teo] = groups;
        let scores = [("menu", menu, of_menu), ("teo", teo, of_teo)];
        report.traces[0].governors = results_of_scores(
            scores
                .into_iter()
                .map(|(name, score, groups)| (name.to_owned(), score.clone(), groups))
                .collect(),
        );
        report.request.per = per;
        let shown = view::replay(&report);
        let cells =
            shown.tables.iter().flat_map(|t| t.rows.iter().flat_map(|row| row[t.text_columns..].to_vec()));
        let unknown: Vec<String> = cells.filter(|cell| cell.contains(UNKNOWN)).collect();
        (unknown, why(&report))
    };
    // Neither a name nor a score that is not shown has a `?` of its own.
    assert_eq!(with(&known, &known, [1, 1], Per::All), (Vec::new(), Vec::new()));
    let other = "no value, a share of none, or a change against a value that is 0 or not known";
    let no_energy = Score { energy: f64::NAN, ..known.clone() };
    for (menu, teo, cell) in [(&known, &no_energy, "?"), (&no_energy, &known, " (?)")] {
        let (cells, why) = with(menu, teo, [0, 0], Per::All);
        assert!(cells.iter().any(|c| c.contains(cell)), "{cell}: {cells:?}");
        assert_eq!(why, [other]);
        let (_, why) = with(menu, teo, [2, 1], Per::All);
        assert_eq!(why, ["menu, teo: there is no wakeup, and so no share and no mean"]);
    }
    let (cells, _) = with(&known, &known, [1, 1], Per::Cpu);
    assert!(!cells.is_empty(), "a group's own");
}
