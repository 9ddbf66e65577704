// SPDX-License-Identifier: GPL-2.0-only
//! What programs and editors add to a text that is pasted: byte order marks, colours, complaints, line breaks.

use std::borrow::Cow;

use crate::sysfs_line::SysfsLine;

/// The forms that are read, for errors about any other.
pub(crate) const FORMS: &str = "path:value lines (grep -r, head, tail, cat behind a prompt), the values of `cat state*/*` \
     (12 a state since Linux 5.10, 11, 10, 8 or 7 before), cpupower idle-info, cpupower monitor with Idle_Stats, turbostat with \
     columns of idle states (C1, C1%), powertop --csv";

/// Programs that write to the terminal why they cannot read a file.
const COMPLAINING: [&str; 9] = ["bash", "cat", "find", "grep", "head", "more", "sh", "tail", "zsh"];

/// The text without byte order marks and without a terminal's escape sequences (`grep --color=always`).
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    const MARK: char = '\u{feff}';
    const ESCAPE: char = '\u{1b}';
    if !text.contains([MARK, ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            MARK => {}
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
    Cow::Owned(out)
}

/// Whether a line on which `before` stands before a path is a program's complaint about it: `grep: PATH: Permission denied`.
pub(crate) fn is_complaint(before: &str) -> bool {
    before
        .split_whitespace()
        .any(|word| word.strip_suffix(':').is_some_and(|name| COMPLAINING.contains(&name)))
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
