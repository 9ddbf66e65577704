// SPDX-License-Identifier: GPL-2.0-only
//! Is each chart of each sample a picture, always the same, in which names of files are text?

use idlewise_chart::{CHARTS, Cell, ChartError, PageData, Table, Theme, available, svg, svgs};
use idlewise_checkout::thorough;
use roxmltree::{Document, ParsingOptions};

use crate::samples::{all, sample};

const WIDTH: u32 = 760;

fn drawn(chart: &str, name: &str) -> String {
    svg(chart, sample(name), WIDTH, Theme::Light).unwrap()
}

/// What an SVG of ours consists of; scripts, links and foreign content are not among it.
const ELEMENTS: [&str; 10] =
    ["svg", "g", "path", "text", "tspan", "rect", "line", "defs", "clipPath", "title"];

#[test]
fn every_chart_of_every_sample_is_an_svg() {
    let mut charts = 0;
    // Of each sample every chart, or every third, of the next one others.
    let of = if thorough() { 1 } else { 3 };
    for (i, name) in all().keys().filter(|name| *name != "large").enumerate() {
        let asked: Vec<_> = CHARTS.iter().skip(i % of).step_by(of).collect();
        let names: Vec<_> = asked.iter().map(|c| c.name).collect();
        let drawn = svgs(&names, sample(name), WIDTH, Theme::Light);
        assert_eq!(drawn.len(), asked.len());
        for (chart, drawn) in asked.into_iter().zip(drawn) {
            let text = match drawn {
                Ok(text) => text,
                Err(ChartError::Nothing { .. } | ChartError::Empty { .. }) => continue,
                Err(e) => panic!("{} of {name}: {e}", chart.name),
            };
            let document = Document::parse_with_options(
                &text,
                ParsingOptions { nodes_limit: 2_000_000, ..ParsingOptions::default() },
            );
            let document = document.unwrap_or_else(|e| panic!("{} of {name}: {e}", chart.name));
            let root = document.root_element();
            for node in root.descendants().filter(roxmltree::Node::is_element) {
                assert!(ELEMENTS.contains(&node.tag_name().name()), "{name}: <{}>", node.tag_name().name());
                assert!(node.attributes().all(|a| !a.name().starts_with("on") && a.name() != "href"));
            }
            let width: f64 = root.attribute("width").unwrap().parse().unwrap();
            assert!((width - f64::from(WIDTH)).abs() < 40.0, "{} of {name}: {width} wide", chart.name);
            let marks =
                root.descendants().filter(|n| n.attribute("class").is_some_and(|c| c.starts_with("mark-")));
            assert!(marks.count() > 1, "{} of {name} is empty", chart.name);
            charts += 1;
        }
    }
    assert!(charts > 60 / of, "{charts} charts");
}

/// The sample `name`, in which each state is called as told of its name.
fn renamed(name: &str, call: impl Fn(&str) -> String) -> PageData {
    let mut page = sample(name).clone();
    for table in &mut page.tables {
        let Some(state) = table.columns.iter().position(|c| c.name == "state") else { continue };
        for row in &mut table.rows {
            if let Cell::Text(text) = &mut row[state] {
                *text = call(text);
            }
        }
    }
    page
}

#[test]
fn a_states_name_of_any_length_ends_in_a_picture() {
    let name = all().keys().find(|name| available(sample(name)).iter().any(|c| c.name == "periods")).unwrap();
    for length in [1, 15, 40, 90, 400] {
        let page = renamed(name, |state| state.repeat(length));
        let drawn = svg("periods", &page, WIDTH, Theme::Light).unwrap();
        assert!(drawn.starts_with("<svg"), "{length}");
    }
}

#[test]
fn a_report_has_the_charts_of_its_tables() {
    let names = |name: &str| available(sample(name)).iter().map(|c| c.name).collect::<Vec<_>>();
    assert_eq!(names("ab"), ["points"]);
    assert_eq!(names("reproduce"), [""; 0]);
    assert!(!names("no-latency").contains(&"latency"));
    assert!(matches!(svg("front", sample("no-latency"), WIDTH, Theme::Light), Err(ChartError::Empty { .. })));
    let missing = svg("front", sample("ab"), WIDTH, Theme::Light).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "this report has nothing for the chart front: it needs a table front; charts of this report: points"
    );
    let unknown = svg("fronts", sample("ab"), WIDTH, Theme::Light).unwrap_err().to_string();
    assert!(unknown.starts_with("no chart is called \"fronts\": measures, front, "), "{unknown}");
    let width = svg("points", sample("ab"), 20, Theme::Light).unwrap_err().to_string();
    assert_eq!(width, "a chart is 300 to 2400 pixels wide, not 20");
}

#[test]
fn the_samples_have_the_columns_that_charts_read() {
    for table in ["replay", "one-cpu", "ab", "sweep"].iter().flat_map(|name| &sample(name).tables) {
        let shape = Table::of_charts(&table.name);
        assert_eq!((&shape.columns, &shape.title), (&table.columns, &table.title), "{}", table.name);
    }
    let mut wrong = sample("ab").clone();
    wrong.tables[0].columns[0].name = "serie".to_owned();
    assert!(std::panic::catch_unwind(|| svg("points", &wrong, WIDTH, Theme::Light)).is_err());
}

#[test]
fn the_same_report_gives_the_same_bytes() {
    for chart in ["front", "residency-cpu", "points"] {
        let name = if chart == "points" { "ab" } else { "recordings" };
        assert_eq!(drawn(chart, name), drawn(chart, name), "{chart}");
    }
}

#[test]
fn names_of_files_are_text_in_a_chart() {
    let charts: Vec<_> = available(sample("hostile")).iter().map(|c| c.name).collect();
    let all = svgs(&charts, sample("hostile"), WIDTH, Theme::Light);
    for (chart, text) in charts.iter().zip(all.into_iter().map(Result::unwrap)) {
        assert!(!["<img", "<script", "<b "].iter().any(|t| text.contains(t)), "{chart}");
        assert!(!text.contains(['\u{1b}', '\u{202e}', '\0']), "{chart}");
    }
    let misses = drawn("misses", "hostile");
    assert!(misses.contains("&lt;img src="), "{misses}");
    // What hides or turns text is shown as what it is.
    let measures = drawn("measures", "hostile");
    assert!(measures.contains("\\u001b"), "{measures}");
}

#[test]
fn widths_and_themes_change_the_picture() {
    let narrow = svg("front", sample("replay"), 390, Theme::Light).unwrap();
    let dark = svg("front", sample("replay"), 390, Theme::Dark).unwrap();
    assert!(narrow.contains("fill=\"#ffffff\"") && !dark.contains("fill=\"#ffffff\""));
    assert_ne!(narrow, dark);
}
