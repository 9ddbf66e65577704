// SPDX-License-Identifier: GPL-2.0-only
//! Does the page about frequency governors have the tables of the code? `IDLEWISE_UPDATE_DOCS=1 cargo test -p idlewise-freq
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

/// The page with the table that begins like `table` replaced by it.
fn with_table(page: &str, table: &str) -> String {
    let head = table.lines().next().unwrap_or_default();
    let Some(from) = page.find(head) else { panic!("no table begins with {head}") };
    let rest = &page[from..];
    let to = from + rest.find("\n\n").map_or(rest.len(), |end| end + 1);
    format!("{}{table}{}", &page[..from], &page[to..])
}

#[test]
fn the_page_has_every_governor_and_every_parameter() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/frequency-governors.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let written = with_table(&with_table(&page, &governors()), &parameters());
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, written).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    } else {
        assert_eq!(page, written, "{} is out of date: IDLEWISE_UPDATE_DOCS=1 writes it", path.display());
    }
}
