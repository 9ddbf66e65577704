// SPDX-License-Identifier: GPL-2.0-only
//! What programs and editors add to a text that is pasted: byte order marks, colours, complaints, line breaks.

use std::borrow::Cow;

use quoted_printable::ParseMode;

use crate::sysfs_line::SysfsLine;

/// The forms that are read, for errors about any other.
pub(crate) const FORMS: &str = "path:value lines (grep -r, head, tail, cat behind a prompt), the values of `cat state*/*` \
     (12 a state since Linux 5.10, 11, 10, 8 or 7 before), cpupower idle-info, cpupower monitor with Idle_Stats, turbostat with \
     columns of idle states (C1, C1%), powertop --csv";

const MARK: char = '\u{feff}';
const ESCAPE: char = '\u{1b}';
/// What mailers make of leading and double spaces.
const NO_BREAK: char = '\u{a0}';

/// Programs that write to the terminal why they cannot read a file.
const COMPLAINING: [&str; 9] = ["bash", "cat", "find", "grep", "head", "more", "sh", "tail", "zsh"];

/// The text without byte order marks and without a terminal's escape sequences (`grep --color=always`), with plain spaces, and as it
/// was before a mail carried it quoted-printable (RFC 2045).
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if is_quoted_printable(text)
        && let Ok(decoded) = quoted_printable::decode(text, ParseMode::Robust)
    {
        return Cow::Owned(without_signs(&String::from_utf8_lossy(&decoded)));
    }
    if !text.contains([MARK, ESCAPE, NO_BREAK]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(without_signs(text))
}

/// Whether a text is quoted-printable: it says so, or every sign `=` stands before two digits, or at the end of a line that goes on.
fn is_quoted_printable(text: &str) -> bool {
    let digit = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_digit() || (b'A'..=b'F').contains(b));
    let is_code = |rest: &str| {
        let rest = rest.as_bytes();
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n") || digit(rest.first()) && digit(rest.get(1))
    };
    let says = |line: &str| {
        line.to_ascii_lowercase().replace(' ', "") == "content-transfer-encoding:quoted-printable"
    };
    text.lines().any(says) || text.contains('=') && text.split('=').skip(1).all(is_code)
}

fn without_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            MARK => {}
            NO_BREAK => out.push(' '),
            // `ESC [ parameters final`; other sequences have one character.
            ESCAPE => {
                if rest.next_if(|c| *c != '\n') == Some('[') {
                    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                    rest.next_if(|c| matches!(c, '@'..='~'));
                }
            }
            c => out.push(c),
        }
    }
    out
}

/// Whether a line on which `before` stands before a path is a program's complaint about it: `grep: PATH: Permission denied`.
pub(crate) fn is_complaint(before: &str) -> bool {
    before
        .split_whitespace()
        .any(|word| word.strip_suffix(':').is_some_and(|name| COMPLAINING.contains(&name)))
}

/// What a text is that holds no counts of idle states in a form that is read, and what to do; nothing where that is not known.
pub(crate) fn unread(text: &str) -> Option<(&'static str, &'static str)> {
    let has = |words: &[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    let of_columns = |words: &[&str]| {
        text.lines().any(|line| words.iter().all(|w| line.split_whitespace().any(|c| c == *w)))
    };
    Some(if has(&["analyzing CPU "]) && has(&["No idle states"]) {
        ("cpupower idle-info of CPUs that have no idle states", "no governor runs on these CPUs")
    } else if has(&["analyzing CPU "]) && has(&["Available idle states:"]) {
        ("cpupower idle-info without latencies and counts", "leave out --silent")
    } else if of_columns(&["%c0", "GHz", "TSC"]) {
        ("an old turbostat, which shows the hardware's states alone", "take a newer one")
    } else if of_columns(&["Busy%", "Bzy_MHz"]) {
        (
            "turbostat without columns of idle states (C1, C1%), or without rows that fit its columns",
            "give all that turbostat --show all prints, or the file that --out wrote",
        )
    } else if has(&["C-state", "hits", "over", "under"]) {
        ("a table of idlestat, which is not read", "give the trace that idlestat --trace -f FILE wrote")
    } else if has(&["Pkg(HW)"]) || has(&["PowerTOP"]) || has(&["Cn", "Avg residency"]) {
        ("the screen of powertop", "give what powertop --csv=FILE writes")
    } else {
        return None;
    })
}

/// What `diff` printed of two dumps, if the text is that.
pub(crate) fn comparison(text: &str) -> Option<&'static str> {
    let value_of = |line: &str| SysfsLine::parse(line).is_some_and(|l| l.value.is_some());
    let changed = |signs: [char; 2]| {
        signs.iter().all(|sign| text.lines().any(|l| l.strip_prefix(*sign).is_some_and(value_of)))
    };
    let hunk = |line: &str| {
        let sides = line.split(['a', 'c', 'd']).map(|s| s.split(',').all(|n| n.parse::<u64>().is_ok()));
        line.len() < 64 && sides.clone().count() == 2 && sides.min() == Some(true)
    };
    let two = |line: &str| {
        let first = SysfsLine::parse(line).and_then(|l| l.value);
        first.is_some_and(|value| value.contains(char::is_whitespace) && value_of(value))
    };
    if text.lines().any(|l| l.starts_with("@@ -")) && changed(['-', '+']) {
        Some("diff -u")
    } else if text.lines().any(hunk) && changed(['<', '>']) {
        Some("diff")
    } else if text.lines().any(two) {
        Some("diff -y")
    } else {
        None
    }
}
