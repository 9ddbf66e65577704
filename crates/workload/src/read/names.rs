// SPDX-License-Identifier: GPL-2.0-only

use std::collections::BTreeMap;

use crate::json::Member;
use crate::{DeviceId, FrameId, Resource, ResourceId, ResourceKind, SourceId, TaskId};

/// Everything that events refer to by name.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) tasks: BTreeMap<String, TaskId>,
    pub(super) devices: BTreeMap<String, DeviceId>,
    pub(super) frames: BTreeMap<String, FrameId>,
    pub(super) sources: BTreeMap<String, SourceId>,
    pub(super) resources: Vec<Resource>,
    ids: BTreeMap<(u8, String), ResourceId>,
}

impl Names {
    /// Knows the tasks; of those with the same name the first.
    pub(super) fn of_tasks(tasks: &[Member]) -> Self {
        let mut names = Self::default();
        for (n, task) in tasks.iter().filter(|t| !t.key.starts_with('_')).enumerate() {
            names.tasks.entry(task.key.clone()).or_insert(TaskId(index(n)));
        }
        names
    }

    pub(super) fn mutex(&mut self, name: &str) -> ResourceId {
        self.resource(name, ResourceKind::Mutex)
    }

    pub(super) fn queue(&mut self, name: &str) -> ResourceId {
        self.resource(name, ResourceKind::Queue)
    }

    /// rt-app gives each task its own copy of timers whose names begin with `unique`.
    pub(super) fn timer(&mut self, name: &str) -> ResourceId {
        let own = name.starts_with("unique");
        self.resource(name, if own { ResourceKind::TaskTimer } else { ResourceKind::Timer })
    }

    /// A barrier that so many more tasks meet at.
    pub(super) fn barrier(&mut self, name: &str, more: u32) -> ResourceId {
        let id = self.resource(name, ResourceKind::Barrier { parties: 0 });
        if let Some(Resource { kind: ResourceKind::Barrier { parties }, .. }) =
            self.resources.get_mut(id.index())
        {
            *parties = parties.saturating_add(more);
        }
        id
    }

    fn resource(&mut self, name: &str, kind: ResourceKind) -> ResourceId {
        let tag = match kind {
            ResourceKind::Mutex => 0,
            ResourceKind::Queue => 1,
            ResourceKind::Timer => 2,
            ResourceKind::TaskTimer => 3,
            ResourceKind::Barrier { .. } => 4,
        };
        let next = ResourceId(index(self.resources.len()));
        let id = *self.ids.entry((tag, name.to_string())).or_insert(next);
        if id == next {
            self.resources.push(Resource { name: name.to_string(), kind });
        }
        id
    }
}

/// An index of 32 bits; a file with more than 2^32 entries does not fit in memory.
pub(super) fn index(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The names of a map, for messages.
pub(super) fn known<T>(map: &BTreeMap<String, T>) -> Vec<&str> {
    map.keys().map(String::as_str).collect()
}
