// SPDX-License-Identifier: GPL-2.0-only
//! Governors that the user of this invocation names. No other C file is compiled.

use crate::Spec;

/// A C file that an option of this invocation names, with parameters. Nothing else reaches the compiler.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceFile(Spec);

impl SourceFile {
    /// The file whose path is the id of `spec`, which must come from an option of this invocation, never from a file.
    #[must_use]
    pub fn named_by_user(spec: Spec) -> Self {
        Self(spec)
    }

    /// The path as the user gave it, and the parameters.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.0
    }
}

/// A governor that an option of this invocation names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GovernorSource {
    Shipped(Spec),
    /// A file to compile.
    File(SourceFile),
}

impl GovernorSource {
    /// What `spec`, of an option of this invocation, names; see [`crate::expand`] for the governors of kernel trees.
    #[must_use]
    pub fn named_by_user(spec: Spec) -> Self {
        if spec.names_a_file() { Self::File(SourceFile::named_by_user(spec)) } else { Self::Shipped(spec) }
    }

    /// The governor's id or path, with its parameters.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        match self {
            Self::Shipped(spec) | Self::File(SourceFile(spec)) => spec,
        }
    }
}
