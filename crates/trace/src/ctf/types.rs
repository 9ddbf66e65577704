// SPDX-License-Identifier: GPL-2.0-only
//! The types that metadata declares, and the names they are known by.

use std::collections::BTreeMap;

/// A type, by its place among all types of the metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct TypeId(u32);

/// Byte order, and with it the order of the bits in a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// A number of whole or broken bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Int {
    pub(super) bits: u32,
    pub(super) align: u32,
    pub(super) signed: bool,
    /// `None` is the byte order of the trace.
    pub(super) order: Option<Order>,
    pub(super) text: bool,
    /// The clock whose time it is.
    pub(super) clock: Option<String>,
}

/// A label of an enumeration and the values that bear it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) name: String,
    pub(super) from: i128,
    pub(super) to: i128,
}

/// A field of a structure, or an option of a variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) ty: TypeId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Int(Int),
    Enum {
        container: TypeId,
        labels: Vec<Label>,
    },
    /// A floating-point number: never looked at, so only its room counts.
    Opaque {
        bits: u32,
        align: u32,
    },
    Text,
    Struct {
        align: u32,
        fields: Vec<Member>,
    },
    Variant {
        /// The path of the enumeration that chooses; none yet in a declaration.
        tag: Option<Vec<String>>,
        options: Vec<Member>,
    },
    Array {
        element: TypeId,
        count: u64,
    },
    Sequence {
        element: TypeId,
        /// The path of the field that counts.
        count: Vec<String>,
    },
}

/// All types of the metadata.
#[derive(Debug, Default)]
pub(super) struct Types(Vec<Type>);

/// More types are damage: LTTng's largest metadata has some ten thousand.
const MOST_TYPES: usize = 4_000_000;

impl Types {
    pub(super) fn add(&mut self, ty: Type) -> Result<TypeId, String> {
        let id = u32::try_from(self.0.len()).ok().filter(|_| self.0.len() < MOST_TYPES);
        self.0.push(ty);
        id.map(TypeId).ok_or_else(|| format!("at most {MOST_TYPES} types"))
    }

    pub(super) fn get(&self, id: TypeId) -> &Type {
        // An id comes from `add` of the same metadata.
        self.0.get(id.0 as usize).unwrap_or(&Type::Text)
    }

    /// The number behind an integer or an enumeration.
    pub(super) fn int(&self, id: TypeId) -> Option<&Int> {
        match self.get(id) {
            Type::Int(int) => Some(int),
            Type::Enum { container, .. } => match self.get(*container) {
                Type::Int(int) => Some(int),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The kinds of names; `struct a` and `a` may be different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Alias,
    Struct,
    Variant,
    Enum,
}

/// The names that can be seen from one place: of the block and of those around it.
#[derive(Debug)]
pub(super) struct Scopes(Vec<BTreeMap<(Space, String), TypeId>>);

impl Scopes {
    pub(super) fn new() -> Self {
        Self(vec![BTreeMap::new()])
    }

    pub(super) fn enter(&mut self) {
        self.0.push(BTreeMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    pub(super) fn declare(&mut self, space: Space, name: &str, ty: TypeId) {
        if let Some(scope) = self.0.last_mut() {
            scope.insert((space, name.to_owned()), ty);
        }
    }

    pub(super) fn find(&self, space: Space, name: &str) -> Option<TypeId> {
        let key = (space, name.to_owned());
        self.0.iter().rev().find_map(|scope| scope.get(&key)).copied()
    }
}
