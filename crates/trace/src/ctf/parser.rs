// SPDX-License-Identifier: GPL-2.0-only
//! The tokens of TSDL one after the other, what was declared so far, and the words, numbers and values that all of the
//! language is made of.

use super::lex::{Lexer, Token, short};
use super::types::{Order, Scopes, Space, TypeId, Types};

/// Deeper nesting is damage.
pub(super) const DEEPEST: usize = 48;

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(i128),
    Text(String),
    /// Names with dots between them.
    Path(Vec<String>),
    /// What stands behind `:=`.
    Type(TypeId),
}

impl Value {
    pub(super) fn number(&self) -> Option<i128> {
        if let Self::Number(n) = self { Some(*n) } else { None }
    }

    /// A word or a text, as text.
    pub(super) fn word(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Path(path) => Some(path.join(".")),
            _ => None,
        }
    }

    pub(super) fn ty(&self) -> Option<TypeId> {
        if let Self::Type(ty) = self { Some(*ty) } else { None }
    }
}

/// `path = value` or `path := type`.
pub(super) struct Setting {
    pub(super) path: String,
    pub(super) value: Value,
}

/// Reads TSDL. Errors say what was expected and what is there; [`Parser::at`] says where.
pub(super) struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    /// Where `token` starts.
    at: usize,
    depth: usize,
    pub(super) types: Types,
    pub(super) scopes: Scopes,
    /// Attributes that nobody knows, as far as they are worth a note.
    pub(super) unknown: Vec<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            lexer: Lexer::new(text),
            token: Token::End,
            at: 0,
            depth: 0,
            types: Types::default(),
            scopes: Scopes::new(),
            unknown: Vec::new(),
        }
    }

    /// Where the token starts that is looked at.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Goes to the next token and gives the one before.
    pub(super) fn step(&mut self) -> Result<Token<'a>, String> {
        let next = self.lexer.next();
        self.at = self.lexer.start();
        let next = next?;
        Ok(std::mem::replace(&mut self.token, next))
    }

    pub(super) fn is_end(&self) -> bool {
        self.token == Token::End
    }

    /// The size of the integer type of that name.
    pub(super) fn bits_of(&self, name: &str) -> Option<u32> {
        self.types.int(self.scopes.find(Space::Alias, name)?).map(|int| int.bits)
    }

    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(&self.token, Token::Mark(m) if *m == mark)
    }

    pub(super) fn peek_word(&self) -> Option<&'a str> {
        if let Token::Word(word) = self.token { Some(word) } else { None }
    }

    pub(super) fn instead_of<T>(&self, expected: &str) -> Result<T, String> {
        Err(format!("{expected} instead of {}", self.token.show()))
    }

    /// Steps over `mark` if it is there.
    pub(super) fn take(&mut self, mark: &str) -> Result<bool, String> {
        let there = self.is(mark);
        if there {
            self.step()?;
        }
        Ok(there)
    }

    pub(super) fn expect(&mut self, mark: &str) -> Result<(), String> {
        if self.take(mark)? { Ok(()) } else { self.instead_of(&format!("\"{mark}\"")) }
    }

    pub(super) fn word(&mut self) -> Result<&'a str, String> {
        match self.peek_word() {
            Some(word) => self.step().map(|_| word),
            None => self.instead_of("a name"),
        }
    }

    pub(super) fn path(&mut self) -> Result<Vec<String>, String> {
        let mut path = vec![self.word()?.to_owned()];
        while self.take(".")? {
            path.push(self.word()?.to_owned());
        }
        Ok(path)
    }

    /// Steps over a number if one is next.
    pub(super) fn take_number(&mut self) -> Result<Option<u64>, String> {
        let Token::Number(n) = self.token else { return Ok(None) };
        self.step()?;
        Ok(Some(n))
    }

    pub(super) fn signed(&mut self) -> Result<i128, String> {
        let negative = self.take("-")?;
        if !negative {
            self.take("+")?;
        }
        let Some(n) = self.take_number()? else { return self.instead_of("a number") };
        Ok(if negative { -i128::from(n) } else { i128::from(n) })
    }

    pub(super) fn value(&mut self) -> Result<Value, String> {
        match &self.token {
            Token::Text(_) => {
                let Token::Text(mut text) = self.step()? else { return self.instead_of("a text") };
                // As in C, texts that follow each other are one.
                while let Token::Text(more) = &self.token {
                    text.push_str(more);
                    self.step()?;
                }
                Ok(Value::Text(text))
            }
            Token::Word(_) => self.path().map(Value::Path),
            _ => self.signed().map(Value::Number),
        }
    }

    pub(super) fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        self.scopes.enter();
        if self.depth > DEEPEST {
            return Err(format!("at most {DEEPEST} levels of braces"));
        }
        Ok(())
    }

    pub(super) fn higher(&mut self) {
        self.depth -= 1;
        self.scopes.leave();
    }

    /// Words and stars: the name of a type of C.
    pub(super) fn words(&mut self) -> Result<Vec<&'a str>, String> {
        let mut words = Vec::new();
        loop {
            match self.peek_word() {
                Some("const" | "volatile") => {}
                Some(word) => words.push(word),
                None if self.is("*") => words.push("*"),
                None => return Ok(words),
            }
            self.step()?;
        }
    }

    pub(super) fn alias(&self, words: &[&str]) -> Result<TypeId, String> {
        let name = words.join(" ");
        let found = self.scopes.find(Space::Alias, &name);
        found.ok_or_else(|| format!("a type that was declared before instead of \"{}\"", short(&name)))
    }

    pub(super) fn not_known(&mut self, block: &str, attribute: &str) {
        const WORTH: usize = 20;
        let name = format!("{block}.{}", short(attribute));
        if self.unknown.len() < WORTH && !self.unknown.contains(&name) {
            self.unknown.push(name);
        }
    }
}

/// `None` is the trace's own byte order.
pub(super) fn byte_order(word: &str) -> Result<Option<Order>, String> {
    match word {
        "le" => Ok(Some(Order::Little)),
        "be" | "network" => Ok(Some(Order::Big)),
        "native" => Ok(None),
        other => Err(format!("the byte order le, be, network or native instead of \"{}\"", short(other))),
    }
}
