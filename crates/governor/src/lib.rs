// SPDX-License-Identifier: GPL-2.0-only
//! Host of idle governors written as kernel C.
//!
//! A governor is a C file that implements the kernel's `struct cpuidle_governor`. Those of `governors/*.c` were compiled
//! against the headers of `governors/shim/` into shared objects when this crate was built; a file of the user's is compiled
//! the same way when it is asked for, and kept. An [`Instance`] is a private copy of such an object: its globals, per-CPU
//! variables and parameters are shared with nobody. An instance of a foreign one has a process of its own.
//!
//! ```
//! use idlewise_governor::{Inputs, Instance, Spec};
//! use idlewise_model::{IdleState, IdleTable, NO_LATENCY_LIMIT_NS};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let state = |name: &str, exit_us: i64, residency_us: i64| IdleState {
//!     name: name.to_owned(),
//!     exit_latency_ns: exit_us * 1000,
//!     target_residency_ns: residency_us * 1000,
//!     entry_ns: 0,
//!     polling: false,
//!     disabled: false,
//! };
//! let table = IdleTable::new(vec![state("WFI", 1, 1), state("sleep", 300, 1200)])?;
//! let spec: Spec = "teo-util:util_threshold_shift=5".parse()?;
//! let mut governor = Instance::load(&spec, 4_000_000)?;
//! let slot = governor.add_cpu(0, &table, 1024)?;
//! let choice = governor.select(
//!     slot,
//!     &Inputs {
//!         sleep_length_ns: 50_000_000,
//!         delta_tick_ns: 3_000_000,
//!         latency_limit_ns: NO_LATENCY_LIMIT_NS,
//!         ..Inputs::default()
//!     },
//! );
//! assert_eq!((choice.index, choice.stop_tick), (1, true));
//! # Ok(())
//! # }
//! ```

mod abi;
mod apart;
mod assembly;
mod build;
mod catalog;
mod child;
mod choice;
mod command;
mod diagnostics;
mod error;
mod failure;
mod governor;
mod hash;
mod instance;
mod isolate;
mod kernel_tree;
mod landlock;
mod object;
mod of_caller;
mod param;
mod paths;
mod position;
mod process;
mod recorded;
mod region;
mod shim;
mod source;
mod spawn;
mod spec;
mod toolchain;
mod turns;
mod versions;
mod workshop;

pub use abi::{Device, Inputs, MAX_CPUS};
pub use build::Build;
pub use catalog::{GovernorInfo, catalog};
pub use choice::Choice;
pub use diagnostics::Problem;
pub use error::GovernorError;
pub use governor::Governor;
pub use hash::Hash;
pub use idlewise_debuginfo::{Fault, FaultKind, StateValue, Value, Variable};
pub use instance::{Instance, Slot};
pub use isolate::Loader;
pub use kernel_tree::{expand, files_in_folder};
pub use object::Seat;
pub use of_caller::{CallerCpu, CallerGovernor, CpuToEnable, OF_AN_OBJECT, offer, offering, on_offer};
pub use param::Param;
pub use position::Place;
pub use recorded::{Offered, RecordedName};
pub use source::{GovernorSource, SourceFile};
pub use spec::Spec;
pub use versions::{SHIPPED_VERSIONS, ShippedVersion, shipped_version, shipped_versions};
pub use workshop::Workshop;
