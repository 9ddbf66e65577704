// SPDX-License-Identifier: GPL-2.0-only
//! What all recordings of a kernel share: the kernel's descriptions of its events, the bytes that they describe, and what
//! the events mean.

pub(crate) mod bytes;
pub(crate) mod clock;
pub(crate) mod files;
pub(crate) mod format;
pub(crate) mod meaning;
pub(crate) mod order;
pub(crate) mod ring_buffer;
pub(crate) mod tasks;
pub(crate) mod tick;
