// SPDX-License-Identifier: GPL-2.0-only
//! Does the page about frequency governors have the tables and notes of the catalogue? `IDLEWISE_UPDATE_DOCS=1 cargo test -p idlewise-freq
//! --test freq page::` writes them anew; read them then.

use std::fs;
use std::path::Path;

use idlewise_freq::list;

fn governors() -> String {
    let mut text =
        "| governor | what it does | kernel | fed by | evaluates |\n|---|---|---|---|---|\n".to_owned();
    for g in list() {
        text += &format!("| `{}` | {} | {} | {} | {} |\n", g.id, g.summary, g.kernel, g.fed_by, g.evaluates);
    }
    text
}

fn parameters() -> String {
    let mut text =
        "| governor | parameter | default | what it takes | what it does |\n|---|---|---|---|---|\n"
            .to_owned();
    for g in list() {
        for (i, p) in g.params.iter().enumerate() {
            let id = if i == 0 { format!("`{}`", g.id) } else { String::new() };
            text += &format!("| {id} | `{}` | {} | {} | {} |\n", p.name, p.default_text(), p.range(), p.help);
        }
    }
    text
}

/// As wide as the page's other lines, in characters.
const WIDTH: usize = 118;

/// The notes of all governors, each a paragraph under its name.
fn notes() -> String {
    let mut text = String::new();
    for g in list().iter().filter(|g| !g.notes.is_empty()) {
        let mut width = 0;
        text.push('\n');
        for word in format!("**{}.** {}", g.id, g.notes).split_whitespace() {
            let apart = if width == 0 {
                ""
            } else if width + 1 + word.len() > WIDTH {
                "\n"
            } else {
                " "
            };
            width = if apart == " " { width + 1 } else { 0 } + word.len();
            text += apart;
            text += word;
        }
        text.push('\n');
    }
    text
}

/// The page with what follows the heading, up to the next one, replaced by `text`.
fn with_section(page: &str, heading: &str, text: &str) -> String {
    let heading = format!("\n## {heading}\n");
    let Some(at) = page.find(&heading) else { panic!("no heading {heading}") };
    let from = at + heading.len();
    let to = page[from..].find("\n## ").map_or(page.len(), |end| from + end);
    format!("{}{text}{}", &page[..from], &page[to..])
}

/// The page with the table that begins like `table` replaced by it.
fn with_table(page: &str, table: &str) -> String {
    let head = table.lines().next().unwrap_or_default();
    let Some(from) = page.find(head) else { panic!("no table begins with {head}") };
    let rest = &page[from..];
    let to = from + rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    format!("{}{table}{}", &page[..from], &page[to..])
}

#[test]
fn the_page_has_every_governor_its_parameters_and_its_notes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/frequency-governors.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let written = with_table(&with_table(&page, &governors()), &parameters());
    let written = with_section(&written, "Notes", &notes());
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    } else {
        assert_eq!(page, written, "{} is out of date: IDLEWISE_UPDATE_DOCS=1 writes it", path.display());
    }
}
