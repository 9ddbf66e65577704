// SPDX-License-Identifier: GPL-2.0-only
//! Declarations of TSDL: types, and the names given to them.

use super::lex::{Lexer, Token, short};
use super::specify::Specifier;
use super::types::{Member, Order, Scopes, Space, Type, TypeId, Types};

/// Deeper nesting is damage.
const DEEPEST: usize = 48;

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

/// Reads declarations from tokens. Errors say what was expected and what is there; [`Parser::at`] says where.
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

    pub(super) fn signed(&mut self) -> Result<i128, String> {
        let negative = self.take("-")?;
        if !negative {
            self.take("+")?;
        }
        let Token::Number(n) = self.token else { return self.instead_of("a number") };
        self.step()?;
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

    /// The settings between braces, with the declarations among them made.
    pub(super) fn block(&mut self) -> Result<Vec<Setting>, String> {
        self.expect("{")?;
        self.deeper()?;
        let mut settings = Vec::new();
        while !self.take("}")? {
            if self.declaration()? {
                continue;
            }
            let path = self.path()?.join(".");
            let value = if self.take(":=")? {
                Value::Type(self.type_alone()?)
            } else {
                self.expect("=")?;
                self.value()?
            };
            self.expect(";")?;
            settings.push(Setting { path, value });
        }
        self.higher();
        Ok(settings)
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

    /// Reads a declaration up to its semicolon, if one is next.
    pub(super) fn declaration(&mut self) -> Result<bool, String> {
        match self.peek_word() {
            Some("typealias") => {
                self.step()?;
                let ty = self.type_alone()?;
                self.expect(":=")?;
                let name = self.words()?.join(" ");
                self.scopes.declare(Space::Alias, &name, ty);
            }
            Some("typedef") => {
                self.step()?;
                for member in self.members()? {
                    self.scopes.declare(Space::Alias, &member.name, member.ty);
                }
                return Ok(true);
            }
            Some("struct" | "variant" | "enum") => {
                self.type_alone()?;
            }
            _ => return Ok(false),
        }
        self.expect(";")?;
        Ok(true)
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

    /// A type on its own, without a name behind it.
    pub(super) fn type_alone(&mut self) -> Result<TypeId, String> {
        match self.specifier()? {
            Specifier::Type(ty) => Ok(ty),
            Specifier::Words(words) => self.alias(&words),
        }
    }

    pub(super) fn alias(&self, words: &[&str]) -> Result<TypeId, String> {
        let name = words.join(" ");
        let found = self.scopes.find(Space::Alias, &name);
        found.ok_or_else(|| format!("a type that was declared before instead of \"{}\"", short(&name)))
    }

    /// Fields of one type, up to the semicolon: `uint32_t a, b[4];`.
    pub(super) fn members(&mut self) -> Result<Vec<Member>, String> {
        let (ty, mut name) = match self.specifier()? {
            Specifier::Type(ty) => (ty, None),
            Specifier::Words(mut words) => {
                let name = words.pop();
                (self.alias(&words)?, name)
            }
        };
        let mut members = Vec::new();
        loop {
            let name = match name.take() {
                Some(name) => name,
                None => self.word()?,
            };
            let ty = self.dimensions(ty)?;
            members.push(Member { name: name.to_owned(), ty });
            if !self.take(",")? {
                break;
            }
        }
        self.expect(";")?;
        Ok(members)
    }

    /// `[4]` is an array of four, `[length]` a sequence; the first brackets are the outermost.
    fn dimensions(&mut self, element: TypeId) -> Result<TypeId, String> {
        enum Many {
            Times(u64),
            Counted(Vec<String>),
        }
        let mut all = Vec::new();
        while self.take("[")? {
            if let Token::Number(n) = self.token {
                self.step()?;
                all.push(Many::Times(n));
            } else {
                all.push(Many::Counted(self.path()?));
            }
            self.expect("]")?;
            if all.len() > DEEPEST {
                return Err(format!("at most {DEEPEST} dimensions"));
            }
        }
        all.into_iter().rev().try_fold(element, |element, many| {
            self.types.add(match many {
                Many::Times(count) => Type::Array { element, count },
                Many::Counted(count) => Type::Sequence { element, count },
            })
        })
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
