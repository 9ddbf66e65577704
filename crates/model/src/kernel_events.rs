// SPDX-License-Identifier: GPL-2.0-only
//! Every event of the kernel that idlewise understands, declared once.

/// Hands the declarations of all events to the macro `$then`. From them follow [`EventKind`](crate::EventKind), and in
/// `crates/trace` all that reads an event in any format and all that writes it.
///
/// A declaration is documentation, the kind of event, and in brackets the kernel's events that mean it, `"system" "name"`:
/// the first is the one that is written, and `*_entry` fits every name with that end. Then come the fields in the order in
/// which they are written: name and type here, how it is stored (`trace::kernel::meaning::kinds`), and its names in the
/// kernel's formats. The first of them is written; the others are those of older kernels, of other recorders, or of what
/// goes with the field. Behind `only` is a field that decides whether the event is of this kind at all.
#[doc(hidden)]
#[macro_export]
macro_rules! kernel_events {
    ($then:ident) => {
        $then! {
            /// `power:cpu_idle`: into `state`, or out (`None`; 4294967295 in the file).
            CpuIdle ["power" "cpu_idle"] {
                state: Option<u32> as EnteredState ["state"],
                cpu: u32 as Number ["cpu_id", "cpu"],
            };
            /// `power:cpu_idle_miss`: the core's verdict on the idle period that just ended in the *entered* `state`.
            CpuIdleMiss ["power" "cpu_idle_miss"] {
                cpu: u32 as Number ["cpu_id", "cpu"],
                state: u32 as Number ["state"],
                below: bool as Below ["below"],
            };
            /// `power:cpu_frequency`, kHz.
            CpuFrequency ["power" "cpu_frequency"] {
                khz: u32 as Number ["state", "frequency"],
                cpu: u32 as Number ["cpu_id", "cpu"],
            };
            /// `power:pm_qos_update_target`: an aggregated limit changed from `prev_value` to `curr_value` (us for CPU latency, else
            /// what the limit is of).
            PmQosUpdateTarget ["power" "pm_qos_update_target"] {
                prev_value: i32 as Number ["prev_value"],
                curr_value: i32 as Number ["curr_value"],
            };
            /// `power:dev_pm_qos_add_request` and its kin: a request, for a limit of one device or of CPU latency, is `value` now.
            PmQosRequest [
                "power" "dev_pm_qos_add_request", "power" "dev_pm_qos_update_request", "power" "dev_pm_qos_remove_request",
                "power" "pm_qos_add_request", "power" "pm_qos_update_request", "power" "pm_qos_remove_request"
            ] {
                value: i32 as Number ["new_value", "value"],
            };
            /// `power:suspend_resume`: a step of a suspend or resume of the whole machine begins or ends; steps are nested.
            SuspendResume ["power" "suspend_resume"] {
                begins: bool as Number ["start"],
            };
            /// `cpuhp:cpuhp_enter` and its kin: a step of switching `cpu` on or off begins or has ended. Other CPUs make those during
            /// which it does not run.
            CpuHotplug ["cpuhp" "cpuhp_enter", "cpuhp" "cpuhp_multi_enter", "cpuhp" "cpuhp_exit"] {
                cpu: u32 as Number ["cpu"],
            };
            /// `power:guest_halt_poll_ns`.
            GuestHaltPollNs ["power" "guest_halt_poll_ns"] {
                grow: bool as Number ["grow"],
                new: u32 as Number ["new"],
                old: u32 as Number ["old"],
            };
            /// `sched:sched_switch`. `prev_state` 0 means still runnable; kernels since 4.14 record 0x100 (or 0x1000 and
            /// more, as they have more states) where the task was preempted.
            SchedSwitch ["sched" "sched_switch"] {
                prev_pid: i32 as Task ["prev_pid", "prev_comm"],
                prev_prio: i32 as Number ["prev_prio"],
                prev_state: u64 as PrevState ["prev_state"],
                next_pid: i32 as Task ["next_pid", "next_comm"],
                next_prio: i32 as Number ["next_prio"],
            };
            /// `sched:sched_waking`.
            SchedWaking ["sched" "sched_waking"] {
                pid: i32 as Task ["pid", "comm"],
                target_cpu: u32 as TargetCpu ["target_cpu"],
            };
            /// `sched:sched_wakeup` and `sched:sched_wakeup_new`.
            SchedWakeup ["sched" "sched_wakeup", "sched" "sched_wakeup_new"] {
                pid: i32 as Task ["pid", "comm"],
                target_cpu: u32 as TargetCpu ["target_cpu", "cpu"],
                new: bool as NameEnd ["_new"],
            };
            /// `sched:sched_migrate_task`.
            SchedMigrateTask ["sched" "sched_migrate_task"] {
                pid: i32 as Task ["pid", "comm"],
                orig_cpu: u32 as Number ["orig_cpu"],
                dest_cpu: u32 as Number ["dest_cpu"],
            };
            /// `sched:sched_blocked_reason`, until 5.10 a patch of Android's: an uninterruptible sleep of `pid` ended;
            /// `io_wait` if it had waited for I/O.
            SchedBlockedReason ["sched" "sched_blocked_reason"] {
                pid: i32 as Number ["pid"],
                io_wait: bool as IoWait ["io_wait", "iowait"],
            };
            /// `sched:sched_stat_iowait` and `sched:sched_stat_blocked`, while the kernel counts (`kernel.sched_schedstats`): an
            /// uninterruptible sleep of `pid` ended; the one comes before the other if it had waited for I/O.
            SchedStat ["sched" "sched_stat_iowait", "sched" "sched_stat_blocked"] {
                pid: i32 as Task ["pid", "comm"],
                io_wait: bool as NameEnd ["_iowait"],
            };
            /// `block:block_rq_issue`: a request for `sectors` from `sector` of the block device `dev` went to its driver.
            BlockRqIssue ["block" "block_rq_issue"] {
                dev: u32 as Number ["dev"],
                sector: u64 as Number ["sector"],
                sectors: u32 as Number ["nr_sector"],
            };
            /// `block:block_rq_complete`: all of it, or so many sectors of it, are done.
            BlockRqComplete ["block" "block_rq_complete"] {
                dev: u32 as Number ["dev"],
                sector: u64 as Number ["sector"],
                sectors: u32 as Number ["nr_sector"],
            };
            /// The tracepoint `pelt_cfs_tp` as modules make an event of it: `util_avg` of a CPU's root runqueue. All but the
            /// first are recorded of every task group, too.
            PeltCfs [
                "sched" "sched_load_avg_cpu",
                "lisa" "lisa__sched_pelt_cfs", "sched" "lisa__sched_pelt_cfs",
                "sched" "sched_load_cfs_rq", "lisa" "sched_load_cfs_rq",
                "sched" "sched_pelt_cfs", "lisa" "sched_pelt_cfs"
            ] {
                cpu: u32 as Number ["cpu"],
                util: u32 as Number ["util_avg", "util"],
            } only path as RootGroup ["path"];
            /// `sched:sched_wake_idle_without_ipi`: a polling CPU is woken through its reschedule flag.
            SchedWakeIdleWithoutIpi ["sched" "sched_wake_idle_without_ipi"] {
                cpu: u32 as Number ["cpu"],
            };
            /// `irq:irq_handler_entry`; the stream knows the handler's name.
            IrqEntry ["irq" "irq_handler_entry"] {
                irq: i32 as Handler ["irq", "name"],
            };
            /// `irq:irq_handler_exit`.
            IrqExit ["irq" "irq_handler_exit"] {
                irq: i32 as Number ["irq"],
            };
            /// `irq:softirq_entry` (vec 1 is TIMER, 7 SCHED, 8 HRTIMER, 9 RCU).
            SoftirqEntry ["irq" "softirq_entry"] {
                vec: u32 as Softirq ["vec"],
            };
            /// `irq:softirq_exit`.
            SoftirqExit ["irq" "softirq_exit"] {
                vec: u32 as Softirq ["vec"],
            };
            /// `irq:softirq_raise`.
            SoftirqRaise ["irq" "softirq_raise"] {
                vec: u32 as Softirq ["vec"],
            };
            /// `irq_vectors:*_entry` (x86).
            VectorEntry ["irq_vectors" "*_entry"] {
                vector: Vector as NameEnd ["_entry"],
            };
            /// `irq_vectors:*_exit` (x86).
            VectorExit ["irq_vectors" "*_exit"] {
                vector: Vector as NameEnd ["_exit"],
            };
            /// `ipi:ipi_entry` (arm, arm64, riscv).
            IpiEntry ["ipi" "ipi_entry"] {
                ipi: Ipi as Reason ["reason"],
            };
            /// `ipi:ipi_exit`.
            IpiExit ["ipi" "ipi_exit"] {
                ipi: Ipi as Reason ["reason"],
            };
            /// `ipi:ipi_send_cpu`.
            IpiSendCpu ["ipi" "ipi_send_cpu"] {
                cpu: u32 as Number ["cpu", "cpu_id"],
            };
            /// `ipi:ipi_send_cpumask`.
            IpiSendCpumask ["ipi" "ipi_send_cpumask"] {
                cpus: CpuMask as Cpus ["cpumask"],
            };
            /// `ipi:ipi_raise` (arm, arm64).
            IpiRaise ["ipi" "ipi_raise"] {
                cpus: CpuMask as TargetCpus ["target_mask"],
                ipi: Ipi as TargetReason ["reason"],
            };
            /// `timer:hrtimer_start`; times on `CLOCK_MONOTONIC`, ns. `was_armed` only in kernels that record it.
            HrtimerStart ["timer" "hrtimer_start"] {
                hrtimer: u64 as Pointer ["hrtimer"],
                function: u64 as Function ["function"],
                expires: i64 as Number ["expires"],
                softexpires: i64 as Number ["softexpires"],
                mode: HrtimerMode as Mode ["mode"],
                was_armed: Option<bool> as Newer ["was_armed"],
            };
            /// `timer:hrtimer_cancel`.
            HrtimerCancel ["timer" "hrtimer_cancel"] {
                hrtimer: u64 as Pointer ["hrtimer"],
            };
            /// `timer:hrtimer_expire_entry`; `now` on `CLOCK_MONOTONIC`, ns.
            HrtimerExpireEntry ["timer" "hrtimer_expire_entry"] {
                hrtimer: u64 as Pointer ["hrtimer"],
                function: u64 as Function ["function"],
                now: i64 as Number ["now"],
            };
            /// `timer:hrtimer_expire_exit`.
            HrtimerExpireExit ["timer" "hrtimer_expire_exit"] {
                hrtimer: u64 as Pointer ["hrtimer"],
            };
            /// `timer:hrtimer_rearm`, of Linux 7.x: the clock event device of the CPU was programmed for `next_event`, ns on
            /// `CLOCK_MONOTONIC`; `deferred` where that waited for the end of an interrupt or a switch.
            HrtimerRearm ["timer" "hrtimer_rearm"] {
                next_event: i64 as Number ["next_event"],
                deferred: bool as Number ["deferred"],
            };
            /// `timer:timer_start`; times in jiffies. `bucket_expiry` only in kernels that record it.
            TimerStart ["timer" "timer_start"] {
                timer: u64 as Pointer ["timer"],
                function: u64 as Function ["function"],
                expires: u64 as Number ["expires"],
                now: u64 as ArmedAt ["now", "expires"],
                bucket_expiry: Option<u64> as Newer ["bucket_expiry"],
                flags: TimerFlags as WheelFlags ["flags"],
            };
            /// `timer:timer_cancel`; also emitted just before `timer_expire_entry`.
            TimerCancel ["timer" "timer_cancel"] {
                timer: u64 as Pointer ["timer"],
            };
            /// `timer:timer_expire_entry`; times in jiffies.
            TimerExpireEntry ["timer" "timer_expire_entry"] {
                timer: u64 as Pointer ["timer"],
                function: u64 as Function ["function"],
                now: u64 as Number ["now"],
            };
            /// `timer:timer_expire_exit`.
            TimerExpireExit ["timer" "timer_expire_exit"] {
                timer: u64 as Pointer ["timer"],
            };
            /// `timer:timer_base_idle`.
            TimerBaseIdle ["timer" "timer_base_idle"] {
                is_idle: bool as Number ["is_idle"],
                cpu: u32 as Number ["cpu"],
            };
            /// `timer_migration:tmigr_cpu_idle` and `tmigr_cpu_new_timer_idle`: the next expiry among the timers that other
            /// CPUs may run for this one, and when this CPU must wake up for any CPU's timers; values from `i64::MAX` on are
            /// never, ns on `CLOCK_MONOTONIC`.
            TmigrCpuIdle [
                "timer_migration" "tmigr_cpu_idle", "timer_migration" "tmigr_cpu_new_timer_idle"
            ] {
                cpu: u32 as Number ["cpu"],
                nextevt: u64 as Number ["nextevt"],
                wakeup: u64 as Number ["wakeup"],
            };
            /// `timer:tick_stop`: the tick was stopped, or (`success` false) could not be because of `dependency`.
            TickStop ["timer" "tick_stop"] {
                success: bool as Number ["success"],
                dependency: u32 as Dependency ["dependency"],
            };
            /// `idlewise:idle_enabled`: a governor was put in charge of `cpu`; its state for that CPU is new.
            IdleEnabled ["idlewise" "idle_enabled"] {
                governor: GovernorName as Text ["governor"],
                cpu: u32 as Number ["cpu"],
                capacity: u32 as Number ["capacity"],
                states: u32 as Number ["states"],
            };
            /// `idlewise:idle_asked`: the answers that a governor got while it chose; `clock` is the CPU's own, ns, the others
            /// count from now, ns.
            IdleAsked ["idlewise" "idle_asked"] {
                cpu: u32 as Number ["cpu"],
                asked: Asked as Bits ["asked"],
                sleep_length: i64 as Number ["sleep_length"],
                delta_tick: i64 as Number ["delta_tick"],
                latency_limit: i64 as Number ["latency_limit"],
                clock: u64 as Number ["clock"],
            };
            /// `idlewise:idle_chosen`: the rest of what the governor knew, and what it chose. `residency` (ns) and
            /// `poll_time_limit` are those that it found in its device, `poll_limit` (ns) is the one that it left there; bit i
            /// of `disabled` is state i.
            IdleChosen ["idlewise" "idle_chosen"] {
                cpu: u32 as Number ["cpu"],
                state: u8 as Number ["state"],
                stop_tick: bool as Number ["stop_tick"],
                tick_stopped: bool as Number ["tick_stopped"],
                residency: u64 as Number ["residency"],
                poll_time_limit: bool as Number ["poll_time_limit"],
                poll_limit: u64 as Number ["poll_limit"],
                util: u32 as Number ["util"],
                iowait: u32 as Number ["iowait"],
                random: u32 as Number ["random"],
                disabled: u16 as Bits ["disabled"],
            };
            /// `idlewise:idle_reflected`: an idle period in `state` ended after `residency` ns, and the governor reflected it.
            IdleReflected ["idlewise" "idle_reflected"] {
                cpu: u32 as Number ["cpu"],
                state: u8 as Number ["state"],
                residency: u64 as Number ["residency"],
                poll_time_limit: bool as Number ["poll_time_limit"],
                got_tick: bool as Number ["got_tick"],
                clock: u64 as Number ["clock"],
                asked: Asked as Bits ["asked"],
            };
        }
    };
}
