// SPDX-License-Identifier: GPL-2.0-only
use crate::ids::ResourceId;
use crate::{Device, Frame, Source, Task};

/// What a set of tasks does, and what they share.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Short name: that of a shipped workload, else the file's name without its ending.
    pub name: String,
    /// One line about what it stands for; empty where the file does not say (`idlewise/about`).
    pub about: String,
    /// Task descriptions in the order of the file. One description may make several tasks.
    pub tasks: Vec<Task>,
    /// What tasks share, in the order of first use; [`ResourceId`] is an index into it.
    pub resources: Vec<Resource>,
    /// Block devices, in the order of the file.
    pub devices: Vec<Device>,
    /// Kinds of frame, in the order of the file.
    pub frames: Vec<Frame>,
    /// Sources of requests, in the order of the file.
    pub sources: Vec<Source>,
    /// What holds for the whole workload.
    pub global: Global,
    /// What was accepted and is not modelled, or only roughly; plain sentences, each once, in the order of the file.
    pub notes: Vec<String>,
}

/// Something that tasks share by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Its name in the file. Resources of different kinds may have the same name.
    pub name: String,
    pub kind: ResourceKind,
}

/// The kinds of a [`Resource`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceKind {
    /// Held by one task at a time; those who wait get it in the order in which they came.
    Mutex,
    /// Tasks wait here until another wakes one or all of them (a condition variable). Waking when nobody waits does
    /// nothing. `suspend` and `wait` of the same name share one queue, as in rt-app.
    Queue,
    /// A timer that all tasks that name it share: each use moves its next expiry.
    Timer,
    /// A timer that each task has its own copy of (its name begins with `unique`).
    TaskTimer,
    /// A meeting point: the last of `parties` tasks to come wakes the others, and all go on.
    Barrier {
        /// Tasks that meet: every `barrier` event of this name counts once for each instance of its task.
        parties: u32,
    },
}

/// What holds for the whole workload; the `global` object of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Global {
    /// All tasks end when it has passed, ns. None: the workload ends when its tasks have.
    pub duration_ns: Option<u64>,
    /// What a microsecond of `run` is.
    pub calibration: Calibration,
    /// Where `iorun` writes to. `/dev/null` unless told.
    pub io_device: String,
    /// Size of the buffer that `mem` and `iorun` go through, bytes.
    pub mem_buffer_bytes: u64,
    /// Mutexes hand their holder the priority of who waits.
    pub priority_inheritance: bool,
}

/// What a microsecond of `run` is: that of this CPU at its highest clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calibration {
    /// rt-app would measure this CPU. `CPU0` unless told.
    Cpu(u32),
    /// The file gives nanoseconds for a loop of rt-app's. How fast the machine was that this was measured on is not
    /// known: read it as [`Calibration::Cpu`] of the fastest CPU.
    NsPerLoop(u32),
}

impl Workload {
    /// How many tasks exist from the start: the sum of all instances.
    #[must_use]
    pub fn instances(&self) -> u64 {
        self.tasks.iter().map(|t| u64::from(t.instances)).sum()
    }

    /// The resource with that index.
    #[must_use]
    pub fn resource(&self, id: ResourceId) -> Option<&Resource> {
        self.resources.get(id.index())
    }
}
