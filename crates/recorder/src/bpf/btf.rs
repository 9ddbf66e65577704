// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's description of its own types: BTF, as `/sys/kernel/btf/vmlinux` has it.
//!
//! Format: <https://docs.kernel.org/bpf/btf.html>. Only what the recorder asks is read: members of structs, per-CPU variables,
//! tracepoints. Bytes are looked at when they are asked for; nothing is allocated by what a length field claims.

/// Why something could not be found in a kernel's BTF.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BtfError {
    /// The bytes are no BTF, or not all of it.
    #[error("no BTF that can be read: {0}")]
    Malformed(&'static str),
    /// The kernel has no such thing.
    #[error("this kernel has no {0}")]
    Missing(String),
}

/// Where a member lies in a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the start of the struct.
    pub offset: u32,
    /// Its size in bytes; of a bit field, that of the bytes that hold it.
    pub size: u32,
    /// Of a bit field, its first bit from `offset` on and its width.
    pub bits: Option<(u8, u8)>,
}

/// A tracepoint that BPF can be attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracepoint {
    /// The type that `bpf(2)` wants as `attach_btf_id`.
    pub id: u32,
    /// Arguments that a program gets.
    pub args: u32,
}

const MAGIC: u16 = 0xeb9f;
const HEADER: usize = 24;

// Kinds of types.
const INT: u8 = 1;
const PTR: u8 = 2;
const ARRAY: u8 = 3;
const STRUCT: u8 = 4;
const UNION: u8 = 5;
const ENUM: u8 = 6;
const FWD: u8 = 7;
const TYPEDEF: u8 = 8;
const RESTRICT: u8 = 11;
const FUNC: u8 = 12;
const FUNC_PROTO: u8 = 13;
const VAR: u8 = 14;
const DATASEC: u8 = 15;
const FLOAT: u8 = 16;
const DECL_TAG: u8 = 17;
const TYPE_TAG: u8 = 18;
const ENUM64: u8 = 19;

/// Types that stand for another, one behind the other, at most.
const CHAIN_MAX: u32 = 32;
/// Members looked at for one name, at most: far above what a kernel's struct has.
const MEMBERS_MAX: u32 = 1 << 20;
const POINTER_BYTES: u32 = size_of::<usize>() as u32;

#[derive(Clone, Copy)]
struct Type {
    name: u32,
    kind: u8,
    count: u16,
    /// Of a struct: its members' offsets tell bit fields.
    flag: bool,
    size_or_type: u32,
    /// Where what follows the head begins in the type section.
    more: usize,
}

/// The types of the running kernel, read from its BTF.
pub struct Btf {
    bytes: Vec<u8>,
    strings: usize,
    strings_end: usize,
    /// By number; 0 is void.
    types: Vec<Type>,
}

impl Btf {
    /// Reads BTF in the byte order of this machine.
    ///
    /// # Errors
    /// [`BtfError::Malformed`] where the bytes are something else, or end too early.
    pub fn parse(bytes: Vec<u8>) -> Result<Self, BtfError> {
        let bad = BtfError::Malformed;
        if bytes.get(..2) != Some(&MAGIC.to_ne_bytes()) {
            return Err(bad("it does not begin with the mark of BTF in this machine's byte order"));
        }
        let head = |at| u32_at(&bytes, at).map(|n| n as usize).ok_or(bad("its head is cut off"));
        let header = head(4)?;
        if header < HEADER {
            return Err(bad("its head is too short"));
        }
        let section = |offset, len| {
            let from = header.checked_add(head(offset)?).ok_or(bad("a section lies outside"))?;
            let to = from.checked_add(head(len)?).ok_or(bad("a section lies outside"))?;
            if to > bytes.len() { Err(bad("a section lies outside")) } else { Ok((from, to)) }
        };
        let (types_from, types_to) = section(8, 12)?;
        let (strings, strings_end) = section(16, 20)?;
        let types = types(&bytes, types_from, types_to)?;
        Ok(Self { bytes, strings, strings_end, types })
    }

    fn get(&self, id: u32) -> Option<&Type> {
        self.types.get(id as usize)
    }

    fn is_named(&self, at: u32, name: &str) -> bool {
        let from = self.strings.saturating_add(at as usize);
        let Some(rest) = self.bytes.get(from..self.strings_end) else { return false };
        rest.strip_prefix(name.as_bytes()).is_some_and(|end| end.first() == Some(&0))
    }

    /// Numbers of the types called `name` that are of `kind`.
    fn called<'n>(&'n self, name: &'n str, kind: u8) -> impl Iterator<Item = u32> + 'n {
        let all = (0..).zip(&self.types);
        all.filter(move |(_, t)| t.kind == kind && self.is_named(t.name, name)).map(|(id, _)| id)
    }

    /// `id` without names and qualifiers.
    fn bare(&self, mut id: u32) -> u32 {
        for _ in 0..CHAIN_MAX {
            match self.get(id) {
                Some(t) if matches!(t.kind, TYPEDEF..=RESTRICT | TYPE_TAG | VAR) => id = t.size_or_type,
                _ => break,
            }
        }
        id
    }

    /// Size of a type in bytes; 0 of what has none.
    fn size(&self, id: u32) -> u32 {
        let (mut id, mut times) = (self.bare(id), 1_u32);
        for _ in 0..CHAIN_MAX {
            let Some(t) = self.get(id) else { return 0 };
            return match t.kind {
                INT | STRUCT | UNION | ENUM | FLOAT | ENUM64 | DATASEC => {
                    t.size_or_type.saturating_mul(times)
                }
                PTR => POINTER_BYTES.saturating_mul(times),
                ARRAY => {
                    let (Some(of), Some(n)) = (self.word(t, 0), self.word(t, 2)) else { return 0 };
                    times = times.saturating_mul(n);
                    id = self.bare(of);
                    continue;
                }
                _ => 0,
            };
        }
        0
    }

    /// The `n`th word behind the head of `t`.
    fn word(&self, t: &Type, n: usize) -> Option<u32> {
        u32_at(&self.bytes, t.more.checked_add(n.checked_mul(4)?)?)
    }

    /// The struct called `name`.
    fn structure(&self, name: &str) -> Result<u32, BtfError> {
        // A name may stand for several in different files of the kernel: the first with members is taken.
        let mut all = self.called(name, STRUCT).filter(|id| self.get(*id).is_some_and(|t| t.count > 0));
        all.next().ok_or_else(|| BtfError::Missing(format!("struct {name}")))
    }

    /// Size of the struct called `name`, bytes.
    ///
    /// # Errors
    /// [`BtfError::Missing`] where the kernel has no such struct.
    pub fn size_of(&self, name: &str) -> Result<u32, BtfError> {
        Ok(self.size(self.structure(name)?))
    }

    /// The member of struct `name` that `path` leads to, as `power.qos`. Members of unnamed structs and unions in it count as its
    /// own. Pointers are not followed.
    ///
    /// # Errors
    /// [`BtfError::Missing`] where the kernel has no such struct or member.
    pub fn field(&self, name: &str, path: &str) -> Result<Field, BtfError> {
        let missing = || BtfError::Missing(format!("{path} in struct {name}"));
        let mut at = self.structure(name)?;
        let mut field = Field { offset: 0, size: 0, bits: None };
        for part in path.split('.') {
            let (id, inner) = self.member(at, part).ok_or_else(missing)?;
            let offset = field.offset.checked_add(inner.offset).ok_or_else(missing)?;
            (at, field) = (self.bare(id), Field { offset, ..inner });
        }
        Ok(field)
    }

    /// Bytes from one element to the next of the array that `path` leads to in struct `name`, and how many it has.
    ///
    /// # Errors
    /// [`BtfError::Missing`] where the kernel has no such member, or it is no array.
    pub fn array(&self, name: &str, member: &str) -> Result<(u32, u32), BtfError> {
        let missing = || BtfError::Missing(format!("array {member} in struct {name}"));
        let (id, _) = self.member(self.structure(name)?, member).ok_or_else(missing)?;
        let array = self.get(self.bare(id)).filter(|t| t.kind == ARRAY).ok_or_else(missing)?;
        let (of, n) = (self.word(array, 0).ok_or_else(missing)?, self.word(array, 2).ok_or_else(missing)?);
        Ok((self.size(of), n))
    }

    /// Type and place of the member `name` of `within`.
    fn member(&self, within: u32, name: &str) -> Option<(u32, Field)> {
        let (mut todo, mut seen) = (vec![(within, 0_u32)], 0);
        while let Some((id, base)) = todo.pop() {
            let t = self.get(id).filter(|t| matches!(t.kind, STRUCT | UNION))?;
            for i in 0..usize::from(t.count) {
                seen += 1;
                if seen > MEMBERS_MAX {
                    return None;
                }
                let (called, of, place) =
                    (self.word(t, 3 * i)?, self.word(t, 3 * i + 1)?, self.word(t, 3 * i + 2)?);
                let (bit, width) = if t.flag { (place & 0xff_ffff, (place >> 24) as u8) } else { (place, 0) };
                if self.is_named(called, name) {
                    let size = self.size(of);
                    let offset = base.checked_add(bit / 8)?;
                    let bits = (width > 0).then_some(((bit % 8) as u8, width));
                    return Some((of, Field { offset, size, bits }));
                }
                let inner = self.bare(of);
                if self.is_named(called, "")
                    && self.get(inner).is_some_and(|t| matches!(t.kind, STRUCT | UNION))
                {
                    todo.push((inner, base.checked_add(bit / 8)?));
                }
            }
        }
        None
    }

    /// Where the variable called `name` lies in a CPU's own memory, bytes from its start.
    ///
    /// # Errors
    /// [`BtfError::Missing`] where the kernel has no such variable.
    pub fn percpu(&self, name: &str) -> Result<u32, BtfError> {
        let missing = || BtfError::Missing(format!("per-CPU variable {name}"));
        for id in self.called(".data..percpu", DATASEC) {
            let Some(section) = self.get(id) else { continue };
            for i in 0..usize::from(section.count) {
                let variable = self.word(section, 3 * i).and_then(|id| self.get(id));
                if variable.is_some_and(|v| v.kind == VAR && self.is_named(v.name, name)) {
                    return self.word(section, 3 * i + 1).ok_or_else(missing);
                }
            }
        }
        Err(missing())
    }

    /// The tracepoint called `name`.
    ///
    /// # Errors
    /// [`BtfError::Missing`] where the kernel has none.
    pub fn tracepoint(&self, name: &str) -> Result<Tracepoint, BtfError> {
        let missing = || BtfError::Missing(format!("tracepoint {name} that BPF can be attached to"));
        let id = self.called(&format!("btf_trace_{name}"), TYPEDEF).next().ok_or_else(missing)?;
        let pointer = self.get(self.bare(id)).filter(|t| t.kind == PTR).ok_or_else(missing)?;
        let prototype = self.get(self.bare(pointer.size_or_type)).filter(|t| t.kind == FUNC_PROTO);
        // The first parameter is not the tracepoint's own.
        let args = u32::from(prototype.ok_or_else(missing)?.count).saturating_sub(1);
        Ok(Tracepoint { id, args })
    }
}

fn types(bytes: &[u8], from: usize, to: usize) -> Result<Vec<Type>, BtfError> {
    let cut = BtfError::Malformed("a type is cut off");
    let void = Type { name: 0, kind: 0, count: 0, flag: false, size_or_type: 0, more: to };
    let mut types = vec![void];
    let mut at = from;
    while at < to {
        let word = |n: usize| u32_at(bytes, at + 4 * n).ok_or_else(|| cut.clone());
        let (name, info, size_or_type) = (word(0)?, word(1)?, word(2)?);
        let (kind, count) = ((info >> 24 & 0x1f) as u8, info as u16);
        let more = at + 12;
        let n = usize::from(count);
        at = more
            + match kind {
                INT | VAR | DECL_TAG => 4,
                ARRAY => 12,
                STRUCT | UNION | DATASEC | ENUM64 => 12 * n,
                ENUM | FUNC_PROTO => 8 * n,
                PTR | FWD..=RESTRICT | FUNC | FLOAT | TYPE_TAG => 0,
                _ => return Err(BtfError::Malformed("a kind of type that is not known")),
            };
        if at > to {
            return Err(cut);
        }
        types.push(Type { name, kind, count, flag: info >> 31 == 1, size_or_type, more });
    }
    Ok(types)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(word.try_into().ok()?))
}
