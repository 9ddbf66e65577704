// SPDX-License-Identifier: GPL-2.0-only
//! What can be seen only when all tasks are known, and loops that would never get anywhere.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::Reader;
use crate::json::{Member, Place};
use crate::{Event, Fault, FrameId, SourceId, Task, TaskId, WorkloadError};

/// A loop this long that takes no time is one that never ends.
const MANY: u64 = 1_000_000;

/// Where an event is.
type Spot = (Place, String);

/// What is to be looked at when all tasks are known.
#[derive(Default)]
pub(super) struct Later {
    forks: BTreeMap<TaskId, Spot>,
    begun: BTreeSet<FrameId>,
    ended: BTreeMap<FrameId, Spot>,
    taken: BTreeSet<(TaskId, SourceId)>,
    done: BTreeMap<(TaskId, SourceId), Spot>,
}

impl Later {
    pub(super) fn forks(&mut self, task: TaskId, at: Place, path: String) {
        self.forks.entry(task).or_insert((at, path));
    }

    pub(super) fn frame(&mut self, id: FrameId, begin: bool, at: Place, path: impl FnOnce() -> String) {
        if begin {
            self.begun.insert(id);
        } else {
            self.ended.entry(id).or_insert_with(|| (at, path()));
        }
    }

    pub(super) fn request(
        &mut self,
        task: TaskId,
        id: SourceId,
        take: bool,
        at: Place,
        path: impl FnOnce() -> String,
    ) {
        if take {
            self.taken.insert((task, id));
        } else {
            self.done.entry((task, id)).or_insert_with(|| (at, path()));
        }
    }
}

pub(super) fn check(r: &Reader<'_>, tasks: &[Task], later: &Later) -> Result<(), WorkloadError> {
    let error = |(at, path): &Spot, fault, what: &str, hint: &str| {
        r.error_at(*at, path.clone(), fault, what.to_string(), hint.to_string())
    };
    for (id, spot) in &later.forks {
        let task = tasks.get(id.index());
        let mut events = task.into_iter().flat_map(|t| &t.phases).flat_map(|p| &p.events);
        if events.any(|e| matches!(e, Event::Barrier { .. })) {
            let what = "the forked task has a barrier, whose number of parties could not be known";
            return Err(error(spot, Fault::NotModelled, what, "use `suspend` and `resume` there"));
        }
    }
    if let Some((_, spot)) = later.ended.iter().find(|(id, _)| !later.begun.contains(id)) {
        let what = "a frame that no task begins";
        return Err(error(spot, Fault::Value, what, "add `idlewise-frame-begin`"));
    }
    if let Some((_, spot)) = later.done.iter().find(|(id, _)| !later.taken.contains(id)) {
        let what = "a request that this task never takes";
        return Err(error(spot, Fault::Value, what, "add `idlewise-take` to the same task"));
    }
    Ok(())
}

/// Refuses what would be gone through without end and without any time passing.
pub(super) fn advances(
    r: &Reader<'_>,
    member: &Member,
    loops: Option<u64>,
    events: &[&Event],
) -> Result<(), WorkloadError> {
    if loops.is_some_and(|n| n < MANY) || events.iter().any(|e| takes_time(e)) {
        return Ok(());
    }
    let what = "this repeats without end, and nothing in it takes time or waits";
    let hint = "add a `run`, a `sleep` or a `timer`, or give `loop` a number";
    Err(r.error(member.at, Fault::Value, what, hint))
}

fn takes_time(event: &Event) -> bool {
    match event {
        Event::Run { work: time } | Event::Sleep { time, .. } => !time.is_zero(),
        Event::Runtime { ns } | Event::Timer { period_ns: ns, .. } => *ns > 0,
        Event::Mem { bytes } | Event::IoRun { bytes } => *bytes > 0,
        Event::Suspend { .. }
        | Event::Wait { .. }
        | Event::Sync { .. }
        | Event::Barrier { .. }
        | Event::Read { .. }
        | Event::Write { .. }
        | Event::Take { .. } => true,
        Event::Resume { .. }
        | Event::Lock { .. }
        | Event::Unlock { .. }
        | Event::Signal { .. }
        | Event::Broadcast { .. }
        | Event::Yield
        | Event::Fork { .. }
        | Event::FrameBegin { .. }
        | Event::FrameEnd { .. }
        | Event::Done { .. }
        | Event::LatencyLimit { .. }
        | Event::CallRcu => false,
    }
}
