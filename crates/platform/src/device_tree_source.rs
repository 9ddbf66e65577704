// SPDX-License-Identifier: GPL-2.0-only
//! The source of a device tree, read for its nodes, their labels and their properties. Includes are not followed.

use std::collections::BTreeMap;

/// More nodes than any board has.
const NODES_MAX: usize = 1 << 16;
const DEPTH_MAX: usize = 64;

/// A node without its children.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// Without the address behind `@`.
    pub(crate) name: String,
    pub(crate) properties: BTreeMap<String, Vec<Token>>,
}

/// All nodes of a source, in its order.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: Vec<Node>,
    labels: BTreeMap<String, usize>,
}

/// A piece of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name, a number, a reference.
    Word(String),
    Text(String),
    /// One of `{};=<>,()`.
    Sign(char),
}

impl Tree {
    /// Reads `text`. The error says what is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (tokens, defined) = tokens(text);
        let mut tree = Self::default();
        // The nodes that are open, and where they are.
        let mut open: Vec<usize> = Vec::new();
        // By the node around it and the whole name: a node may be there several times.
        let mut named: BTreeMap<(Option<usize>, String), usize> = BTreeMap::new();
        let mut before: Vec<Token> = Vec::new();
        for token in tokens {
            match token {
                Token::Sign('{') => {
                    if open.len() == DEPTH_MAX || tree.nodes.len() == NODES_MAX {
                        return Err(format!(
                            "more than {DEPTH_MAX} nodes in each other, or {NODES_MAX} in all"
                        ));
                    }
                    let words: Vec<&str> = before.iter().filter_map(Token::word).collect();
                    let full = words.last().copied().unwrap_or_default();
                    let place = (open.last().copied(), full.to_owned());
                    let extended = full.strip_prefix('&').map(|l| l.trim_matches(['{', '}']));
                    let known =
                        extended.and_then(|l| tree.labels.get(l)).or_else(|| named.get(&place)).copied();
                    let at = known.unwrap_or_else(|| {
                        let name =
                            full.split('@').next().unwrap_or_default().trim_start_matches('&').to_owned();
                        tree.nodes.push(Node { name, ..Node::default() });
                        tree.nodes.len() - 1
                    });
                    for label in words.iter().filter_map(|w| w.strip_suffix(':')) {
                        tree.labels.insert(label.to_owned(), at);
                    }
                    if extended.is_none() {
                        named.insert(place, at);
                    }
                    open.push(at);
                    before.clear();
                }
                Token::Sign('}') => {
                    open.pop().ok_or("a } without a {")?;
                    before.clear();
                }
                Token::Sign(';') => {
                    let words: Vec<&str> = before.iter().filter_map(Token::word).collect();
                    if let ["/delete-node/", gone] = words.as_slice() {
                        let label = gone.strip_prefix('&').and_then(|label| tree.labels.get(label));
                        let at =
                            label.or_else(|| named.get(&(open.last().copied(), (*gone).to_owned()))).copied();
                        if let Some(node) = at.and_then(|at| tree.nodes.get_mut(at)) {
                            *node = Node::default();
                        }
                    } else if let Some(node) = open.last().and_then(|at| tree.nodes.get_mut(*at)) {
                        node.take(std::mem::take(&mut before), &defined);
                    }
                    before.clear();
                }
                token => before.push(token),
            }
        }
        if open.is_empty() { Ok(tree) } else { Err("a { without a }: is the text cut short?".to_owned()) }
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    /// The node with this label.
    pub(crate) fn labelled(&self, label: &str) -> Option<&Node> {
        self.nodes.get(*self.labels.get(label)?)
    }
}

impl Token {
    fn word(&self) -> Option<&str> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }
}

impl Node {
    /// Takes what stands before a `;`: a property.
    fn take(&mut self, tokens: Vec<Token>, defined: &BTreeMap<String, String>) {
        let mut tokens = tokens.into_iter().skip_while(|t| t.word().is_some_and(|w| w.ends_with(':')));
        let Some(Token::Word(name)) = tokens.next() else { return };
        if name == "/delete-property/" {
            if let Some(Token::Word(name)) = tokens.next() {
                self.properties.remove(&name);
            }
            return;
        }
        let value = tokens.skip_while(|t| *t == Token::Sign('=')).map(|t| match t {
            Token::Word(w) => Token::Word(defined.get(&w).cloned().unwrap_or(w)),
            t => t,
        });
        self.properties.insert(name, value.collect());
    }

    /// The number that a property is; nothing where it is several, or none.
    pub(crate) fn number(&self, property: &str) -> Option<u64> {
        let words: Vec<&Token> = self
            .properties
            .get(property)?
            .iter()
            .filter(|t| !matches!(t, Token::Sign('<' | '>' | '(' | ')')))
            .collect();
        let [Token::Word(word)] = words.as_slice() else { return None };
        match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        }
    }

    /// The first text of a property.
    pub(crate) fn text(&self, property: &str) -> Option<&str> {
        self.texts(property).next()
    }

    fn texts(&self, property: &str) -> impl Iterator<Item = &str> {
        let tokens = self.properties.get(property).into_iter().flatten();
        tokens.filter_map(|t| if let Token::Text(text) = t { Some(text.as_str()) } else { None })
    }

    /// Whether it is compatible with a device whose name is `what`, whoever makes it.
    pub(crate) fn is_compatible(&self, what: &str) -> bool {
        self.texts("compatible").any(|c| c.split_once(',').map_or(c, |(_, name)| name) == what)
    }

    /// The labels that a property refers to.
    pub(crate) fn references(&self, property: &str) -> impl Iterator<Item = &str> {
        let tokens = self.properties.get(property).into_iter().flatten();
        tokens.filter_map(|t| t.word()?.strip_prefix('&'))
    }
}

/// The tokens of a source, and what `#define` names. Comments and other lines for the preprocessor are left out.
fn tokens(text: &str) -> (Vec<Token>, BTreeMap<String, String>) {
    let (mut out, mut defined) = (Vec::new(), BTreeMap::new());
    let mut rest = text;
    let mut line_start = true;
    while let Some(c) = rest.chars().next() {
        let behind = rest.get(c.len_utf8()..).unwrap_or_default();
        let to_line_end = || rest.find('\n').unwrap_or(rest.len());
        let was_start = line_start;
        line_start = c == '\n' || was_start && c.is_whitespace();
        if c.is_whitespace() {
            rest = behind;
        } else if rest.starts_with("/*") {
            rest = rest.get(2..).and_then(|r| r.split_once("*/")).map_or("", |(_, behind)| behind);
            line_start = was_start;
        } else if rest.starts_with("//") {
            rest = rest.get(to_line_end()..).unwrap_or_default();
        } else if c == '#' && was_start && is_directive(behind) {
            let (line, behind) = rest.split_at_checked(to_line_end()).unwrap_or((rest, ""));
            let line = line.split("//").next().and_then(|l| l.split("/*").next()).unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ["#define", name, value] = words.as_slice() {
                defined.insert((*name).to_owned(), value.trim_matches(['(', ')']).to_owned());
            }
            rest = behind;
        } else if c == '"' {
            let end = behind.find('"').unwrap_or(behind.len());
            out.push(Token::Text(behind.get(..end).unwrap_or_default().to_owned()));
            rest = behind.get(end + 1..).unwrap_or_default();
        } else if "{};=<>,()[]".contains(c) {
            if c != ',' {
                out.push(Token::Sign(c));
            }
            rest = behind;
        } else {
            // A comma is part of a property's name, as in `arm,psci-suspend-param`.
            let end =
                rest.find(|c: char| c.is_whitespace() || "{};=<>()[]\"".contains(c)).unwrap_or(rest.len());
            let word = rest.get(..end).unwrap_or_default();
            // A label needs no space behind it: `ret:cpu-retention`.
            let end = word.find(':').map_or(end, |at| at + 1).max(1);
            out.push(Token::Word(rest.get(..end).unwrap_or_default().trim_end_matches(',').to_owned()));
            rest = rest.get(end..).unwrap_or_default();
        }
    }
    (out, defined)
}

/// Properties begin with `#`, too: `#address-cells`.
fn is_directive(behind: &str) -> bool {
    let word: String = behind.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    ["include", "define", "undef", "if", "ifdef", "ifndef", "else", "elif", "endif", "pragma", "error"]
        .contains(&word.as_str())
        && !behind.get(word.len()..).is_some_and(|r| r.starts_with('-'))
}
