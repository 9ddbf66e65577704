// SPDX-License-Identifier: GPL-2.0-only
//! What the tests share: where recordings are, what an event is called, and a writer of small trace.dat files.
#![allow(unused_imports, unreachable_pub, reason = "every test uses its part")]

pub mod agree;
pub mod babeltrace;
pub mod damage;
pub mod output;
pub mod perf_script;
pub mod proto;
pub mod report;
pub mod writer;

use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_model::{EventKind, Ipi, Vector};
use idlewise_trace::TraceMeta;
use idlewise_trace::write::Names;

/// The folder of recordings that are not part of the project.
pub fn shared() -> Option<PathBuf> {
    let dir = idlewise_checkout::shared();
    dir.join("traces").is_dir().then_some(dir)
}

/// Whether the reference reader is installed.
pub fn has_trace_cmd() -> bool {
    Command::new("trace-cmd").arg("--version").output().is_ok()
}

/// A Python that has Perfetto's own messages; `tools/python-perfetto.sh` makes one.
pub fn python_perfetto() -> Option<PathBuf> {
    let folder = std::env::var_os("IDLEWISE_PYTHON_PERFETTO").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python-perfetto"),
        PathBuf::from,
    );
    let python = folder.join("bin/python");
    python.is_file().then_some(python)
}

/// What `tests/perfetto/opinion.py` says, asked with `args`.
pub fn perfettos_opinion(python: &Path, args: &[&str]) -> Result<String, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/perfetto/opinion.py");
    let output = Command::new(python).arg(script).args(args).output().map_err(|e| e.to_string())?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stdout) + &text(output.stderr))
    }
}

/// All recordings in `trace.dat` format.
pub fn recordings() -> Vec<PathBuf> {
    let Some(shared) = shared() else { return Vec::new() };
    let mut all = Vec::new();
    for folder in ["trace-dat", "kvm-guest", "mt8196"] {
        let Ok(dir) = std::fs::read_dir(shared.join("traces").join(folder)) else { continue };
        all.extend(dir.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "dat")));
    }
    all.sort();
    all
}

/// Whether an event of this kind may be the kernel's event `name`.
pub fn is_called(kind: &EventKind, meta: &TraceMeta, name: &str) -> bool {
    let vector = |v: &Vector, end: &str| match v {
        Vector::LocalTimer => name == format!("local_timer{end}"),
        Vector::Reschedule => name == format!("reschedule{end}"),
        Vector::CallFunction => name == format!("call_function{end}"),
        Vector::CallFunctionSingle => name == format!("call_function_single{end}"),
        Vector::IrqWork => name == format!("irq_work{end}"),
        Vector::Other => name.ends_with(end),
    };
    let ipi = |_: &Ipi, end: &str| name == format!("ipi{end}");
    let plain = match kind {
        EventKind::Other { id } => {
            return meta.event_names.get(id).is_some_and(|n| n.split_once(':').is_some_and(|n| n.1 == name));
        }
        EventKind::VectorEntry { vector: v } => return vector(v, "_entry"),
        EventKind::VectorExit { vector: v } => return vector(v, "_exit"),
        EventKind::IpiEntry { ipi: i } => return ipi(i, "_entry"),
        EventKind::IpiExit { ipi: i } => return ipi(i, "_exit"),
        EventKind::SchedWakeup { new: true, .. } => "sched_wakeup_new",
        EventKind::SchedWakeup { new: false, .. } => "sched_wakeup",
        EventKind::CpuIdle { .. } => "cpu_idle",
        EventKind::CpuIdleMiss { .. } => "cpu_idle_miss",
        // Programs write frequencies to the trace as text, too.
        EventKind::CpuFrequency { .. } => return ["cpu_frequency", "print"].contains(&name),
        EventKind::PmQosUpdateTarget { .. } => "pm_qos_update_target",
        EventKind::PmQosRequest { .. } => {
            return name.contains("pm_qos_") && name.ends_with("_request");
        }
        EventKind::SuspendResume { .. } => "suspend_resume",
        EventKind::CpuHotplug { .. } => {
            return ["cpuhp_enter", "cpuhp_multi_enter", "cpuhp_exit"].contains(&name);
        }
        EventKind::GuestHaltPollNs { .. } => "guest_halt_poll_ns",
        EventKind::SchedSwitch { .. } => "sched_switch",
        EventKind::SchedWaking { .. } => "sched_waking",
        EventKind::SchedMigrateTask { .. } => "sched_migrate_task",
        EventKind::SchedBlockedReason { .. } => "sched_blocked_reason",
        EventKind::SchedStat { io_wait: true, .. } => "sched_stat_iowait",
        EventKind::SchedStat { .. } => "sched_stat_blocked",
        EventKind::BlockRqIssue { .. } => "block_rq_issue",
        EventKind::BlockRqComplete { .. } => "block_rq_complete",
        EventKind::PeltCfs { .. } => {
            return ["sched_load_avg_cpu", "sched_load_cfs_rq", "sched_pelt_cfs", "lisa__sched_pelt_cfs"]
                .contains(&name);
        }
        EventKind::TmigrCpuIdle { .. } => {
            return ["tmigr_cpu_idle", "tmigr_cpu_new_timer_idle"].contains(&name);
        }
        EventKind::SchedWakeIdleWithoutIpi { .. } => "sched_wake_idle_without_ipi",
        EventKind::IrqEntry { .. } => "irq_handler_entry",
        EventKind::IrqExit { .. } => "irq_handler_exit",
        EventKind::SoftirqEntry { .. } => "softirq_entry",
        EventKind::SoftirqExit { .. } => "softirq_exit",
        EventKind::SoftirqRaise { .. } => "softirq_raise",
        EventKind::IpiSendCpu { .. } => "ipi_send_cpu",
        EventKind::IpiSendCpumask { .. } => "ipi_send_cpumask",
        EventKind::IpiRaise { .. } => "ipi_raise",
        EventKind::HrtimerStart { .. } => "hrtimer_start",
        EventKind::HrtimerCancel { .. } => "hrtimer_cancel",
        EventKind::HrtimerExpireEntry { .. } => "hrtimer_expire_entry",
        EventKind::HrtimerExpireExit { .. } => "hrtimer_expire_exit",
        EventKind::HrtimerRearm { .. } => "hrtimer_rearm",
        EventKind::TimerStart { .. } => "timer_start",
        EventKind::TimerCancel { .. } => "timer_cancel",
        EventKind::TimerExpireEntry { .. } => "timer_expire_entry",
        EventKind::TimerExpireExit { .. } => "timer_expire_exit",
        EventKind::TimerBaseIdle { .. } => "timer_base_idle",
        EventKind::TickStop { .. } => "tick_stop",
        EventKind::IdleEnabled { .. } => "idle_enabled",
        EventKind::IdleAsked { .. } => "idle_asked",
        EventKind::IdleChosen { .. } => "idle_chosen",
        EventKind::IdleReflected { .. } => "idle_reflected",
        EventKind::Lost { .. } => return false,
    };
    plain == name
}

/// Names of a machine on which all tasks are called the same, or nothing is known by a name.
pub struct Called(pub Option<String>);

impl Names for Called {
    fn comm(&self, _: i32) -> Option<&str> {
        self.0.as_deref()
    }

    fn symbol(&self, _: u64) -> Option<&str> {
        None
    }

    fn event_name(&self, _: u16) -> Option<&str> {
        None
    }

    fn irq_name(&self, _: i32) -> Option<&str> {
        None
    }
}
