// SPDX-License-Identifier: GPL-2.0-only
//! The parts of a simulated machine that know nothing of its run: energy, queues, programs, timers.

mod activity;
pub mod ceilings;
pub mod clock;
pub mod device;
pub mod energy;
pub mod error;
pub mod fair;
pub mod machine;
mod package;
pub mod program;
pub mod queue;
pub mod rcu;
pub mod timers;
pub mod watch;

pub use energy::{Counters, Energy, UPDATE_NS};
pub use error::SimError;
pub use idlewise_platform::Costs;
pub use machine::{ClockSpec, CpuSpec, FairKind, Machine, Placement, Placing, Point, UPTIME_NS};
pub use watch::{HrtimerOf, IrqKind, SimEvent, Watch};
