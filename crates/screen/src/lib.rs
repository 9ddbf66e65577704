// SPDX-License-Identifier: GPL-2.0-only
//! The running machine on a terminal: what `idlewise top` shows until `q`.

mod bar;
mod help;
mod keys;
mod screen;
mod terminal;
#[cfg(test)]
mod tests;
mod watched;

pub use terminal::{ScreenError, columns, run};
pub use watched::Watched;
