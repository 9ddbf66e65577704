// SPDX-License-Identifier: GPL-2.0-only
//! Does `explain` tell what replay does, and find where governors part?

use std::path::{Path, PathBuf};

use idlewise_explain::{
    DecisionAddress, ExplainReport, ExplainRequest, Explanation, LineRequest, RowRequest, WhyDiffer,
    WhyDifferRequest, explain, explain_line, explain_row, why_differ,
};
use idlewise_governor::{Value, catalog};
use idlewise_recording::ReplaySetup;
use idlewise_report::Format;
use idlewise_study::replay::{ReplayRequest, replay};
use idlewise_view::explain as view;

fn mixed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat")
}

fn request(governor: &str, which: DecisionAddress) -> ExplainRequest {
    ExplainRequest {
        trace: mixed(),
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        governor: governor.to_owned(),
        others: Vec::new(),
        cpu: None,
        which,
    }
}

fn explained(governor: &str, which: DecisionAddress) -> ExplainReport {
    explain(&request(governor, which)).unwrap()
}

fn differ(a: &str, b: &str) -> WhyDiffer {
    why_differ(&WhyDifferRequest {
        trace: mixed(),
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        governors: [a.to_owned(), b.to_owned()],
        cpu: None,
    })
    .unwrap()
}

#[test]
fn a_governor_that_explains_itself_decides_as_ever() {
    for info in catalog() {
        let replayed = replay(
            &ReplayRequest {
                traces: vec![mixed()],
                setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
                governors: vec![info.id.to_owned()],
                ..ReplayRequest::default()
            },
            &|_, _| {},
        )
        .unwrap();
        let report = explained(info.id, DecisionAddress::Decision(500));
        let e = &report.explanation;
        assert_eq!(e.decisions, replayed.traces[0].governors[0].decisions, "{}", info.id);
        // What a plain copy did at that time.
        let mut plain = request(info.id, DecisionAddress::At(e.at_ns));
        plain.others = vec![info.id.to_owned()];
        let again = explain(&plain).unwrap().explanation;
        assert_eq!((again.decision, again.others[0].state), (500, e.chosen.state), "{}", info.id);
        assert!(!e.reasons.is_empty(), "{} says nothing", info.id);
    }
}

#[test]
fn a_decision_is_found_by_its_time() {
    let by_number = explained("menu", DecisionAddress::Decision(1000)).explanation;
    assert_eq!(explained("menu", DecisionAddress::At(by_number.at_ns)).explanation, by_number);
    assert_eq!(explained("menu", DecisionAddress::At(by_number.at_ns + 1)).explanation, by_number);
    assert_eq!(explained("menu", DecisionAddress::At(by_number.at_ns - 1)).explanation.decision, 999);
    let said = explain(&request("menu", DecisionAddress::At(5))).unwrap_err().to_string();
    assert!(said.contains("was not idle yet at 0.000000005 s") && said.contains("4816.2"), "{said}");
}

#[test]
fn the_timers_of_a_wait_are_as_well_known_however_often_it_is_asked_again() {
    let at = |n: u64| explained("shallow:stop_tick=0", DecisionAddress::Decision(n)).explanation;
    let known = |e: &Explanation| e.inputs[0].confidence.unwrap();
    let mut again = 0;
    let mut before = at(600);
    for n in 601..660 {
        let now = at(n);
        // A sleep that only the tick ended goes on: the same wait.
        if before.came.as_ref().unwrap().cause == "tick" {
            assert_eq!(known(&now), known(&before), "decision {n}");
            again += 1;
        }
        before = now;
    }
    assert!(again > 5, "{again}");
}

#[test]
fn what_cannot_be_explained_is_refused_with_the_reason() {
    let said = explain(&request("menu", DecisionAddress::Decision(1_000_000))).unwrap_err().to_string();
    assert!(said.contains("there is no number 1000000"), "{said}");
    let said = explain(&request("oracle", DecisionAddress::Decision(0))).unwrap_err().to_string();
    assert!(said.contains("--others"), "{said}");
    let said = explain(&request("menu:disable=1", DecisionAddress::Decision(0))).unwrap_err().to_string();
    assert!(said.contains("explain menu, with menu:disable=1 among --others"), "{said}");
    let wrong = ExplainRequest { cpu: Some(7), ..request("menu", DecisionAddress::Decision(0)) };
    let said = explain(&wrong).unwrap_err().to_string();
    assert!(said.contains("CPU 7") && said.ends_with(": 0"), "{said}");
}

#[test]
fn a_governor_does_not_part_from_itself() {
    let same = differ("teo-6.1", "teo-util:util_steps=0");
    assert_eq!((same.waits.other_state, same.waits.other_tick, same.moments.len()), (0, 0, 0));
    assert!(same.waits.all > 7000);
}

#[test]
fn partings_are_found_on_both_sides_of_the_same_wait() {
    let found = differ("teo-6.1", "teo-util");
    assert!(found.waits.other_state > 100 && found.waits.other_tick > 1000);
    assert!((1..=3).contains(&found.moments.len()));
    for m in &found.moments {
        let choice = |e: &Explanation| (e.chosen.state, e.came.as_ref().unwrap().tick == "kept");
        assert_ne!(choice(&m.a), choice(&m.b), "{}", m.why);
        assert!(m.a.at_ns.abs_diff(m.b.at_ns) < 4_000_000, "{}: not the same wait", m.why);
    }
    assert!(found.moments[0].why.starts_with("the first"));
    let turned = differ("teo-util", "teo-6.1");
    assert_eq!(turned.moments[0].latency_ns, -found.moments[0].latency_ns);
    assert_eq!(turned.moments[0].a, found.moments[0].b);
}

#[test]
fn every_form_has_the_reasons() {
    let report = explained("teo-util", DecisionAddress::Decision(3000));
    for format in [Format::Table, Format::Markdown, Format::Csv, Format::Json] {
        let text = view::explain(&report).render(format, &report).unwrap();
        let word = report.explanation.reasons[0].split(' ').next().unwrap();
        assert!(text.contains(word), "{format:?}:\n{text}");
    }
}

/// A governor out of a file that is not ours: it goes to the second state once it was asked often enough.
fn foreign(name: &str, select: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explained");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    let text = format!(
        "// SPDX-License-Identifier: GPL-2.0-only\n#include <linux/cpuidle.h>\n#include <linux/init.h>\n\
         struct mine {{ int asked; long deep_ns[3]; }};\n\
         static DEFINE_PER_CPU(struct mine, mine);\n\
         static int mine_select(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n{{\n\
         \tstruct mine *m = per_cpu_ptr(&mine, dev->cpu);\n\tm->deep_ns[1] = -7;\n\t{select}\n}}\n\
         static struct cpuidle_governor governor = {{ .name = \"mine\", .rating = 1, .select = mine_select }};\n\
         static int __init mine_init(void)\n{{\n\treturn cpuidle_register_governor(&governor);\n}}\n\
         postcore_initcall(mine_init);\n"
    );
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_foreign_governor_is_explained_by_its_memory() {
    let mine = foreign("mine.c", "return ++m->asked > 100 && drv->state_count > 1;");
    for (decision, asked, state) in [(0, 0, 0), (99, 99, 0), (100, 100, 1)] {
        let e = explained(&mine, DecisionAddress::Decision(decision)).explanation;
        let Value::Struct(members) = &e.memory[0].value else { panic!("{:?}", e.memory) };
        assert_eq!((e.memory[0].name.as_str(), &members[0].value), ("mine", &Value::Number(asked)));
        let deep = [0, if decision == 0 { 0 } else { -7 }, 0].map(Value::Number).to_vec();
        assert_eq!(members[1].value, Value::Array(deep));
        assert_eq!(e.chosen.state, state);
        assert!(e.reasons.is_empty());
    }
    let turned = differ(&mine, "shallow");
    assert!(turned.waits.other_state > 1000 && !turned.moments.is_empty());
}

#[test]
fn a_foreign_governor_that_crashes_is_an_error_and_nothing_more() {
    let bad = foreign("bad.c", "if (++m->asked == 50)\n\t\treturn *(volatile int *)NULL;\n\treturn 0;");
    let said = explain(&request(&bad, DecisionAddress::Decision(60))).unwrap_err().to_string();
    assert!(said.contains("crashed in select, CPU 0, decision 49"), "{said}");
    let mut beside = request("teo", DecisionAddress::Decision(60));
    beside.others = vec![bad, "menu".to_owned()];
    let report = explain(&beside).unwrap();
    let [failed, menu] = report.explanation.others.as_slice() else { panic!("two others") };
    assert!(failed.failure.as_deref().unwrap().contains("crashed in select"));
    assert!(menu.failure.is_none() && menu.came.is_some());
    let text = view::explain(&report).render(Format::Table, &report).unwrap();
    assert!(text.contains("decision 49"), "{text}");
}

#[test]
fn a_line_of_decisions_recorded_live_is_explained() {
    let Some(decisions) = idlewise_testkit::recording("kvm-guest/decisions/menu_b.cpu0.csv.xz") else {
        return;
    };
    let line = |governor: &str, line: u64| {
        let request = LineRequest {
            decisions: decisions.clone(),
            line,
            platform: "kvm-guest".to_owned(),
            cpu: 0,
            governor: governor.to_owned(),
            others: vec!["ladder".to_owned()],
            kernel_trees: Vec::new(),
        };
        explain_line(&request)
    };
    for n in [3000, 5000, 70_000] {
        let report = line("menu", n).unwrap();
        assert_eq!(report.recorded.as_ref(), Some(&report.explanation.chosen), "line {n}");
        assert!(!report.explanation.reasons.is_empty());
        assert!(report.explanation.decision < report.explanation.decisions);
    }
    let said = line("menu", 1).unwrap_err().to_string();
    assert!(said.contains("line 1 is no decision of CPU 0; its lines go from 2 to"), "{said}");
}

fn row(governor: &str, row: u64) -> RowRequest {
    let golden = "../../tests/data/golden/closed/teo-6.3/intel_skl__util__hz1000__s7073.csv.gz";
    RowRequest {
        golden: Path::new(env!("CARGO_MANIFEST_DIR")).join(golden),
        row,
        governor: governor.to_owned(),
        others: vec!["teo-6.1".to_owned(), "oracle".to_owned()],
        kernel_trees: Vec::new(),
    }
}

#[test]
fn a_row_of_recorded_decisions_is_explained() {
    for n in [0, 1, 300, 2499] {
        let report = explain_row(&row("teo-util", n)).unwrap();
        assert_eq!(report.recorded.as_ref(), Some(&report.explanation.chosen), "row {n}");
        assert_eq!(report.explanation.others.len(), 1, "the oracle has nothing to say about a row");
        assert!(report.explanation.inputs.iter().all(|i| i.confidence == Some("recorded")));
        let text = view::explain(&report).render(Format::Table, &report).unwrap();
        assert!(text.ends_with(": the same\n"), "{text}");
    }
    let other = explain_row(&row("shallow", 300)).unwrap();
    let text = view::explain(&other).render(Format::Table, &other).unwrap();
    assert!(text.ends_with(": NOT the same\n"), "{text}");
    let said = explain_row(&row("teo-util", 2500)).unwrap_err().to_string();
    assert!(said.contains("no row 2500; it has 2500"), "{said}");
}
