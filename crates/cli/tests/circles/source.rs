// SPDX-License-Identifier: GPL-2.0-only
//! What a source file names and defines, as far as its words show it.

use std::collections::BTreeSet;

/// A `use`, or one name of it.
#[derive(Clone, Debug)]
pub(super) struct Import {
    /// The module that it is in.
    pub(super) module: Vec<String>,
    pub(super) path: Vec<String>,
    /// `*` for all names.
    pub(super) name: String,
    pub(super) public: bool,
}

/// A source file, read.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(super) imports: Vec<Import>,
    /// Each path in the code, with the module that it is in.
    pub(super) paths: Vec<(Vec<String>, Vec<String>)>,
    /// Names that stand alone.
    pub(super) words: BTreeSet<String>,
    /// What the file defines: a superset, with methods.
    pub(super) defines: BTreeSet<String>,
    /// Modules for tests alone.
    pub(super) tests: BTreeSet<Vec<String>>,
}

/// Words and punctuation, without comments, texts and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let mut out = Vec::new();
    let mut i = 0;
    while i < chars.len() {
        let c = at(i);
        if c == '/' && at(i + 1) == '/' {
            while i < chars.len() && at(i) != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            let mut depth = 1;
            i += 2;
            while i < chars.len() && depth > 0 {
                match (at(i), at(i + 1)) {
                    ('/', '*') => (depth, i) = (depth + 1, i + 2),
                    ('*', '/') => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
            }
        } else if c == '"' {
            i += 1;
            while i < chars.len() && at(i) != '"' {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' {
            // A letter between two quotes; else a lifetime.
            if at(i + 1) == '\\' {
                i += 3;
                while i < chars.len() && at(i) != '\'' {
                    i += 1;
                }
                i += 1;
            } else if at(i + 2) == '\'' {
                i += 3;
            } else {
                i += 1;
                while at(i).is_alphanumeric() || at(i) == '_' {
                    i += 1;
                }
            }
        } else if c.is_alphanumeric() || c == '_' {
            let from = i;
            while at(i).is_alphanumeric() || at(i) == '_' {
                i += 1;
            }
            let word: String = chars[from..i].iter().collect();
            let hashes = chars[i..].iter().take_while(|c| **c == '#').count();
            if ["r", "br", "cr"].contains(&word.as_str()) && at(i + hashes) == '"' {
                i += hashes + 1;
                while i < chars.len()
                    && !(at(i) == '"' && chars[i + 1..].iter().take(hashes).all(|c| *c == '#'))
                {
                    i += 1;
                }
                i += 1 + hashes;
            } else {
                out.push(word);
            }
        } else if c == ':' && at(i + 1) == ':' {
            out.push("::".to_owned());
            i += 2;
        } else {
            if !c.is_whitespace() {
                out.push(c.to_string());
            }
            i += 1;
        }
    }
    out
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The index after the bracket that closes the one at `from`.
fn closed(tokens: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (i, t) in tokens.iter().enumerate().skip(from) {
        match t.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    tokens.len()
}

impl Source {
    pub(super) fn read(text: &str, module: &[String]) -> Self {
        let mut this = Self::default();
        let mut inline: Vec<(String, usize)> = Vec::new();
        let mut i = 0;
        let tokens = tokens(text);
        let at = |i: usize| tokens.get(i).map_or("", String::as_str);
        while i < tokens.len() {
            inline.retain(|(_, end)| i < *end);
            let here: Vec<String> =
                module.iter().chain(inline.iter().map(|(name, _)| name)).cloned().collect();
            if at(i) == "#" && at(i + 1) == "[" {
                let end = closed(&tokens, i + 1);
                if tokens[i + 2..end].concat() == "cfg(test)]" {
                    i = this.skip_item(&tokens, end, &here);
                } else {
                    i = end;
                }
                continue;
            }
            let word = at(i);
            if word == "use" && at(i + 1) != "<" {
                let public = i > 0 && (at(i - 1) == "pub" || at(i - 1) == ")");
                let mut each = |path: Vec<String>, name: String| {
                    this.imports.push(Import { module: here.clone(), path, name, public });
                };
                i = tree(&tokens, i + 1, &[], &mut each);
                continue;
            }
            if ["fn", "struct", "enum", "trait", "const", "static", "type", "union", "mod"].contains(&word) {
                this.defines.insert(at(i + 1).to_owned());
            }
            if word == "macro_rules" {
                this.defines.insert(at(i + 2).to_owned());
            }
            if word == "mod" && at(i + 2) == "{" {
                inline.push((at(i + 1).to_owned(), closed(&tokens, i + 2)));
                i += 3;
                continue;
            }
            if is_word(word) && (i == 0 || !["::", ".", "mod"].contains(&at(i - 1))) {
                let mut path = vec![word.to_owned()];
                let mut j = i + 1;
                while at(j) == "::" && is_word(at(j + 1)) {
                    path.push(at(j + 1).to_owned());
                    j += 2;
                }
                if path.len() > 1 {
                    this.paths.push((here.clone(), path));
                }
                this.words.insert(word.to_owned());
                i = j;
                continue;
            }
            i += 1;
        }
        this
    }

    /// The index after the item that begins at `from`, which is for tests.
    fn skip_item(&mut self, tokens: &[String], from: usize, here: &[String]) -> usize {
        let mut i = from;
        while i < tokens.len() {
            match tokens[i].as_str() {
                "mod" if tokens[i + 2] == ";" => {
                    self.tests.insert(here.iter().cloned().chain([tokens[i + 1].clone()]).collect());
                    i += 1;
                }
                ";" => return i + 1,
                "{" => return closed(tokens, i),
                "(" | "[" => i = closed(tokens, i),
                _ => i += 1,
            }
        }
        i
    }
}

/// Reads one tree of a `use`; gives the index after it.
fn tree(
    tokens: &[String],
    from: usize,
    prefix: &[String],
    each: &mut impl FnMut(Vec<String>, String),
) -> usize {
    let at = |i: usize| tokens.get(i).map_or("", String::as_str);
    let mut path = prefix.to_vec();
    let mut i = from;
    loop {
        match at(i) {
            "::" => i += 1,
            "{" => {
                let end = closed(tokens, i);
                i += 1;
                while i < end - 1 {
                    i = tree(tokens, i, &path, each);
                    if at(i) == "," {
                        i += 1;
                    }
                }
                return end;
            }
            "*" => {
                each(path, "*".to_owned());
                return i + 1;
            }
            "as" => {
                each(path, at(i + 1).to_owned());
                return i + 2;
            }
            word if is_word(word) => {
                // `a::{self, b}` names `a`.
                if word != "self" || path.is_empty() {
                    path.push(word.to_owned());
                }
                i += 1;
            }
            _ => {
                let name = path.last().cloned().unwrap_or_default();
                each(path, name);
                return i;
            }
        }
    }
}
