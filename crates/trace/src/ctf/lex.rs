// SPDX-License-Identifier: GPL-2.0-only
//! The words of TSDL, the language of a CTF 1.8 trace's metadata (CTF specification 1.8.3, section 7 and annex C).

use std::str;

/// One word of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or keyword.
    Word(&'a str),
    /// A number; TSDL puts signs before it as tokens of their own.
    Number(u64),
    /// The text between quotes, escapes resolved.
    Text(String),
    /// Punctuation: `{`, `:=`, `...` and so on.
    Mark(&'static str),
    End,
}

/// Longest first, so that `:=` is not read as `:`.
const MARKS: [&str; 21] = [
    "...", ":=", "->", "{", "}", "(", ")", "[", "]", "<", ">", ";", ":", ",", "=", ".", "-", "+", "*", "?",
    "@",
];

/// Cuts a text into tokens.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    start: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, start: 0 }
    }

    /// Where the last token starts, or what stands in its place, bytes.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Spaces, comments, and lines for a preprocessor.
    fn skip_space(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            self.start = self.at;
            let skipped = if let Some(comment) = trimmed.strip_prefix("/*") {
                2 + comment.find("*/").ok_or("the end of a comment")? + 2
            } else if trimmed.starts_with("//") || trimmed.starts_with('#') {
                trimmed.find('\n').unwrap_or(trimmed.len())
            } else {
                return Ok(());
            };
            self.at += skipped;
        }
    }

    /// The next token.
    ///
    /// # Errors
    /// What was expected instead of what is there.
    pub(super) fn next(&mut self) -> Result<Token<'a>, String> {
        self.skip_space()?;
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        if first.is_ascii_alphabetic() || first == '_' {
            let len = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
            self.at += len;
            return Ok(Token::Word(rest.get(..len).unwrap_or_default()));
        }
        if first.is_ascii_digit() {
            return self.number(rest);
        }
        if first == '"' || first == '\'' {
            return self.quoted(rest, first);
        }
        let mark = MARKS.iter().find(|m| rest.starts_with(**m)).ok_or("a word, a number or punctuation")?;
        self.at += mark.len();
        Ok(Token::Mark(mark))
    }

    /// Decimal, hexadecimal or octal, with or without a suffix of C.
    fn number(&mut self, rest: &'a str) -> Result<Token<'a>, String> {
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = rest.get(..len).unwrap_or_default();
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let value = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            u64::from_str_radix(hex, 16)
        } else if let Some(octal) = digits.strip_prefix('0').filter(|d| !d.is_empty()) {
            u64::from_str_radix(octal, 8)
        } else {
            digits.parse()
        };
        self.at += len;
        value.map(Token::Number).map_err(|_| format!("a number of at most 64 bits, not {}", short(word)))
    }

    fn quoted(&mut self, rest: &'a str, quote: char) -> Result<Token<'a>, String> {
        let mut text = String::new();
        let mut chars = rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                c if c == quote => {
                    self.at += at + 1;
                    return Ok(Token::Text(text));
                }
                '\\' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some(c) => text.push(c),
                    None => break,
                },
                '\n' => break,
                c => text.push(c),
            }
        }
        Err("the closing quote on the same line".to_owned())
    }
}

/// A word as far as an error message has room for it.
pub(super) fn short(word: &str) -> String {
    let cut: String = word.chars().take(40).collect();
    if cut.len() < word.len() { format!("{cut}...") } else { cut }
}

impl Token<'_> {
    /// The token in an error message.
    pub(super) fn show(&self) -> String {
        match self {
            Self::Word(word) => format!("\"{}\"", short(word)),
            Self::Number(n) => n.to_string(),
            Self::Text(text) => format!("the text \"{}\"", short(text)),
            Self::Mark(mark) => format!("\"{mark}\""),
            Self::End => "the end of the text".to_owned(),
        }
    }
}
