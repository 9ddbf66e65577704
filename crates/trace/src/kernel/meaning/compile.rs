// SPDX-License-Identifier: GPL-2.0-only
//! Which fields of which event make an [`Op`].

use super::vectors::vector;
use super::{Layout, Op, Reason};

/// Looks up the fields of an event and remembers the first that is missing.
pub(super) struct Needs<'a, L: Layout> {
    pub(super) layout: &'a mut L,
    pub(super) missing: Option<String>,
}

impl<L: Layout> Needs<'_, L> {
    fn number(&mut self, name: &str) -> Option<L::Field> {
        self.layout.number(name)
    }

    fn text(&mut self, name: &str) -> Option<L::Field> {
        self.layout.text(name)
    }

    /// Notes that `name` is missing.
    fn lack(&mut self, name: &str) -> Option<L::Field> {
        self.missing.get_or_insert_with(|| name.to_owned());
        None
    }

    /// The first of `names` that is there; a missing one is noted.
    fn any(&mut self, names: &[&str]) -> Option<L::Field> {
        let found = names.iter().find_map(|n| self.layout.number(n));
        found.or_else(|| self.lack(names.first().unwrap_or(&"")))
    }

    fn get(&mut self, name: &str) -> Option<L::Field> {
        self.any(&[name])
    }
}

/// What to make of an event. `None` with nothing missing: it has no meaning here.
pub(super) fn compile<L: Layout>(system: &str, name: &str, n: &mut Needs<'_, L>) -> Option<Op<L::Field>> {
    Some(match (system, name) {
        ("power", "cpu_idle") => Op::CpuIdle { cpu: n.any(&["cpu_id", "cpu"])?, state: n.get("state")? },
        ("power", "cpu_idle_miss") => Op::CpuIdleMiss {
            cpu: n.any(&["cpu_id", "cpu"])?,
            state: n.get("state")?,
            below: n.get("below")?,
        },
        ("power", "cpu_frequency") => {
            Op::CpuFrequency { cpu: n.any(&["cpu_id", "cpu"])?, khz: n.any(&["state", "frequency"])? }
        }
        ("power", "pm_qos_update_target") => Op::PmQosUpdateTarget { curr_value: n.get("curr_value")? },
        ("power", "guest_halt_poll_ns") => {
            Op::GuestHaltPollNs { grow: n.get("grow")?, new: n.get("new")?, old: n.get("old")? }
        }
        ("sched", "sched_switch") => Op::SchedSwitch {
            prev_pid: n.get("prev_pid")?,
            prev_prio: n.get("prev_prio")?,
            prev_state: n.get("prev_state")?,
            next_pid: n.get("next_pid")?,
            next_prio: n.get("next_prio")?,
        },
        ("sched", "sched_waking") => Op::SchedWaking { pid: n.get("pid")?, target_cpu: n.get("target_cpu")? },
        ("sched", "sched_wakeup" | "sched_wakeup_new") => Op::SchedWakeup {
            pid: n.get("pid")?,
            target_cpu: n.any(&["target_cpu", "cpu"])?,
            new: name == "sched_wakeup_new",
        },
        // The reason of an uninterruptible sleep, until 5.10 a patch of Android's.
        ("sched", "sched_blocked_reason") => {
            Op::SchedBlockedReason { pid: n.get("pid")?, io_wait: n.any(&["io_wait", "iowait"])? }
        }
        ("sched", "sched_load_avg_cpu") => {
            Op::PeltCfs { cpu: n.get("cpu")?, util: n.any(&["util_avg", "util"])?, path: None }
        }
        // The tracepoint pelt_cfs_tp as modules make an event of it; it is said of every task group.
        ("sched" | "lisa", "sched_load_cfs_rq" | "sched_pelt_cfs" | "lisa__sched_pelt_cfs") => {
            let path = n.text("path").or_else(|| n.lack("path"))?;
            Op::PeltCfs { cpu: n.get("cpu")?, util: n.any(&["util", "util_avg"])?, path: Some(path) }
        }
        ("sched", "sched_migrate_task") => Op::SchedMigrateTask {
            pid: n.get("pid")?,
            orig_cpu: n.get("orig_cpu")?,
            dest_cpu: n.get("dest_cpu")?,
        },
        ("sched", "sched_wake_idle_without_ipi") => Op::SchedWakeIdleWithoutIpi { cpu: n.get("cpu")? },
        ("irq", "irq_handler_entry") => Op::IrqEntry { irq: n.get("irq")?, name: n.text("name") },
        ("irq", "irq_handler_exit") => Op::IrqExit { irq: n.get("irq")? },
        ("irq", "softirq_entry") => Op::SoftirqEntry { vec: n.get("vec")? },
        ("irq", "softirq_exit") => Op::SoftirqExit { vec: n.get("vec")? },
        ("irq", "softirq_raise") => Op::SoftirqRaise { vec: n.get("vec")? },
        ("irq_vectors", name) => match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
            (Some(what), _) => Op::VectorEntry(vector(what)),
            (_, Some(what)) => Op::VectorExit(vector(what)),
            _ => return None,
        },
        ("ipi", "ipi_entry") => Op::IpiEntry(reason(n)?),
        ("ipi", "ipi_exit") => Op::IpiExit(reason(n)?),
        ("ipi", "ipi_send_cpu") => Op::IpiSendCpu { cpu: n.any(&["cpu", "cpu_id"])? },
        // Some formats have a mask as a number that means nothing: Perfetto, and the raw text of trace-cmd.
        ("ipi", "ipi_send_cpumask") => Op::IpiSendCpumask { cpus: n.text("cpumask")? },
        ("ipi", "ipi_raise") => {
            // The field's name, and what stands for it in a line of text, where the reason follows it.
            let cpus = ["target_cpus", "target_mask"].into_iter().find_map(|name| n.text(name))?;
            let reason =
                n.text("reason").map(Reason::Text).or_else(|| n.number("reason").map(Reason::Address));
            Op::IpiRaise { cpus, reason: reason.unwrap_or(Reason::Text(cpus)) }
        }
        ("timer_migration", "tmigr_cpu_idle" | "tmigr_cpu_new_timer_idle") => {
            Op::TmigrCpuIdle { cpu: n.get("cpu")?, nextevt: n.get("nextevt")?, wakeup: n.get("wakeup")? }
        }
        ("ftrace", "print") => Op::Marker { text: n.text("buf")? },
        ("timer", name) => return compile_timer(name, n),
        ("idlewise", name) => return compile_decision(name, n),
        _ => return None,
    })
}

fn compile_timer<L: Layout>(name: &str, n: &mut Needs<'_, L>) -> Option<Op<L::Field>> {
    Some(match name {
        "hrtimer_start" => Op::HrtimerStart {
            hrtimer: n.get("hrtimer")?,
            function: n.get("function")?,
            expires: n.get("expires")?,
            softexpires: n.get("softexpires")?,
            mode: n.number("mode"),
            was_armed: n.number("was_armed"),
        },
        "hrtimer_cancel" => Op::HrtimerCancel { hrtimer: n.get("hrtimer")? },
        "hrtimer_expire_entry" => Op::HrtimerExpireEntry {
            hrtimer: n.get("hrtimer")?,
            function: n.get("function")?,
            now: n.get("now")?,
        },
        "hrtimer_expire_exit" => Op::HrtimerExpireExit { hrtimer: n.get("hrtimer")? },
        "timer_start" => Op::TimerStart {
            timer: n.get("timer")?,
            function: n.get("function")?,
            expires: n.get("expires")?,
            bucket_expiry: n.number("bucket_expiry"),
            now: n.get("now")?,
            flags: n.number("flags"),
        },
        "timer_cancel" => Op::TimerCancel { timer: n.get("timer")? },
        "timer_expire_entry" => {
            Op::TimerExpireEntry { timer: n.get("timer")?, function: n.get("function")?, now: n.get("now")? }
        }
        "timer_expire_exit" => Op::TimerExpireExit { timer: n.get("timer")? },
        "timer_base_idle" => Op::TimerBaseIdle { is_idle: n.get("is_idle")?, cpu: n.get("cpu")? },
        // Before 4.5 the reason was a text.
        "tick_stop" => Op::TickStop { success: n.get("success")?, dependency: n.number("dependency") },
        _ => return None,
    })
}

/// The events of the kernel overlay: what a governor was told, and what it chose.
fn compile_decision<L: Layout>(name: &str, n: &mut Needs<'_, L>) -> Option<Op<L::Field>> {
    Some(match name {
        "idle_enabled" => Op::IdleEnabled {
            cpu: n.get("cpu")?,
            capacity: n.get("capacity")?,
            states: n.get("states")?,
            governor: n.text("governor").or_else(|| n.lack("governor"))?,
        },
        "idle_asked" => Op::IdleAsked {
            cpu: n.get("cpu")?,
            asked: n.get("asked")?,
            sleep_length: n.get("sleep_length")?,
            delta_tick: n.get("delta_tick")?,
            latency_limit: n.get("latency_limit")?,
            clock: n.get("clock")?,
        },
        "idle_chosen" => Op::IdleChosen {
            cpu: n.get("cpu")?,
            state: n.get("state")?,
            stop_tick: n.get("stop_tick")?,
            tick_stopped: n.get("tick_stopped")?,
            poll_time_limit: n.get("poll_time_limit")?,
            disabled: n.get("disabled")?,
            residency: n.get("residency")?,
            poll_limit: n.get("poll_limit")?,
            util: n.get("util")?,
            iowait: n.get("iowait")?,
            random: n.get("random")?,
        },
        "idle_reflected" => Op::IdleReflected {
            cpu: n.get("cpu")?,
            state: n.get("state")?,
            got_tick: n.get("got_tick")?,
            poll_time_limit: n.get("poll_time_limit")?,
            asked: n.get("asked")?,
            residency: n.get("residency")?,
            clock: n.get("clock")?,
        },
        _ => return None,
    })
}

fn reason<L: Layout>(n: &mut Needs<'_, L>) -> Option<Reason<L::Field>> {
    n.text("reason").map(Reason::Text).or_else(|| n.get("reason").map(Reason::Address))
}
