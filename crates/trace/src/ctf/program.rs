// SPDX-License-Identifier: GPL-2.0-only
//! What a type became: places of numbers and texts, and the steps that lead to the end of a packet's part or an event.
//! All positions are bits from the start of a buffer.

use super::types::Order;
use crate::kernel::meaning::Values;

/// Bytes that must be readable behind the content, so that a number of any size can be loaded in one go.
pub(super) const PAD: usize = 16;

/// Where a number lies: so many bits behind a base that the program marks when it comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Num {
    pub(super) at: u32,
    pub(super) base: u16,
    /// 1 to 64.
    pub(super) bits: u8,
    signed: bool,
    big: bool,
}

impl Num {
    pub(super) fn new(base: u16, at: u32, bits: u8, signed: bool, order: Order) -> Self {
        Self { at, base, bits, signed, big: order == Order::Big }
    }

    /// The number, without regard to its sign.
    #[inline(always)]
    pub(super) fn load(self, bytes: &[u8], base: u64) -> u64 {
        let at = base.wrapping_add(u64::from(self.at));
        let (byte, shift) = ((at >> 3) as usize, (at & 7) as u32);
        let bits = u32::from(self.bits);
        if shift + bits > 64 {
            return self.load_wide(bytes, byte, shift);
        }
        let word = bytes.get(byte..).and_then(|b| b.first_chunk::<8>()).copied().unwrap_or_default();
        if self.big {
            u64::from_be_bytes(word) << shift >> (64 - bits)
        } else {
            u64::from_le_bytes(word) << (64 - bits - shift) >> (64 - bits)
        }
    }

    /// A number that touches nine bytes.
    #[cold]
    fn load_wide(self, bytes: &[u8], byte: usize, shift: u32) -> u64 {
        let word = bytes.get(byte..).and_then(|b| b.first_chunk::<16>()).copied().unwrap_or_default();
        let bits = u32::from(self.bits);
        if self.big {
            (u128::from_be_bytes(word) << shift >> (128 - bits)) as u64
        } else {
            (u128::from_le_bytes(word) << (128 - bits - shift) >> (128 - bits)) as u64
        }
    }

    /// The number with its sign.
    #[inline(always)]
    pub(super) fn load_signed(self, bytes: &[u8], base: u64) -> i64 {
        let value = self.load(bytes, base);
        let unused = 64 - u32::from(self.bits);
        if self.signed { (value << unused) as i64 >> unused } else { value as i64 }
    }
}

/// Where a value of an event lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    /// A number, and what is added to it to get the kernel's.
    Number { num: Num, add: i16 },
    /// A text of at most `len` bytes.
    Chars { base: u16, at: u32, len: u32 },
    /// A text whose length is a field.
    Counted { base: u16, at: u32, count: Num },
    /// A text up to its zero byte.
    Text { base: u16, at: u32 },
}

/// One step through the parts of an event whose place is not known beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Go so many bits ahead.
    Advance(u64),
    /// Go to the next multiple of so many bits, a power of two.
    Align(u32),
    /// Remember the position as this base.
    Mark(u16),
    /// Go behind the next zero byte.
    Text,
    /// Go ahead so many times `bits`.
    Times { count: Num, bits: u64 },
    /// Do the next `len` steps so many times.
    Loop { count: Count, len: u32 },
    /// Go to the step that the table has for the tag.
    Choose { tag: Num, table: u32 },
    /// Go on at this step.
    Jump(u32),
}

/// How often something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Fixed(u64),
    Counted(Num),
}

/// The values of a tag and the step they lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) from: i128,
    pub(super) to: i128,
    pub(super) step: u32,
}

/// The way through the fields of one part of a packet or of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// What the start is aligned to, bits.
    pub(super) align: u32,
    /// The length from the aligned start, bits; of what precedes the first step, if there are steps.
    pub(super) bits: u64,
    pub(super) steps: Vec<Step>,
    pub(super) tables: Vec<Vec<Case>>,
    /// How many bases it marks.
    pub(super) bases: usize,
}

/// Where a program came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Behind the last field.
    End(u64),
    /// The fields reach beyond the limit.
    Beyond,
    /// A tag chooses nothing.
    NoSuchCase,
}

/// The next multiple of `align`, a power of two.
#[inline(always)]
pub(super) fn align_up(at: u64, align: u32) -> u64 {
    let mask = u64::from(align).saturating_sub(1);
    at.saturating_add(mask) & !mask
}

impl Program {
    /// Runs from `start`; nothing may lie beyond `limit`. `bases` has room for [`Program::bases`].
    #[inline(always)]
    pub(super) fn run(&self, bytes: &[u8], start: u64, limit: u64, bases: &mut [u64]) -> Outcome {
        let start = align_up(start, self.align);
        if let Some(base) = bases.first_mut() {
            *base = start;
        }
        let at = start.saturating_add(self.bits);
        if at > limit {
            return Outcome::Beyond;
        }
        if self.steps.is_empty() {
            return Outcome::End(at);
        }
        self.walk(0..self.steps.len(), at, &mut Walk { bytes, limit, bases })
    }

    fn walk(&self, steps: std::ops::Range<usize>, start: u64, walk: &mut Walk<'_>) -> Outcome {
        let mut at = start;
        let mut next = steps.start;
        while next < steps.end {
            let Some(step) = self.steps.get(next) else { break };
            next += 1;
            match *step {
                Step::Advance(bits) => at = at.saturating_add(bits),
                Step::Align(align) => at = align_up(at, align),
                Step::Mark(base) => {
                    if let Some(place) = walk.bases.get_mut(usize::from(base)) {
                        *place = at;
                    }
                }
                Step::Text => match walk.text_end(at) {
                    Some(end) => at = end,
                    None => return Outcome::Beyond,
                },
                Step::Times { count, bits } => {
                    at = at.saturating_add(walk.number(count).saturating_mul(bits));
                }
                Step::Loop { count, len } => {
                    let body = next..next.saturating_add(len as usize).min(steps.end);
                    let count = match count {
                        Count::Fixed(n) => n,
                        Count::Counted(num) => walk.number(num),
                    };
                    for _ in 0..count {
                        match self.walk(body.clone(), at, walk) {
                            // What takes no room is the same the next time.
                            Outcome::End(end) if end <= at => break,
                            Outcome::End(end) => at = end,
                            bad => return bad,
                        }
                    }
                    next = body.end;
                }
                Step::Choose { tag, table } => {
                    let value = i128::from(walk.number(tag));
                    let signed = i128::from(walk.signed(tag));
                    let value = if tag.signed { signed } else { value };
                    let cases = self.tables.get(table as usize).map_or(&[][..], Vec::as_slice);
                    match cases.iter().find(|c| (c.from..=c.to).contains(&value)) {
                        Some(case) => next = case.step as usize,
                        None => return Outcome::NoSuchCase,
                    }
                }
                Step::Jump(step) => next = step as usize,
            }
            if at > walk.limit {
                return Outcome::Beyond;
            }
        }
        Outcome::End(at)
    }
}

struct Walk<'a> {
    bytes: &'a [u8],
    limit: u64,
    bases: &'a mut [u64],
}

impl Walk<'_> {
    fn base(&self, num: Num) -> u64 {
        self.bases.get(usize::from(num.base)).copied().unwrap_or(0)
    }

    fn number(&self, num: Num) -> u64 {
        num.load(self.bytes, self.base(num))
    }

    fn signed(&self, num: Num) -> i64 {
        num.load_signed(self.bytes, self.base(num))
    }

    /// Behind the zero byte that ends the text at `at`, if it lies before the limit.
    fn text_end(&self, at: u64) -> Option<u64> {
        let (from, to) = ((at >> 3) as usize, (self.limit >> 3) as usize);
        let len = self.bytes.get(from..to)?.iter().position(|b| *b == 0)? as u64;
        Some(at.saturating_add(8 * (len + 1)))
    }
}

/// One part of a packet or one event, with the bases that its program marked.
#[derive(Clone, Copy)]
pub(super) struct Payload<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) bases: &'a [u64],
    /// Texts end here, bits.
    pub(super) limit: u64,
}

impl Payload<'_> {
    #[inline(always)]
    fn base(&self, base: u16) -> u64 {
        self.bases.get(usize::from(base)).copied().unwrap_or(0)
    }

    #[inline(always)]
    pub(super) fn number(&self, num: Num) -> u64 {
        num.load(self.bytes, self.base(num.base))
    }

    /// The bytes of a text, with what stands behind its zero byte.
    pub(super) fn chars(&self, field: Field) -> &[u8] {
        let (base, at, len) = match field {
            Field::Chars { base, at, len } => (base, at, u64::from(len)),
            Field::Counted { base, at, count } => (base, at, self.number(count)),
            Field::Text { base, at } => (base, at, u64::MAX),
            Field::Number { .. } => return &[],
        };
        let from = self.base(base).wrapping_add(u64::from(at)) >> 3;
        let to = from.saturating_add(len).min(self.limit >> 3);
        self.bytes.get(from as usize..to as usize).unwrap_or_default()
    }
}

impl Values<Field> for Payload<'_> {
    #[inline(always)]
    fn u64(&self, field: Field) -> u64 {
        self.i64(field) as u64
    }

    #[inline(always)]
    fn i64(&self, field: Field) -> i64 {
        match field {
            Field::Number { num, add } => {
                num.load_signed(self.bytes, self.base(num.base)).wrapping_add(i64::from(add))
            }
            _ => 0,
        }
    }

    fn text(&self, field: Field) -> &[u8] {
        self.chars(field).split(|b| *b == 0).next().unwrap_or_default()
    }
}
