// SPDX-License-Identifier: GPL-2.0-only
//! What the debugging information of a governor's object says: where its variables are and what they hold, and which line of the
//! source a fault belongs to.

mod dwarf;
mod fault;
mod memory;

pub use fault::{Fault, FaultKind, Lines};
pub use memory::{Layout, Place, StateValue, Value, Variable};
