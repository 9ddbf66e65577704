// SPDX-License-Identifier: GPL-2.0-only
//! How a declared field is named and spelled.

/// The names of a declared field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keys {
    /// The one that is written.
    pub(crate) name: &'static str,
    /// Names that the field has elsewhere, or the name of what goes with it.
    pub(crate) also: &'static [&'static str],
}

/// How a line of text spells a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelled {
    Number,
    Pointer,
    Function,
    State,
    Mode,
    TimerFlags,
    Dependency,
    /// `type=below` or `type=above`.
    Below,
    /// `[timeout=4]`: the time left.
    Timeout,
    /// Text up to the next space.
    Word,
    /// Text up to the end of the line.
    Rest,
}
