// SPDX-License-Identifier: GPL-2.0-only
/// Whose pages they are.
#[derive(Clone, Copy, Debug)]
pub struct Edition {
    /// The version of the command.
    pub version: &'static str,
    /// Its day, as 2026-11-23.
    pub released: &'static str,
}
