// SPDX-License-Identifier: GPL-2.0-only
//! What is recorded of a running machine: events, and by BPF what its governors are given.

pub mod bpf;
pub mod record;
