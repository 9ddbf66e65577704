// SPDX-License-Identifier: GPL-2.0-only
//! Does the page of a signal still say what its preface says?

use std::fs;
use std::path::Path;

use idlewise_signal::walt::Config;

/// Words without the marks of Markdown and comments.
fn words(text: &str) -> String {
    let bare = text.lines().map(|l| l.trim_start_matches(" *").trim_start_matches('*')).collect::<Vec<_>>();
    bare.join(" ").replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// The page has the preface's paragraphs as its sections.
fn assert_page_holds_preface(signal: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = fs::read_to_string(root.join(format!("signals/{signal}.c"))).unwrap();
    let page = fs::read_to_string(root.join(format!("docs/signals/{signal}.md"))).unwrap();
    let preface = source.split_once("/*\n").unwrap().1.split_once(" */").unwrap().0;
    let mut sections = 0;
    for paragraph in preface.split("\n *\n") {
        let Some((heading, text)) = paragraph.split_once(": ").filter(|(h, _)| h.len() < 20) else {
            assert!(words(&page).contains(&words(paragraph)), "the page does not say: {paragraph}");
            continue;
        };
        let heading = heading.trim_start_matches(" * ");
        let section = page.split("\n## ").find_map(|s| s.strip_prefix(heading)?.strip_prefix("\n\n"));
        let section = section.unwrap_or_else(|| panic!("no section `{heading}`"));
        assert!(words(section).starts_with(&words(text)), "`{heading}` differs: {}", words(text));
        sections += 1;
    }
    assert_eq!(sections, 5);
}

#[test]
fn the_page_of_walt_holds_its_preface() {
    assert_page_holds_preface("walt");
}

#[test]
fn the_page_of_pelt_holds_its_preface() {
    assert_page_holds_preface("pelt");
}

/// Defaults in the page's table are those of the code.
#[test]
fn the_page_of_walt_has_the_windows_of_both_forms() {
    let page = include_str!("../../../docs/signals/walt.md");
    let shown = |ns: u32| format!("{},000,000", ns / 1_000_000);
    let row = format!(
        "| `window_ns` | {} | {} |",
        shown(Config::android().window_ns),
        shown(Config::rfc().window_ns)
    );
    assert!(page.contains(&row), "{row}");
}
