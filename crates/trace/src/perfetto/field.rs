// SPDX-License-Identifier: GPL-2.0-only
/// How a field's value is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
}

/// A field of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field<N> {
    pub(crate) number: u8,
    pub(crate) name: N,
    pub(crate) kind: Kind,
}
