// SPDX-License-Identifier: GPL-2.0-only
//! From types to programs. What has a fixed place gets one; steps are left only for what has not.

use std::collections::BTreeMap;

use super::program::{Case, Count, Field, Num, Program, Step, align_up};
use super::types::{Int, Member, Order, Type, TypeId, Types};

/// Deeper nesting is damage.
const DEEPEST: u32 = 64;
/// All types of a trace together may need so many visits; damage can describe exponentially many.
const MOST_WORK: u64 = 2_000_000;
/// No part of an event whose size is fixed is larger, bits.
const LARGEST: u64 = 1 << 40;
/// Places further behind their base get a base of their own, bits.
const FAR: u64 = 1 << 30;
/// A variant with more labels is damage.
const MOST_CASES: usize = 4096;
const MOST_BASES: usize = 4096;

/// What is known of a type wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) align: u32,
    /// Its length from an aligned start, bits, if it is always the same.
    pub(super) fixed: Option<u64>,
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// A number, with its type.
    Number(Num, TypeId),
    /// A text, or bytes.
    Text(Field),
    Fields(Fields),
    /// What can be stepped over, but not asked for.
    Other,
}

/// The fields of a structure by name.
pub(super) type Fields = BTreeMap<String, Found>;

/// A field by the name that a kernel knows it by: TSDL's keywords make writers put an underscore before names.
pub(super) fn find<'f>(fields: &'f Fields, name: &str) -> Option<&'f Found> {
    fields.get(name).or_else(|| fields.get(&format!("_{name}")))
}

/// Compiles the types of one trace.
pub(super) struct Compiler<'a> {
    pub(super) types: &'a Types,
    order: Order,
    shapes: BTreeMap<TypeId, Shape>,
    work: u64,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(types: &'a Types, order: Order) -> Self {
        Self { types, order, shapes: BTreeMap::new(), work: 0 }
    }

    fn visit(&mut self, depth: u32) -> Result<(), String> {
        self.work += 1;
        if depth > DEEPEST {
            return Err(format!("types nest more than {DEEPEST} deep"));
        }
        if self.work > MOST_WORK {
            return Err("the types of the trace hold too many fields".to_owned());
        }
        Ok(())
    }

    /// The number that `int` is at a place.
    pub(super) fn num(&self, int: &Int, base: u16, at: u64) -> Option<Num> {
        let bits = u8::try_from(int.bits).ok().filter(|b| *b <= 64)?;
        let at = u32::try_from(at).ok()?;
        Some(Num::new(base, at, bits, int.signed, int.order.unwrap_or(self.order)))
    }

    pub(super) fn shape(&mut self, ty: TypeId, depth: u32) -> Result<Shape, String> {
        if let Some(shape) = self.shapes.get(&ty) {
            return Ok(*shape);
        }
        self.visit(depth)?;
        let types = self.types;
        let shape = match types.get(ty) {
            Type::Int(int) => Shape { align: int.align, fixed: Some(u64::from(int.bits)) },
            Type::Enum { container, .. } => self.shape(*container, depth + 1)?,
            Type::Opaque { bits, align } => Shape { align: *align, fixed: Some(u64::from(*bits)) },
            Type::Text => Shape { align: 8, fixed: None },
            Type::Struct { align, fields } => {
                let (mut align, mut fixed) = (*align, Some(0));
                for field in fields {
                    let field = self.shape(field.ty, depth + 1)?;
                    align = align.max(field.align);
                    let end = |at| Some(align_up(at, field.align).saturating_add(field.fixed?));
                    fixed = fixed.and_then(end);
                }
                Shape { align, fixed }
            }
            Type::Variant { .. } => Shape { align: 1, fixed: None },
            Type::Array { element, count } => {
                let element = self.shape(*element, depth + 1)?;
                let total = |bits: u64| match *count {
                    0 => 0,
                    n => align_up(bits, element.align).saturating_mul(n - 1).saturating_add(bits),
                };
                Shape { align: element.align, fixed: element.fixed.map(total) }
            }
            Type::Sequence { element, .. } => {
                Shape { align: self.shape(*element, depth + 1)?.align, fixed: None }
            }
        };
        if shape.fixed.is_some_and(|bits| bits > LARGEST) {
            return Err("a field is too large".to_owned());
        }
        self.shapes.insert(ty, shape);
        Ok(shape)
    }

    pub(super) fn program(&mut self) -> Code<'_, 'a> {
        Code {
            compiler: self,
            program: Program { align: 1, bases: 1, ..Program::default() },
            base: 0,
            at: 0,
            known: 1,
            started: false,
            scopes: Vec::new(),
            roots: BTreeMap::new(),
        }
    }
}

/// A program that is being compiled.
pub(super) struct Code<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    program: Program,
    /// The base that places count from, and how far behind it the next field starts.
    base: u16,
    at: u64,
    /// The base is a multiple of so many bits, whatever came before.
    known: u32,
    started: bool,
    /// The fields that can be referred to, the innermost structure last.
    scopes: Vec<Fields>,
    /// Which scope a dynamic scope of TSDL is.
    roots: BTreeMap<&'static str, usize>,
}

impl Code<'_, '_> {
    /// Adds the structure `ty`, whose fields later ones may refer to as `root`, such as `event.fields`.
    pub(super) fn part(&mut self, root: &'static str, ty: Option<TypeId>) -> Result<(), String> {
        self.roots.insert(root, self.scopes.len());
        let Some(ty) = ty else {
            self.scopes.push(Fields::new());
            return Ok(());
        };
        let types = self.compiler.types;
        let Type::Struct { fields, .. } = types.get(ty) else {
            return Err(format!("{root} is not a structure"));
        };
        let align = self.compiler.shape(ty, 0)?.align;
        self.align(align);
        self.scopes.push(Fields::new());
        self.fields(fields, 0)
    }

    /// The program, and the fields of its parts.
    pub(super) fn finish(mut self) -> (Program, Vec<Fields>) {
        if self.program.steps.is_empty() {
            self.program.bits = self.at;
        } else if self.at > 0 {
            self.program.steps.push(Step::Advance(self.at));
        }
        (self.program, self.scopes)
    }

    /// What comes next starts at a multiple of `align`.
    fn align(&mut self, align: u32) {
        if !self.started {
            // The whole program starts there, so the first base is known to.
            self.program.align = align;
            self.known = align;
            self.started = true;
        } else if align <= self.known {
            self.at = align_up(self.at, align);
        } else {
            self.advance();
            self.program.steps.push(Step::Align(align));
            self.known = align;
            self.mark();
        }
    }

    /// Writes down how far it is from the base to here; a new base must follow.
    fn advance(&mut self) {
        let bits = std::mem::take(&mut self.at);
        if self.program.steps.is_empty() {
            self.program.bits = bits;
        } else if bits > 0 {
            self.program.steps.push(Step::Advance(bits));
        }
        // A multiple of both.
        let of_bits = 1u32.checked_shl(bits.trailing_zeros()).unwrap_or(u32::MAX);
        self.known = if bits == 0 { self.known } else { self.known.min(of_bits) };
    }

    fn mark(&mut self) {
        self.base = u16::try_from(self.program.bases).unwrap_or(u16::MAX);
        self.program.bases += 1;
        self.program.steps.push(Step::Mark(self.base));
    }

    fn fields(&mut self, fields: &[Member], depth: u32) -> Result<(), String> {
        for field in fields {
            let found = self.field(field.ty, depth + 1)?;
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(field.name.clone(), found);
            }
        }
        Ok(())
    }

    /// Adds a field of type `ty`.
    fn field(&mut self, ty: TypeId, depth: u32) -> Result<Found, String> {
        self.compiler.visit(depth)?;
        if self.program.bases > MOST_BASES {
            return Err("too many fields of variable length".to_owned());
        }
        let shape = self.compiler.shape(ty, depth)?;
        let types = self.compiler.types;
        match types.get(ty) {
            Type::Variant { tag, options } => {
                self.started = true;
                self.variant(tag.as_deref(), options, depth)?;
                return Ok(Found::Other);
            }
            Type::Struct { fields, .. } => {
                self.align(shape.align);
                self.scopes.push(Fields::new());
                self.fields(fields, depth)?;
                return Ok(self.scopes.pop().map_or(Found::Other, Found::Fields));
            }
            _ => {}
        }
        self.align(shape.align);
        if self.at > FAR {
            self.advance();
            self.mark();
        }
        let (base, at) = (self.base, u32::try_from(self.at).unwrap_or(u32::MAX));
        let found = match types.get(ty) {
            Type::Int(_) | Type::Enum { .. } => {
                let num = types.int(ty).and_then(|int| self.compiler.num(int, base, self.at));
                num.map_or(Found::Other, |num| Found::Number(num, ty))
            }
            Type::Array { element, count } if self.is_char(*element) && at % 8 == 0 => {
                let len = u32::try_from(*count).unwrap_or(u32::MAX);
                Found::Text(Field::Chars { base, at, len })
            }
            Type::Array { element, count } if shape.fixed.is_none() => {
                return self.repeat(Count::Fixed(*count), *element, depth).map(|()| Found::Other);
            }
            Type::Text => {
                self.advance();
                self.program.steps.push(Step::Text);
                self.known = 8;
                self.mark();
                return Ok(Found::Text(Field::Text { base, at }));
            }
            Type::Sequence { element, count } => {
                let (count, _) = self.lookup(count)?;
                return self.sequence(*element, count, depth);
            }
            _ => Found::Other,
        };
        self.at = self.at.saturating_add(shape.fixed.unwrap_or(0));
        Ok(found)
    }

    fn is_char(&self, ty: TypeId) -> bool {
        self.compiler.types.int(ty).is_some_and(|int| int.bits == 8 && int.align == 8)
    }

    /// Adds a sequence; its start is aligned already.
    fn sequence(&mut self, element: TypeId, count: Num, depth: u32) -> Result<Found, String> {
        let (base, at) = (self.base, u32::try_from(self.at).unwrap_or(u32::MAX));
        let shape = self.compiler.shape(element, depth)?;
        let Some(bits) = shape.fixed.filter(|bits| bits % u64::from(shape.align) == 0) else {
            return self.repeat(Count::Counted(count), element, depth).map(|()| Found::Other);
        };
        self.advance();
        self.program.steps.push(Step::Times { count, bits });
        self.known = self.known.min(shape.align);
        self.mark();
        let text = self.is_char(element) && at % 8 == 0;
        Ok(if text { Found::Text(Field::Counted { base, at, count }) } else { Found::Other })
    }

    /// Adds elements of which each has to be stepped through.
    fn repeat(&mut self, count: Count, element: TypeId, depth: u32) -> Result<(), String> {
        self.advance();
        let start = self.program.steps.len();
        self.program.steps.push(Step::Loop { count, len: 0 });
        self.known = 1;
        self.mark();
        self.field(element, depth + 1)?;
        self.advance();
        let len = u32::try_from(self.program.steps.len() - start - 1).unwrap_or(u32::MAX);
        if let Some(step) = self.program.steps.get_mut(start) {
            *step = Step::Loop { count, len };
        }
        self.known = 1;
        self.mark();
        Ok(())
    }

    fn variant(&mut self, tag: Option<&[String]>, options: &[Member], depth: u32) -> Result<(), String> {
        let (tag, ty) = self.lookup(tag.ok_or("a variant has no tag")?)?;
        let cases = cases(self.compiler.types, ty, options)?;
        self.advance();
        let table = self.program.tables.len();
        self.program.tables.push(Vec::new());
        self.program.steps.push(Step::Choose { tag, table: u32::try_from(table).unwrap_or(u32::MAX) });
        let before = self.known;
        let mut after = u32::MAX;
        let (mut starts, mut jumps) = (Vec::new(), Vec::new());
        for option in options {
            starts.push(self.step());
            self.known = before;
            self.mark();
            self.field(option.ty, depth + 1)?;
            self.advance();
            after = after.min(self.known);
            jumps.push(self.program.steps.len());
            self.program.steps.push(Step::Jump(0));
        }
        let end = self.step();
        for jump in jumps {
            if let Some(step) = self.program.steps.get_mut(jump) {
                *step = Step::Jump(end);
            }
        }
        if let Some(table) = self.program.tables.get_mut(table) {
            let case = |(option, from, to): &(usize, i128, i128)| {
                Some(Case { from: *from, to: *to, step: *starts.get(*option)? })
            };
            table.extend(cases.iter().filter_map(case));
        }
        self.known = before.min(after);
        self.mark();
        Ok(())
    }

    fn step(&self) -> u32 {
        u32::try_from(self.program.steps.len()).unwrap_or(u32::MAX)
    }

    /// The number that a path of names refers to.
    fn lookup(&self, path: &[String]) -> Result<(Num, TypeId), String> {
        let unknown = || format!("nothing that can be looked up is called {}", path.join("."));
        let from_root = self.roots.iter().find_map(|(root, scope)| {
            let words = root.split('.').count();
            let same = path.len() > words && root.split('.').eq(path.iter().take(words).map(String::as_str));
            same.then(|| (self.scopes.get(*scope), path.get(words..).unwrap_or_default()))
        });
        let (scope, path) = from_root.unwrap_or_else(|| {
            let first = path.first().map_or("", String::as_str);
            (self.scopes.iter().rev().find(|s| s.contains_key(first)), path)
        });
        let mut fields = scope.ok_or_else(unknown)?;
        let (last, outer) = path.split_last().ok_or_else(unknown)?;
        for name in outer {
            let Some(Found::Fields(inner)) = fields.get(name) else { return Err(unknown()) };
            fields = inner;
        }
        match fields.get(last) {
            Some(Found::Number(num, ty)) => Ok((*num, *ty)),
            _ => Err(unknown()),
        }
    }
}

/// Which values of the enumeration `tag` choose which option: its number, first and last value.
pub(super) fn cases(
    types: &Types,
    tag: TypeId,
    options: &[Member],
) -> Result<Vec<(usize, i128, i128)>, String> {
    let Type::Enum { labels, .. } = types.get(tag) else {
        return Err("the tag of a variant is no enumeration".to_owned());
    };
    if labels.len() > MOST_CASES {
        return Err(format!("a variant has more than {MOST_CASES} labels"));
    }
    let bare = |name: &str| name.strip_prefix('_').unwrap_or(name).to_owned();
    let by_name: BTreeMap<String, usize> = options.iter().zip(0..).map(|(o, i)| (bare(&o.name), i)).collect();
    let case = |l: &super::types::Label| Some((*by_name.get(&bare(&l.name))?, l.from, l.to));
    Ok(labels.iter().filter_map(case).collect())
}
