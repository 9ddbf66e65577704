// SPDX-License-Identifier: GPL-2.0-only
//! Names of clocks, events, governors, tasks, states, platforms and files come from other people's data. What such a
//! name could do to a terminal, a spreadsheet or a Markdown page is taken from it here, once for each form.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a terminal obeys `c` instead of showing it: controls (C0, DEL, C1), and what hides text or turns its
/// direction round (Unicode 16.0, general category Cf, without the soft hyphen and signs that are seen).
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Appends `c` as JSON writes it: the result is still JSON where `c` stood in a string, and TOML except beyond U+FFFF.
fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        _ => {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String does not fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
}

fn escaped(text: &str, keeps: impl Fn(char) -> bool) -> Cow<'_, str> {
    let bad = |c: char| is_obeyed(c) && !keeps(c);
    if !text.contains(bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) { push_escaped(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// `text` as one line that a terminal shows and does not obey: `\u001b`, `\n`.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The same of text of several lines: line ends and tabs stay. JSON stays JSON.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'))
}

/// A message of several lines: all but the first are indented, so that a name with a line end in it cannot pass for
/// another message.
#[must_use]
pub fn message(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, line) in lines(text).split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
            out.push_str(if line.starts_with(' ') || line.is_empty() { "" } else { "  " });
        }
        out.push_str(line);
    }
    out
}

/// What keeps GitHub from calling people or linking issues: it looks for `@name` and `#1` after everything else is undone.
const APART: &str = "&#8203;";

/// `text` inside Markdown (GitHub's): it ends no cell, opens no tag, image or link, stands for no entity, calls nobody (`@name`) and
/// links no issue (`#1`, `GH-1`).
pub(crate) fn markdown(text: &str) -> String {
    let text = one_line(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied().unwrap_or(' ');
        let before = out.chars().next_back().unwrap_or(' ');
        match c {
            '@' if next.is_ascii_alphanumeric() && !before.is_ascii_alphanumeric() => {
                out.push(c);
                out.push_str(APART);
            }
            '#' | '-' if next.is_ascii_digit() && (c == '#' || out.to_ascii_lowercase().ends_with("gh")) => {
                out.push(c);
                out.push_str(APART);
            }
            // A backslash of the name's own would take away that of an escape.
            '\\' => out.push_str("&#92;"),
            '|' => out.push_str("\\|"),
            '<' => out.push_str("&lt;"),
            '[' => out.push_str("\\["),
            '&' if next.is_ascii_alphanumeric() || next == '#' => out.push_str("&amp;"),
            _ => out.push(c),
        }
    }
    out
}

/// `text` as a cell of CSV. A spreadsheet computes a cell that begins with `=`, `+`, `-` or `@`; such a cell gets a `'`
/// in front of it, unless it is a number, with its unit or as an interval, or a dash.
#[must_use]
pub fn csv(text: &str) -> Cow<'_, str> {
    let text = one_line(text);
    let computed = match text.chars().next() {
        Some('=' | '@') => true,
        Some('+' | '-') => !text.chars().all(|c| c == '-') && !text.split(" .. ").all(is_number),
        _ => false,
    };
    if computed { Cow::Owned(format!("'{text}")) } else { text }
}

/// `-0.5`, `+1.2e-7`, `-inf`, `+1.94%`, `-6.7 %`, `+12.3 us`.
fn is_number(text: &str) -> bool {
    if text.parse::<f64>().is_ok() {
        return true;
    }
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    let unit = text.len() - number.len();
    unit <= 4 && number.strip_suffix(' ').unwrap_or(number).parse::<f64>().is_ok()
}

/// Text of which each character is ASCII: what mailers and archives leave as it is.
pub(crate) fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '…' => out.push('~'),
            '±' => out.push_str("+-"),
            'µ' | 'μ' => out.push('u'),
            c if c.is_ascii() => out.push(c),
            _ => out.push('?'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_shows_what_it_would_have_obeyed() {
        assert_eq!(one_line("\x1b[31mred\x07"), "\\u001b[31mred\\u0007");
        assert_eq!(one_line("a\nb\tc\r\u{9b}2J"), "a\\nb\\tc\\r\\u009b2J");
        assert_eq!(
            one_line("\u{202e}txt.exe\u{2066}\u{200b}\u{feff}"),
            "\\u202etxt.exe\\u2066\\u200b\\ufeff"
        );
        assert_eq!(one_line("\u{e0041}"), "\\udb40\\udc41");
        assert_eq!(lines("a\nb\tc\x1bM"), "a\nb\tc\\u001bM");
        for plain in ["kworker/0:1", "größe", "名前", "C1 \"x\" \\ y", "µs"] {
            assert!(matches!(one_line(plain), Cow::Borrowed(_)), "{plain}");
        }
    }

    #[test]
    fn json_stays_the_same_data() {
        let hostile = serde_json::json!({"name": "a\x1b\u{9b}\u{202e}\n\u{e0041}\u{7f}"});
        let text = serde_json::to_string_pretty(&hostile).unwrap();
        let safe = lines(&text);
        assert!(!safe.contains(|c| is_obeyed(c) && c != '\n'), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), hostile);
    }

    #[test]
    fn a_name_cannot_pass_for_another_message() {
        assert_eq!(message("a\nidlewise: fine\n  more\n"), "a\n  idlewise: fine\n  more\n");
    }

    #[test]
    fn markdown_names_end_no_cell_and_open_no_tag() {
        assert_eq!(markdown("a|b<img src=x>"), "a\\|b&lt;img src=x>");
        assert_eq!(markdown("![x](http://x)\n&lt; & R&D"), "!\\[x](http://x)&#92;n&amp;lt; & R&amp;D");
        assert_eq!(markdown("\\[x](http://x)\\|"), "&#92;\\[x](http://x)&#92;\\|");
    }

    #[test]
    fn markdown_calls_nobody_and_links_no_issue() {
        assert_eq!(markdown("@torvalds: fix (@a/b)"), "@&#8203;torvalds: fix (@&#8203;a/b)");
        assert_eq!(markdown("Fixes #1, o/r#22, GH-3"), "Fixes #&#8203;1, o/r#&#8203;22, GH-&#8203;3");
        for plain in ["before@~/x", "a@example.org", "# 1", "-3", "teo-6.1", "C#", "@"] {
            assert_eq!(markdown(plain), plain);
        }
    }

    #[test]
    fn a_spreadsheet_computes_no_name_and_numbers_stay_numbers() {
        for formula in
            ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3+cmd|'x'!A0", "-A1", "-1.5-2", "+1 .. =2"]
        {
            assert_eq!(csv(formula), format!("'{formula}"));
        }
        for number in ["-0.5", "+3", "-1.2e-7", "-inf", "+1.94%", "-6.7 %", "+12.3 us", "-1.00pp", "-", "--"]
        {
            assert_eq!(csv(number), number);
        }
        assert_eq!(csv("-0.141 .. -0.123"), "-0.141 .. -0.123");
        assert_eq!(csv("-1.4 % .. +0.2 %"), "-1.4 % .. +0.2 %");
        assert_eq!(csv("menu"), "menu");
        assert_eq!(csv("\t=1"), "\\t=1");
    }
}
