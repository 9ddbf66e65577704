// SPDX-License-Identifier: GPL-2.0-only
//! Host of load-tracking signals written as kernel C.
//!
//! A signal is C over memory of the caller's: `signals/*.c` keep no globals, take no locks, and get time, CPU and frequency as
//! arguments, so that the same files are part of a kernel module (`kernel/modules/`) and of this crate. Here they are
//! compiled against the headers of `governors/shim/`, as governors are, and linked in; a call costs a few nanoseconds and
//! allocates nothing.
//!
//! [`pelt`] is PELT, the kernel's own per-entity load tracking; [`walt`] is WALT, window-assisted load tracking.

mod c;
pub mod pelt;
pub mod walt;
