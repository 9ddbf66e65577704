// SPDX-License-Identifier: GPL-2.0-only
//! Places in the lists of a workload.

/// Index into [`Workload::resources`](crate::Workload::resources).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceId(pub u32);

impl ResourceId {
    /// The index into [`Workload::resources`](crate::Workload::resources).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Workload::tasks`](crate::Workload::tasks).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TaskId(pub u32);

impl TaskId {
    /// The index into [`Workload::tasks`](crate::Workload::tasks).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Workload::devices`](crate::Workload::devices).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceId(pub u32);

impl DeviceId {
    /// The index into [`Workload::devices`](crate::Workload::devices).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Workload::frames`](crate::Workload::frames).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(pub u32);

impl FrameId {
    /// The index into [`Workload::frames`](crate::Workload::frames).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index into [`Workload::sources`](crate::Workload::sources).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SourceId(pub u32);

impl SourceId {
    /// The index into [`Workload::sources`](crate::Workload::sources).
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
