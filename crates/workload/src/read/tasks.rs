// SPDX-License-Identifier: GPL-2.0-only
//! The `tasks` object: tasks, their phases, how they are scheduled.

use super::check::{self, Later};
use super::events;
use super::keys::TASK;
use super::names::Names;
use super::reader::{MAX_CPU, MAX_US, Reader, place, whole};
use crate::json::{Member, Node, Value};
use crate::{Event, Fault, Phase, Policy, Sched, Task, WorkloadError};

/// All instances together; a simulator has to keep each of them.
const MAX_TASKS: u64 = 65_536;

/// The grammar of rt-app before events.
const OLD: [&str; 3] = ["exec", "lock_order", "resources"];

/// What is below a task or a phase, sorted.
#[derive(Default)]
struct Body<'m> {
    loops: Option<Option<u64>>,
    instances: Option<u32>,
    delay_ns: u64,
    phases: Option<&'m Member>,
    cpus: Option<Vec<u32>>,
    taskgroup: Option<String>,
    sched: SchedKeys<'m>,
    events: Vec<&'m Member>,
}

#[derive(Default)]
struct SchedKeys<'m> {
    policy: Option<PolicyName>,
    priority: Option<&'m Member>,
    runtime: Option<&'m Member>,
    deadline: Option<&'m Member>,
    period: Option<&'m Member>,
    util_min: Option<u32>,
    util_max: Option<u32>,
}

/// A policy by name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PolicyName {
    Other,
    Batch,
    Idle,
    Fifo,
    RoundRobin,
    Deadline,
}

pub(super) fn read(
    r: &mut Reader<'_>,
    names: &mut Names,
    members: &[Member],
    policy: PolicyName,
) -> Result<Vec<Task>, WorkloadError> {
    let mut tasks = Vec::new();
    let mut later = Later::default();
    let mut instances = 0;
    for m in members.iter().filter(|m| !m.key.starts_with('_')) {
        let below = r.object(m)?;
        let task = r.inside(&m.key, |r| task(r, names, &mut later, m, below, policy))?;
        instances += u64::from(task.instances);
        if instances > MAX_TASKS {
            let what = format!("more than {MAX_TASKS} tasks with all their instances");
            return Err(r.meaningless(m, what, "make fewer"));
        }
        tasks.push(task);
    }
    check::check(r, &tasks, &later)?;
    Ok(tasks)
}

fn task(
    r: &mut Reader<'_>,
    names: &mut Names,
    later: &mut Later,
    member: &Member,
    below: &[Member],
    default: PolicyName,
) -> Result<Task, WorkloadError> {
    let mut body = body(r, below, true)?;
    let sched = sched(r, member, &body.sched, None, default)?;
    let instances = body.instances.unwrap_or(1);
    let mut cx = events::Context { names, later, task: &member.key, instances };
    let phases = if let Some(phases) = body.phases {
        if let Some(event) = body.events.first() {
            let hint = "move it into a phase; rt-app skips events next to `phases`";
            return Err(r.meaningless(event, "an event next to `phases`", hint));
        }
        let members = r.object(phases)?;
        r.inside("phases", |r| self::phases(r, &mut cx, members, sched))?
    } else {
        let events = cx.events(r, &body.events)?;
        vec![Phase {
            name: member.key.clone(),
            loops: Some(1),
            sched: None,
            cpus: None,
            taskgroup: None,
            events,
        }]
    };
    if phases.is_empty() {
        let hint = "write at least one phase, or events in the task itself";
        return Err(r.error(place(member), Fault::Value, "no phases", hint));
    }
    let task = Task {
        name: member.key.clone(),
        instances,
        delay_ns: body.delay_ns,
        loops: body.loops.unwrap_or(None),
        sched,
        cpus: body.cpus.take(),
        taskgroup: body.taskgroup.take(),
        phases,
    };
    let events: Vec<&Event> = task.phases.iter().flat_map(|p| &p.events).collect();
    check::advances(r, member, task.loops, &events)?;
    Ok(task)
}

fn phases(
    r: &mut Reader<'_>,
    cx: &mut events::Context<'_>,
    members: &[Member],
    task: Sched,
) -> Result<Vec<Phase>, WorkloadError> {
    let mut current = task;
    let mut phases = Vec::new();
    for m in members.iter().filter(|m| !m.key.starts_with('_')) {
        let below = r.object(m)?;
        let phase = r.inside(&m.key, |r| {
            let body = body(r, below, false)?;
            let sched = if body.sched.is_empty() {
                None
            } else {
                current = sched(r, m, &body.sched, Some(current), PolicyName::Other)?;
                Some(current)
            };
            let events = cx.events(r, &body.events)?;
            let loops = body.loops.unwrap_or(Some(1));
            check::advances(r, m, loops, &events.iter().collect::<Vec<_>>())?;
            let (cpus, taskgroup) = (body.cpus, body.taskgroup);
            Ok(Phase { name: m.key.clone(), loops, sched, cpus, taskgroup, events })
        })?;
        phases.push(phase);
    }
    Ok(phases)
}

fn body<'m>(r: &mut Reader<'_>, below: &'m [Member], is_task: bool) -> Result<Body<'m>, WorkloadError> {
    let mut body = Body::default();
    let mut seen: Vec<&str> = Vec::new();
    for m in below {
        let key = m.key.as_str();
        if key.starts_with('_') {
            continue;
        }
        if OLD.contains(&key) {
            let what = "the grammar of rt-app before events, which today's rt-app skips";
            return Err(r.not_modelled(
                m,
                what,
                "write `run`, `lock`, `unlock`, `wait`, `timer` events in order",
            ));
        }
        if !TASK.contains(&key) {
            body.events.push(m);
            continue;
        }
        if seen.contains(&key) {
            return Err(r.meaningless(m, "this setting is here twice", "keep one of them"));
        }
        seen.push(key);
        match key {
            "instance" | "delay" | "phases" if !is_task => {
                return Err(r.meaningless(m, "a phase has none", "move it to the task"));
            }
            "instance" => body.instances = Some(r.count(m, 0..=65_536, "instances")?),
            "delay" => body.delay_ns = r.micros(m)?,
            "phases" => body.phases = Some(m),
            "loop" => body.loops = Some(loops(r, m)?),
            "policy" => body.sched.policy = Some(PolicyName::read(r, m)?),
            "priority" => body.sched.priority = Some(m),
            "dl-runtime" => body.sched.runtime = Some(m),
            "dl-period" | "period" => body.sched.period = Some(m),
            "dl-deadline" | "deadline" => body.sched.deadline = Some(m),
            "util_min" => body.sched.util_min = Some(r.count(m, 0..=1024, "utilisation")?),
            "util_max" => body.sched.util_max = Some(r.count(m, 0..=1024, "utilisation")?),
            "cpus" => body.cpus = Some(cpus(r, m)?),
            "taskgroup" => body.taskgroup = taskgroup(r, m)?,
            "dl-reclaim" => {
                return Err(r.not_modelled(
                    m,
                    "bandwidth that deadline tasks leave is not reclaimed",
                    "remove it",
                ));
            }
            _ => r.note(format!("`{key}` is skipped: memory is not modelled")),
        }
    }
    Ok(body)
}

/// -1 is for ever. 0 is not taken: a phase with it runs for ever and a task never (rt-app 1.0).
fn loops(r: &Reader<'_>, m: &Member) -> Result<Option<u64>, WorkloadError> {
    let n = r.whole(m, -1..=i64::from(i32::MAX), "times, or -1 for ever,")?;
    if n == 0 {
        let hint = "write -1 for ever, or remove the phase or task";
        return Err(r.meaningless(
            m,
            "`loop` 0: rt-app 1.0 runs such a phase for ever and such a task never",
            hint,
        ));
    }
    Ok(u64::try_from(n).ok())
}

fn cpus(r: &Reader<'_>, m: &Member) -> Result<Vec<u32>, WorkloadError> {
    let number = |n: &Node| whole(&n.value).and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= MAX_CPU);
    let cpus: Option<Vec<u32>> = r.list(m, "CPU numbers")?.iter().map(number).collect();
    let Some(mut cpus) = cpus.filter(|c| !c.is_empty()) else {
        let what = format!("expected CPU numbers from 0 to {MAX_CPU}, at least one");
        return Err(r.meaningless(m, what, "without `cpus` a task may run on all CPUs"));
    };
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// The empty one is as if there were none.
fn taskgroup(r: &mut Reader<'_>, m: &Member) -> Result<Option<String>, WorkloadError> {
    let Some(Node { value: Value::Text(group), .. }) = &m.value else {
        return Err(r.wrong(m, "the path of a control group"));
    };
    if group.is_empty() {
        return Ok(None);
    }
    r.note("`taskgroup`: tasks are scheduled as if all were in the root group");
    Ok(Some(group.clone()))
}

/// How a task is scheduled. What a phase does not say stays as it was, where the policy does.
fn sched(
    r: &mut Reader<'_>,
    member: &Member,
    keys: &SchedKeys<'_>,
    base: Option<Sched>,
    default: PolicyName,
) -> Result<Sched, WorkloadError> {
    let name = keys.policy.or(base.map(|b| PolicyName::of(b.policy))).unwrap_or(default);
    let before = base.map(|b| b.policy).filter(|p| PolicyName::of(*p) == name);
    if name != PolicyName::Deadline && (keys.period.is_some() || keys.deadline.is_some()) {
        r.note("`dl-period` and `dl-deadline` are skipped where the policy is not SCHED_DEADLINE");
    }
    let number = |low: i32, high: i32, what: &str, otherwise: i32| match keys.priority {
        None => Ok(otherwise),
        Some(m) => r.whole(m, i64::from(low)..=i64::from(high), what).map(|n| i32::try_from(n).unwrap_or(0)),
    };
    let nice = |otherwise| number(-20, 19, "nice", otherwise);
    let priority = |otherwise: u32| {
        let otherwise = i32::try_from(otherwise).unwrap_or(99);
        number(1, 99, "real-time priority", otherwise).map(i32::unsigned_abs)
    };
    let time = |m: Option<&Member>| m.map(|m| r.micros(m)).transpose();
    let policy = match (name, before) {
        (PolicyName::Other, before) => {
            let (old, slice) = match before {
                Some(Policy::Other { nice, slice_ns }) => (nice, slice_ns),
                _ => (0, None),
            };
            let slice_ns = time(keys.runtime)?.filter(|ns| *ns > 0).or(slice);
            Policy::Other { nice: nice(old)?, slice_ns }
        }
        (PolicyName::Batch, Some(Policy::Batch { nice: old })) => Policy::Batch { nice: nice(old)? },
        (PolicyName::Batch, _) => Policy::Batch { nice: nice(0)? },
        (PolicyName::Idle, _) => Policy::Idle,
        (PolicyName::Fifo, Some(Policy::Fifo { priority: old })) => Policy::Fifo { priority: priority(old)? },
        (PolicyName::Fifo, _) => Policy::Fifo { priority: priority(10)? },
        (PolicyName::RoundRobin, Some(Policy::RoundRobin { priority: old })) => {
            Policy::RoundRobin { priority: priority(old)? }
        }
        (PolicyName::RoundRobin, _) => Policy::RoundRobin { priority: priority(10)? },
        (PolicyName::Deadline, before) => {
            let (runtime, deadline, period) = match before {
                Some(Policy::Deadline { runtime_ns, deadline_ns, period_ns }) => {
                    (runtime_ns, Some(deadline_ns), Some(period_ns))
                }
                _ => (0, None, None),
            };
            let runtime_ns = time(keys.runtime)?.unwrap_or(runtime);
            let period_ns = time(keys.period)?.or(period).unwrap_or(runtime_ns);
            let deadline_ns = time(keys.deadline)?.or(deadline).unwrap_or(period_ns);
            if runtime_ns == 0 || runtime_ns > deadline_ns || deadline_ns > period_ns {
                let what = format!(
                    "SCHED_DEADLINE with runtime {}, deadline {}, period {} us",
                    runtime_ns / 1000,
                    deadline_ns / 1000,
                    period_ns / 1000
                );
                let hint =
                    "give `dl-runtime`, above 0, not above `dl-deadline`, and that not above `dl-period`";
                return Err(r.error(place(member), Fault::Value, what, hint));
            }
            Policy::Deadline { runtime_ns, deadline_ns, period_ns }
        }
    };
    let (old_min, old_max) = base.map_or((None, None), |b| (b.util_min, b.util_max));
    let (util_min, util_max) = (keys.util_min.or(old_min), keys.util_max.or(old_max));
    if util_min.unwrap_or(0) > util_max.unwrap_or(1024) {
        let what = "`util_min` is above `util_max`";
        return Err(r.error(place(member), Fault::Value, what, "the kernel refuses this too; lower it"));
    }
    Ok(Sched { policy, util_min, util_max })
}

impl SchedKeys<'_> {
    fn is_empty(&self) -> bool {
        let Self { policy, priority, runtime, deadline, period, util_min, util_max } = self;
        policy.is_none()
            && [priority, runtime, deadline, period].iter().all(|m| m.is_none())
            && util_min.is_none()
            && util_max.is_none()
    }
}

impl PolicyName {
    pub(super) fn read(r: &Reader<'_>, m: &Member) -> Result<Self, WorkloadError> {
        Ok(match r.text(m, "a scheduling policy")? {
            "SCHED_OTHER" => Self::Other,
            "SCHED_BATCH" => Self::Batch,
            "SCHED_IDLE" => Self::Idle,
            "SCHED_FIFO" => Self::Fifo,
            "SCHED_RR" => Self::RoundRobin,
            "SCHED_DEADLINE" => Self::Deadline,
            _ => {
                let known = "SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR or SCHED_DEADLINE";
                return Err(r.wrong(m, known));
            }
        })
    }

    fn of(policy: Policy) -> Self {
        match policy {
            Policy::Other { .. } => Self::Other,
            Policy::Batch { .. } => Self::Batch,
            Policy::Idle => Self::Idle,
            Policy::Fifo { .. } => Self::Fifo,
            Policy::RoundRobin { .. } => Self::RoundRobin,
            Policy::Deadline { .. } => Self::Deadline,
        }
    }
}

/// The longest time is a number of microseconds that a file can hold.
const _: () = assert!(MAX_US > i32::MAX as i64);
