// SPDX-License-Identifier: GPL-2.0-only
//! Declarations of TSDL: types, how they are spelled out, and the names given to them. Both are in one file, as a
//! structure holds declarations and a declaration may spell out a structure.

use super::lex::short;
use super::parser::{DEEPEST, Parser, Setting, Value, byte_order};
use super::types::{Int, Label, Member, Space, Type, TypeId};

/// Larger alignments are damage: the largest that makes sense is a cache line, 512 bits.
pub(super) const LARGEST_ALIGN: u32 = 4096;
/// Larger numbers are damage.
const LARGEST_INT: u64 = 1 << 16;

/// What stands where a type is expected.
enum Specifier<'a> {
    Type(TypeId),
    /// The name of a type, or of a type and then of a field.
    Words(Vec<&'a str>),
}

impl<'a> Parser<'a> {
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

    /// A type on its own, without a name behind it.
    pub(super) fn type_alone(&mut self) -> Result<TypeId, String> {
        match self.specifier()? {
            Specifier::Type(ty) => Ok(ty),
            Specifier::Words(words) => self.alias(&words),
        }
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
            if let Some(n) = self.take_number()? {
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

    /// A type, spelled out or by its name.
    fn specifier(&mut self) -> Result<Specifier<'a>, String> {
        while matches!(self.peek_word(), Some("const" | "volatile")) {
            self.step()?;
        }
        let Some(word) = self.peek_word() else { return self.instead_of("a type") };
        if !["struct", "variant", "enum", "integer", "floating_point", "string"].contains(&word) {
            return self.words().map(Specifier::Words);
        }
        self.step()?;
        let ty = match word {
            "struct" => self.structure()?,
            "variant" => self.variant()?,
            "enum" => self.enumeration()?,
            "integer" => self.integer()?,
            "floating_point" => self.floating_point()?,
            _ => {
                if self.is("{") {
                    let _encoding = self.block()?;
                }
                self.types.add(Type::Text)?
            }
        };
        Ok(Specifier::Type(ty))
    }

    fn named(&self, space: Space, what: &str, name: Option<&str>) -> Result<TypeId, String> {
        let Some(name) = name else { return self.instead_of("\"{\"") };
        let found = self.scopes.find(space, name);
        found.ok_or_else(|| format!("{what} \"{}\" to be declared before", short(name)))
    }

    /// A name, if one is next.
    fn name(&mut self) -> Result<Option<&'a str>, String> {
        let name = self.peek_word();
        if name.is_some() {
            self.step()?;
        }
        Ok(name)
    }

    fn body(&mut self) -> Result<Vec<Member>, String> {
        self.expect("{")?;
        self.deeper()?;
        let mut members = Vec::new();
        while !self.take("}")? {
            // A structure here is a field's type, not a declaration.
            let declares = matches!(self.peek_word(), Some("typealias" | "typedef"));
            if !(declares && self.declaration()?) {
                members.append(&mut self.members()?);
            }
        }
        self.higher();
        Ok(members)
    }

    fn structure(&mut self) -> Result<TypeId, String> {
        let name = self.name()?.filter(|n| *n != "align");
        if !self.is("{") {
            return self.named(Space::Struct, "struct", name);
        }
        let fields = self.body()?;
        let mut align = 1;
        if self.peek_word() == Some("align") {
            self.step()?;
            self.expect("(")?;
            align = alignment(self.signed()?)?;
            self.expect(")")?;
        }
        let ty = self.types.add(Type::Struct { align, fields })?;
        if let Some(name) = name {
            self.scopes.declare(Space::Struct, name, ty);
        }
        Ok(ty)
    }

    fn variant(&mut self) -> Result<TypeId, String> {
        let name = self.name()?;
        let mut tag = None;
        if self.take("<")? {
            tag = Some(self.path()?);
            self.expect(">")?;
        }
        if !self.is("{") {
            let declared = self.named(Space::Variant, "variant", name)?;
            let Type::Variant { options, .. } = self.types.get(declared) else {
                return self.instead_of("a variant");
            };
            let options = options.clone();
            return self.types.add(Type::Variant { tag, options });
        }
        let options = self.body()?;
        let ty = self.types.add(Type::Variant { tag, options })?;
        if let Some(name) = name {
            self.scopes.declare(Space::Variant, name, ty);
        }
        Ok(ty)
    }

    fn enumeration(&mut self) -> Result<TypeId, String> {
        let name = self.name()?;
        let container = if self.take(":")? { Some(self.type_alone()?) } else { None };
        if !self.is("{") {
            return self.named(Space::Enum, "enum", name);
        }
        let container = match container {
            Some(container) => container,
            None => self.alias(&["int"])?,
        };
        if self.types.int(container).is_none() {
            return Err("an enumeration to be kept in an integer".to_owned());
        }
        self.step()?;
        let mut labels: Vec<Label> = Vec::new();
        while !self.take("}")? {
            let name = match self.value()? {
                Value::Text(name) => name,
                Value::Path(path) => path.join("."),
                _ => return self.instead_of("a label"),
            };
            let mut from = labels.last().map_or(0, |l| l.to.saturating_add(1));
            let mut to = from;
            if self.take("=")? {
                from = self.signed()?;
                to = if self.take("...")? { self.signed()? } else { from };
            }
            labels.push(Label { name, from, to });
            if !self.take(",")? && !self.is("}") {
                return self.instead_of("\",\" or \"}\"");
            }
        }
        let ty = self.types.add(Type::Enum { container, labels })?;
        if let Some(name) = name {
            self.scopes.declare(Space::Enum, name, ty);
        }
        Ok(ty)
    }

    fn integer(&mut self) -> Result<TypeId, String> {
        let mut int = Int { bits: 0, align: 0, signed: false, order: None, text: false, clock: None };
        for Setting { path, value } in self.block()? {
            let word = value.word();
            match (path.as_str(), &value, word.as_deref()) {
                ("size", Value::Number(n), _) => int.bits = size(*n)?,
                ("align", Value::Number(n), _) => int.align = alignment(*n)?,
                ("signed", Value::Number(n), _) => int.signed = *n != 0,
                ("signed", _, Some(word)) => int.signed = word.eq_ignore_ascii_case("true"),
                ("byte_order", _, Some(word)) => int.order = byte_order(word)?,
                ("encoding", _, Some(word)) => int.text = word != "none",
                ("map", Value::Path(path), _) => match path.as_slice() {
                    [clock, name, value] if clock == "clock" && value == "value" => {
                        int.clock = Some(name.clone());
                    }
                    _ => return Err("map = clock.NAME.value".to_owned()),
                },
                ("base", ..) => {}
                (other, ..) => self.not_known("integer", other),
            }
        }
        if int.bits == 0 {
            return Err("an integer to have a size".to_owned());
        }
        int.align = usual_align(int.align, int.bits);
        self.types.add(Type::Int(int))
    }

    fn floating_point(&mut self) -> Result<TypeId, String> {
        let (mut bits, mut align) = (0u32, 0);
        for Setting { path, value } in self.block()? {
            match (path.as_str(), value) {
                ("exp_dig" | "mant_dig", Value::Number(n)) => bits = bits.saturating_add(size(n)?),
                ("align", Value::Number(n)) => align = alignment(n)?,
                ("byte_order", _) => {}
                (other, _) => self.not_known("floating_point", other),
            }
        }
        if bits == 0 {
            return Err("a floating_point to have exp_dig and mant_dig".to_owned());
        }
        self.types.add(Type::Opaque { bits, align: usual_align(align, bits) })
    }
}

fn size(n: i128) -> Result<u32, String> {
    let bits = u64::try_from(n).ok().filter(|n| (1..=LARGEST_INT).contains(n));
    bits.and_then(|n| u32::try_from(n).ok())
        .ok_or_else(|| format!("a size of 1 to {LARGEST_INT} bits, not {n}"))
}

fn alignment(n: i128) -> Result<u32, String> {
    let align = u32::try_from(n).ok().filter(|n| n.is_power_of_two() && *n <= LARGEST_ALIGN);
    align.ok_or_else(|| format!("an alignment to a power of two up to {LARGEST_ALIGN} bits, not {n}"))
}

/// Whole bytes are aligned to bytes unless the declaration says otherwise.
fn usual_align(said: u32, bits: u32) -> u32 {
    match said {
        0 if bits.is_multiple_of(8) => 8,
        0 => 1,
        said => said,
    }
}
