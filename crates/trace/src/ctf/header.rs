// SPDX-License-Identifier: GPL-2.0-only
//! The header of every event: its id and its time. It is read most often of all, so each shape that its variant can take
//! is laid out beforehand.

use super::compile::{Compiler, cases};
use super::program::{Num, align_up};
use super::types::{Int, Type, TypeId};

/// Headers have one variant of two options; more shapes than this are damage.
const MOST_SHAPES: usize = 64;

/// The header of the events of one kind of streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    align: u32,
    shapes: Vec<Shape>,
    /// The clock that the times are of.
    pub(super) clock: Option<String>,
}

/// One shape of a header; places count from its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Shape {
    /// It has this shape when the number lies between the two.
    when: Option<(Num, u64, u64)>,
    id: Option<Num>,
    time: Option<Num>,
    bits: u64,
}

/// What a header says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) id: Option<u64>,
    /// The lowest bits of the time, and how many they are.
    pub(super) time: Option<(u64, u8)>,
    /// Where the event goes on.
    pub(super) end: u64,
}

/// Why there is no header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHead {
    /// It reaches beyond the limit.
    Beyond,
    /// It has none of the shapes.
    Shapeless,
}

impl Header {
    /// Lays out the header `ty`.
    ///
    /// # Errors
    /// What keeps it from being read.
    pub(super) fn compile(compiler: &mut Compiler<'_>, ty: Option<TypeId>) -> Result<Self, String> {
        let Some(ty) = ty else {
            return Ok(Self { align: 1, shapes: vec![Shape::default()], clock: None });
        };
        let align = compiler.shape(ty, 0)?.align;
        let mut layout = Layout { compiler, align, clock: None };
        let shapes = layout.structure(ty, vec![Shape::default()], 0)?;
        Ok(Self { align, shapes, clock: layout.clock })
    }

    /// Reads the header at `at`.
    #[inline(always)]
    pub(super) fn read(&self, bytes: &[u8], at: u64, limit: u64) -> Result<Head, NoHead> {
        let start = align_up(at, self.align);
        for shape in &self.shapes {
            if let Some((tag, from, to)) = shape.when
                && !(from..=to).contains(&tag.load(bytes, start))
            {
                continue;
            }
            let end = start.saturating_add(shape.bits);
            if end > limit {
                return Err(NoHead::Beyond);
            }
            return Ok(Head {
                id: shape.id.map(|num| num.load(bytes, start)),
                time: shape.time.map(|num| (num.load(bytes, start), num.bits)),
                end,
            });
        }
        // Behind the limit there may be anything.
        let end = |shape: &Shape| shape.when.map_or(0, |(tag, ..)| u64::from(tag.at) + u64::from(tag.bits));
        let beyond = self.shapes.iter().any(|shape| start.saturating_add(end(shape)) > limit);
        Err(if beyond { NoHead::Beyond } else { NoHead::Shapeless })
    }
}

struct Layout<'c, 'a> {
    compiler: &'c mut Compiler<'a>,
    /// What the start of the header is aligned to.
    align: u32,
    clock: Option<String>,
}

impl Layout<'_, '_> {
    /// Puts a structure behind each of `shapes`.
    fn structure(&mut self, ty: TypeId, mut shapes: Vec<Shape>, depth: u32) -> Result<Vec<Shape>, String> {
        let types = self.compiler.types;
        let Type::Struct { fields, .. } = types.get(ty) else {
            return Err("the header of the events is not a structure".to_owned());
        };
        let own = self.compiler.shape(ty, depth)?.align;
        self.align_all(&mut shapes, own)?;
        // The tag of a variant may stand in the same structure only.
        let mut tags: Vec<(&str, TypeId, Vec<Option<Num>>)> = Vec::new();
        for field in fields {
            match types.get(field.ty) {
                Type::Struct { .. } => shapes = self.structure(field.ty, shapes, depth + 1)?,
                Type::Variant { tag, options } => {
                    let name = tag.as_ref().and_then(|path| path.last()).map_or("", String::as_str);
                    let tag = tags.iter().find(|(n, ..)| *n == name);
                    let (_, tag_ty, places) = tag.ok_or("the variant in the header has no tag before it")?;
                    let cases = cases(types, *tag_ty, options)?;
                    if shapes.len() * cases.len() > MOST_SHAPES || shapes.iter().any(|s| s.when.is_some()) {
                        return Err("the header of the events has too many shapes".to_owned());
                    }
                    let mut all = Vec::new();
                    for (option, from, to) in cases {
                        let range = (u64::try_from(from), u64::try_from(to));
                        let (Ok(from), Ok(to)) = range else {
                            return Err("the tag in the header is negative".to_owned());
                        };
                        let mut chosen = shapes.clone();
                        for (shape, place) in chosen.iter_mut().zip(places) {
                            shape.when = place.map(|num| (num, from, to));
                        }
                        let Some(option) = options.get(option) else { continue };
                        all.append(&mut self.option(option.ty, &option.name, chosen, depth + 1)?);
                    }
                    shapes = all;
                    tags.clear();
                }
                _ => {
                    let places = self.number(field.ty, &field.name, &mut shapes)?;
                    tags.push((&field.name, field.ty, places));
                }
            }
        }
        Ok(shapes)
    }

    fn option(
        &mut self,
        ty: TypeId,
        name: &str,
        mut shapes: Vec<Shape>,
        depth: u32,
    ) -> Result<Vec<Shape>, String> {
        if matches!(self.compiler.types.get(ty), Type::Struct { .. }) {
            return self.structure(ty, shapes, depth);
        }
        self.number(ty, name, &mut shapes)?;
        Ok(shapes)
    }

    fn align_all(&self, shapes: &mut [Shape], align: u32) -> Result<(), String> {
        for shape in shapes {
            if align > self.align && shape.bits > 0 {
                return Err("the header of the events is less aligned than its fields".to_owned());
            }
            shape.bits = align_up(shape.bits, align);
        }
        Ok(())
    }

    /// Puts a field behind each of `shapes`.
    fn number(&mut self, ty: TypeId, name: &str, shapes: &mut [Shape]) -> Result<Vec<Option<Num>>, String> {
        let shape = self.compiler.shape(ty, 0)?;
        let fixed = shape.fixed.ok_or("the header of the events has no fixed length")?;
        self.align_all(shapes, shape.align)?;
        let int = self.compiler.types.int(ty);
        let mut places = Vec::new();
        for shape in shapes {
            let num = int.and_then(|int| self.compiler.num(int, 0, shape.bits));
            match (name.trim_start_matches('_'), int) {
                ("id", _) => shape.id = num,
                ("timestamp", _) | (_, Some(Int { clock: Some(_), .. })) => shape.time = num,
                _ => {}
            }
            shape.bits = shape.bits.saturating_add(fixed);
            places.push(num);
        }
        if let Some(clock) = int.and_then(|int| int.clock.clone()) {
            self.clock.get_or_insert(clock);
        }
        Ok(places)
    }
}
