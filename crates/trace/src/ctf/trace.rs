// SPDX-License-Identifier: GPL-2.0-only
use super::kinds::Kinds;
use crate::input::Input;
use crate::meta::TraceMeta;

/// An understood CTF trace.
pub(super) struct CtfTrace {
    pub(super) meta: TraceMeta,
    pub(super) kinds: Kinds,
    pub(super) uuid: Option<[u8; 16]>,
    /// Ticks of the clock in a second.
    pub(super) freq: u64,
    /// By CPU, then by name.
    pub(super) files: Vec<StreamFile>,
}

/// One file of packets.
pub(super) struct StreamFile {
    pub(super) input: Input,
    /// Of its first packet.
    pub(super) stream_id: u64,
    pub(super) cpu: u32,
}
