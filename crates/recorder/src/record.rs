// SPDX-License-Identifier: GPL-2.0-only
//! A recording of the running machine: tracing in an instance of our own while a command runs, the kernel's counters before
//! and after, and all that has to be known beside them.
//!
//! One thread does it all, and sleeps until there is something to do: the command ends, a signal comes, the time is up, or a
//! buffer is half full; and every five seconds, so that little is lost if the machine dies. So it hardly wakes a CPU that would
//! otherwise sleep, unless a buffer would overflow.

mod buffers;
mod cost;
mod facts;
mod inputs;
pub mod look;
mod messages;
mod plan;
mod session;
pub mod spool;
mod stop;
mod wait;

pub use buffers::{BufferCount, buffer_counts};
pub use cost::{Costs, NewCompanion, RunTime, costs};
pub use facts::{Facts, Topology};
pub use inputs::Inputs;
pub use look::CpuCounters;
pub use messages::messages;
pub use plan::{Companion, Plan};
pub use session::{Recorded, record};
pub use stop::{Stop, Stopper};
pub use wait::{Ended, Progress};
