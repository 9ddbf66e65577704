// SPDX-License-Identifier: GPL-2.0-only
//! JSON as rt-app's files have it: comments, commas before a closing brace, keys that repeat, keys without a value.
//! The tokens are `jsonc-parser`'s; its trees have no place for a key without a value.

use jsonc_parser::tokens::Token;
use jsonc_parser::{Scanner, ScannerOptions};

/// Objects and arrays inside one another; rt-app's grammar needs six.
const DEPTH: usize = 32;

/// A place in one of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: usize,
    pub(crate) offset: usize,
}

/// A value and where it begins.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) at: Place,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// A key with what follows it, if anything does.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) at: Place,
    pub(crate) key: String,
    pub(crate) value: Option<Node>,
}

/// Why a text is not such JSON: where, what was expected, what to do.
pub(crate) type Broken = (Place, String, String);

impl Value {
    /// The name of its type, with an article.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::Array(_) => "a list",
            Self::Object(_) => "an object",
        }
    }
}

/// The one object of a text.
pub(crate) fn parse(file: usize, text: &str) -> Result<Vec<Member>, Broken> {
    // What json-c, rt-app's reader, takes: single quotes, but none of JSON5's numbers.
    let options = ScannerOptions {
        allow_single_quoted_strings: true,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let mut parser = Parser { scanner: Scanner::new(text, &options), file, next: None };
    parser.advance()?;
    let at = parser.place();
    let Some(Token::OpenBrace) = parser.next else {
        return Err(parser.expected("an object, `{ \"tasks\": ... }`"));
    };
    let Node { value: Value::Object(members), .. } = parser.value(0)? else {
        return Err((at, "not an object".into(), HINT.into()));
    };
    if parser.next.is_some() {
        let what = "something follows the object; rt-app would not see it".to_string();
        return Err((
            parser.place(),
            what,
            "put all into one object, or into files of their own and name them all".into(),
        ));
    }
    Ok(members)
}

const HINT: &str = "see docs/reference/workload-format.md for the grammar";

struct Parser<'a> {
    scanner: Scanner<'a>,
    file: usize,
    next: Option<Token<'a>>,
}

impl Parser<'_> {
    fn place(&self) -> Place {
        Place { file: self.file, offset: self.scanner.token_start() }
    }

    /// To the next token that is not a comment.
    fn advance(&mut self) -> Result<(), Broken> {
        loop {
            let token = self.scanner.scan().map_err(|e| {
                let at = Place { file: self.file, offset: e.range().start };
                (at, format!("not JSON: {}", lower(&e.kind().to_string())), HINT.to_string())
            })?;
            if !matches!(token, Some(Token::CommentLine(_) | Token::CommentBlock(_))) {
                self.next = token;
                return Ok(());
            }
        }
    }

    fn expected(&self, what: &str) -> Broken {
        let found = match &self.next {
            None => "the end of the text".to_string(),
            Some(Token::String(text)) => format!("\"{}\"", short(text)),
            Some(token) => format!("`{}`", short(token.as_str())),
        };
        (self.place(), format!("expected {what}, found {found}"), HINT.to_string())
    }

    fn value(&mut self, depth: usize) -> Result<Node, Broken> {
        let at = self.place();
        if depth > DEPTH {
            let what = format!("more than {DEPTH} objects and lists inside one another");
            return Err((at, what, HINT.to_string()));
        }
        let value = match &self.next {
            Some(Token::OpenBrace) => Value::Object(self.members(depth)?),
            Some(Token::OpenBracket) => Value::Array(self.items(depth)?),
            Some(Token::String(text)) => Value::Text(text.to_string()),
            Some(Token::Number(text)) => Value::Number((*text).to_string()),
            Some(Token::Boolean(b)) => Value::Bool(*b),
            Some(Token::Null) => Value::Null,
            _ => return Err(self.expected("a value")),
        };
        self.advance()?;
        Ok(Node { at, value })
    }

    /// From `{` to `}`, which stays the next token.
    fn members(&mut self, depth: usize) -> Result<Vec<Member>, Broken> {
        let mut members = Vec::new();
        self.advance()?;
        loop {
            let at = self.place();
            let key = match &self.next {
                Some(Token::CloseBrace) => return Ok(members),
                Some(Token::String(text)) => text.to_string(),
                _ => return Err(self.expected("a key in quotes or `}`")),
            };
            self.advance()?;
            let value = if self.next == Some(Token::Colon) {
                self.advance()?;
                Some(self.value(depth + 1)?)
            } else {
                None
            };
            members.push(Member { at, key, value });
            self.comma(&Token::CloseBrace, "`,` or `}`")?;
        }
    }

    /// From `[` to `]`, which stays the next token.
    fn items(&mut self, depth: usize) -> Result<Vec<Node>, Broken> {
        let mut items = Vec::new();
        self.advance()?;
        while self.next != Some(Token::CloseBracket) {
            items.push(self.value(depth + 1)?);
            self.comma(&Token::CloseBracket, "`,` or `]`")?;
        }
        Ok(items)
    }

    fn comma(&mut self, end: &Token<'_>, what: &str) -> Result<(), Broken> {
        match &self.next {
            Some(Token::Comma) => self.advance(),
            Some(token) if token == end => Ok(()),
            _ => Err(self.expected(what)),
        }
    }
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_lowercase().chain(chars).collect())
}

/// At most 40 characters, for a message.
pub(crate) fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(40).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(40).is_some() {
        shown += "...";
    }
    shown
}
