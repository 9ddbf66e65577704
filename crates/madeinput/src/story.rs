// SPDX-License-Identifier: GPL-2.0-only
//! Stories: what happened on a few CPUs, told event by event and written as a plain trace.dat (version 6), so that a
//! test knows what a tape of it must say. The formats are our own; only the fields that matter are in them.

use std::collections::BTreeMap;
use std::path::Path;

use idlewise_model::{Confidence, CpuTape, Event, EventKind, Piece, Tape, Vector};
use idlewise_platform::Platform;
use idlewise_tape::TapeError;
use idlewise_trace::TraceFile;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
/// HZ 250.
pub const T: u64 = 4 * MS;
/// A tick: the grid does not lie on multiples of 4 ms.
pub const TICK: u64 = 10_000 * MS + 700;
/// The function of the tick's timer, named in the file's symbols, and of another timer.
pub const TICK_FN: u64 = 0xffff_ffff_8100_0100;
pub const OTHER_FN: u64 = 0xffff_ffff_8100_0200;
/// Wakes the task that armed a wheel timer to sleep.
pub const SLEEP_FN: u64 = 0xffff_ffff_8100_0300;
/// Wakes a worker for what somebody wanted done later.
pub const WORK_FN: u64 = 0xffff_ffff_8100_0400;
/// `TASK_RUNNING`, `TASK_INTERRUPTIBLE`, `TASK_UNINTERRUPTIBLE`.
pub const RUNNING: u64 = 0;
pub const SLEEPS: u64 = 1;
pub const WAITS: u64 = 2;
pub const TIMER_SOFTIRQ: u64 = 1;
pub const RCU_SOFTIRQ: u64 = 9;

/// Event, id, fields as `(type and name, offset, size, signed)`.
type Format = (&'static str, &'static str, u16, &'static [(&'static str, u16, u16, u8)]);

const FORMATS: &[Format] = &[
    ("power", "cpu_idle", 10, &[("u32 state", 8, 4, 0), ("u32 cpu_id", 12, 4, 0)]),
    (
        "power",
        "cpu_idle_miss",
        11,
        &[("u32 cpu_id", 8, 4, 0), ("u32 state", 12, 4, 0), ("bool below", 16, 1, 0)],
    ),
    ("power", "pm_qos_update_target", 12, &[("int prev_value", 8, 4, 1), ("int curr_value", 12, 4, 1)]),
    (
        "sched",
        "sched_switch",
        20,
        &[
            ("int prev_pid", 8, 4, 1),
            ("int prev_prio", 12, 4, 1),
            ("long prev_state", 16, 8, 1),
            ("int next_pid", 24, 4, 1),
            ("int next_prio", 28, 4, 1),
        ],
    ),
    ("sched", "sched_waking", 21, &[("int pid", 8, 4, 1), ("int target_cpu", 12, 4, 1)]),
    ("sched", "sched_wake_idle_without_ipi", 22, &[("int cpu", 8, 4, 1)]),
    ("irq", "irq_handler_entry", 30, &[("int irq", 8, 4, 1), ("__data_loc char[] name", 12, 4, 0)]),
    ("irq", "irq_handler_exit", 31, &[("int irq", 8, 4, 1), ("int ret", 12, 4, 1)]),
    ("irq", "softirq_entry", 32, &[("unsigned int vec", 8, 4, 0)]),
    ("irq", "softirq_exit", 33, &[("unsigned int vec", 8, 4, 0)]),
    ("irq", "softirq_raise", 34, &[("unsigned int vec", 8, 4, 0)]),
    ("irq_vectors", "local_timer_entry", 40, &[("int vector", 8, 4, 1)]),
    ("irq_vectors", "local_timer_exit", 41, &[("int vector", 8, 4, 1)]),
    ("irq_vectors", "reschedule_entry", 42, &[("int vector", 8, 4, 1)]),
    ("irq_vectors", "reschedule_exit", 43, &[("int vector", 8, 4, 1)]),
    (
        "timer",
        "hrtimer_start",
        50,
        &[
            ("void * hrtimer", 8, 8, 0),
            ("void * function", 16, 8, 0),
            ("s64 expires", 24, 8, 1),
            ("s64 softexpires", 32, 8, 1),
        ],
    ),
    ("timer", "hrtimer_cancel", 51, &[("void * hrtimer", 8, 8, 0)]),
    (
        "timer",
        "hrtimer_expire_entry",
        52,
        &[("void * hrtimer", 8, 8, 0), ("s64 now", 16, 8, 1), ("void * function", 24, 8, 0)],
    ),
    (
        "timer",
        "timer_start",
        53,
        &[
            ("void * timer", 8, 8, 0),
            ("void * function", 16, 8, 0),
            ("unsigned long expires", 24, 8, 0),
            ("unsigned long bucket_expiry", 32, 8, 0),
            ("unsigned long now", 40, 8, 0),
            ("unsigned int flags", 48, 4, 0),
        ],
    ),
    ("timer", "timer_cancel", 54, &[("void * timer", 8, 8, 0)]),
    (
        "timer",
        "timer_expire_entry",
        55,
        &[("void * timer", 8, 8, 0), ("unsigned long now", 16, 8, 0), ("void * function", 24, 8, 0)],
    ),
    ("timer", "tick_stop", 56, &[("int success", 8, 4, 1), ("int dependency", 12, 4, 1)]),
    ("timer", "timer_base_idle", 57, &[("bool is_idle", 8, 1, 0), ("unsigned int cpu", 12, 4, 0)]),
    ("timer_migration", "tmigr_cpu_idle", 60, &[("u64 nextevt", 8, 8, 0)]),
    (
        "idlewise",
        "idle_chosen",
        24,
        &[
            ("u32 cpu", 8, 4, 0),
            ("u32 state", 12, 4, 0),
            ("u32 stop_tick", 16, 4, 0),
            ("u32 tick_stopped", 20, 4, 0),
            ("u32 poll_time_limit", 24, 4, 0),
            ("u32 disabled", 28, 4, 0),
            ("u64 residency", 32, 8, 0),
            ("u64 poll_limit", 40, 8, 0),
            ("u32 util", 48, 4, 0),
            ("u32 iowait", 52, 4, 0),
            ("u32 random", 56, 4, 0),
        ],
    ),
];

/// Something in a CPU's buffer.
enum Item {
    Event(Vec<u8>),
    Lost(u64),
}

/// A trace in the making. Events of one CPU come in order of time.
pub struct Story {
    clock: &'static str,
    cpus: BTreeMap<u32, Vec<(u64, Item)>>,
    /// The current task of each CPU.
    pids: BTreeMap<u32, i32>,
    without: Vec<&'static str>,
    /// The CPU latency limit, us.
    limit_us: i32,
}

impl Story {
    /// An empty trace of `cpus` CPUs, all busy with task 1, on clock `mono`.
    pub fn new(cpus: u32) -> Self {
        Self {
            clock: "mono",
            cpus: (0..cpus).map(|c| (c, Vec::new())).collect(),
            pids: (0..cpus).map(|c| (c, 1)).collect(),
            without: vec!["tmigr_cpu_idle"],
            limit_us: 2_000_000_000,
        }
    }

    pub fn clock(mut self, clock: &'static str) -> Self {
        self.clock = clock;
        self
    }

    /// The file neither describes nor holds the events whose name begins so.
    pub fn without(mut self, begin: &'static str) -> Self {
        self.without.push(begin);
        self
    }

    /// The kernel has timer migration (6.9).
    pub fn with_timer_migration(mut self) -> Self {
        self.without.retain(|b| *b != "tmigr_cpu_idle");
        self
    }

    fn says(&self, name: &str) -> bool {
        !self.without.iter().any(|begin| name.starts_with(begin))
    }

    fn tell(&mut self, cpu: u32, ts: u64, name: &str, values: &[i64]) {
        if !self.says(name) {
            return;
        }
        let (_, _, id, fields) = FORMATS.iter().find(|f| f.1 == name).unwrap();
        let mut bytes = vec![0; 8];
        bytes[..2].copy_from_slice(&id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.pids[&cpu].to_le_bytes());
        for ((_, offset, size, _), value) in fields.iter().zip(values) {
            bytes.resize(usize::from(offset + size), 0);
            bytes[usize::from(*offset)..].copy_from_slice(&value.to_le_bytes()[..usize::from(*size)]);
        }
        self.push(cpu, ts, Item::Event(bytes));
    }

    fn push(&mut self, cpu: u32, ts: u64, item: Item) {
        let all = self.cpus.get_mut(&cpu).unwrap();
        assert!(all.last().is_none_or(|last| last.0 <= ts), "a story is written in order of time");
        all.push((ts, item));
    }

    pub fn idle(&mut self, cpu: u32, ts: u64, state: u32) {
        self.tell(cpu, ts, "cpu_idle", &[state.into(), cpu.into()]);
    }

    pub fn exit(&mut self, cpu: u32, ts: u64) {
        self.tell(cpu, ts, "cpu_idle", &[u32::MAX.into(), cpu.into()]);
    }

    /// A governor records that it chose `state`.
    pub fn chosen(&mut self, cpu: u32, ts: u64, state: u32) {
        self.tell(cpu, ts, "idle_chosen", &[cpu.into(), state.into(), 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    pub fn miss(&mut self, cpu: u32, ts: u64, state: u32, below: bool) {
        self.tell(cpu, ts, "cpu_idle_miss", &[cpu.into(), state.into(), below.into()]);
    }

    pub fn latency_limit(&mut self, cpu: u32, ts: u64, us: i32) {
        let before = std::mem::replace(&mut self.limit_us, us);
        self.tell(cpu, ts, "pm_qos_update_target", &[before.into(), us.into()]);
    }

    pub fn switch(&mut self, cpu: u32, ts: u64, prev_state: u64, next: i32) {
        let prev = self.pids[&cpu];
        self.tell(cpu, ts, "sched_switch", &[prev.into(), 120, prev_state as i64, next.into(), 120]);
        self.pids.insert(cpu, next);
    }

    /// To the idle task.
    pub fn rest(&mut self, cpu: u32, ts: u64) {
        self.switch(cpu, ts, SLEEPS, 0);
    }

    pub fn waking(&mut self, cpu: u32, ts: u64, pid: i32, target: u32) {
        self.tell(cpu, ts, "sched_waking", &[pid.into(), target.into()]);
    }

    pub fn wake_without_ipi(&mut self, cpu: u32, ts: u64, target: u32) {
        self.tell(cpu, ts, "sched_wake_idle_without_ipi", &[target.into()]);
    }

    /// A device's interrupt and its handler.
    pub fn irq(&mut self, cpu: u32, ts: u64, irq: i32, name: &str, handler_ns: u64) {
        if self.says("irq_handler_entry") {
            let mut bytes = vec![0; 16];
            bytes[..2].copy_from_slice(&30u16.to_le_bytes());
            bytes[4..8].copy_from_slice(&self.pids[&cpu].to_le_bytes());
            bytes[8..12].copy_from_slice(&irq.to_le_bytes());
            bytes[12..16].copy_from_slice(&(16 | (name.len() as u32 + 1) << 16).to_le_bytes());
            bytes.extend(name.as_bytes());
            bytes.push(0);
            self.push(cpu, ts, Item::Event(bytes));
        }
        self.tell(cpu, ts + handler_ns, "irq_handler_exit", &[irq.into(), 1]);
    }

    pub fn reschedule(&mut self, cpu: u32, ts: u64, handler_ns: u64) {
        self.tell(cpu, ts, "reschedule_entry", &[253]);
        self.tell(cpu, ts + handler_ns, "reschedule_exit", &[253]);
    }

    /// The timer interrupt begins; [`Story::timer_irq_end`] ends it.
    pub fn timer_irq(&mut self, cpu: u32, ts: u64) {
        self.tell(cpu, ts, "local_timer_entry", &[236]);
    }

    pub fn timer_irq_end(&mut self, cpu: u32, ts: u64) {
        self.tell(cpu, ts, "local_timer_exit", &[236]);
    }

    pub fn softirq(&mut self, cpu: u32, ts: u64, vec: u64, ns: u64) {
        self.tell(cpu, ts, "softirq_entry", &[vec as i64]);
        self.tell(cpu, ts + ns, "softirq_exit", &[vec as i64]);
    }

    pub fn raise(&mut self, cpu: u32, ts: u64, vec: u64) {
        self.tell(cpu, ts, "softirq_raise", &[vec as i64]);
    }

    pub fn arm(&mut self, cpu: u32, ts: u64, id: u64, function: u64, expires: u64) {
        self.tell(cpu, ts, "hrtimer_start", &[id as i64, function as i64, expires as i64, expires as i64]);
    }

    pub fn cancel(&mut self, cpu: u32, ts: u64, id: u64) {
        self.tell(cpu, ts, "hrtimer_cancel", &[id as i64]);
    }

    pub fn fire(&mut self, cpu: u32, ts: u64, id: u64, function: u64, now: u64) {
        self.tell(cpu, ts, "hrtimer_expire_entry", &[id as i64, now as i64, function as i64]);
    }

    /// Arms a wheel timer; all but `flags` in jiffies.
    #[allow(clippy::too_many_arguments, reason = "the event's fields")]
    pub fn wheel(&mut self, cpu: u32, ts: u64, id: u64, expires: u64, bucket: u64, now: u64, flags: u32) {
        let values = [id as i64, OTHER_FN as i64, expires as i64, bucket as i64, now as i64, flags.into()];
        self.tell(cpu, ts, "timer_start", &values);
    }

    pub fn wheel_cancel(&mut self, cpu: u32, ts: u64, id: u64) {
        self.tell(cpu, ts, "timer_cancel", &[id as i64]);
    }

    /// The kernel reports a cancel, then the expiry.
    pub fn wheel_fires(&mut self, cpu: u32, ts: u64, id: u64, jiffies: u64) {
        self.wheel_runs(cpu, ts, id, jiffies, OTHER_FN);
    }

    /// The same of a timer with this function.
    pub fn wheel_runs(&mut self, cpu: u32, ts: u64, id: u64, jiffies: u64, function: u64) {
        self.tell(cpu, ts, "timer_cancel", &[id as i64]);
        self.tell(cpu, ts, "timer_expire_entry", &[id as i64, jiffies as i64, function as i64]);
    }

    pub fn tick_stop(&mut self, cpu: u32, ts: u64) {
        self.tell(cpu, ts, "tick_stop", &[1, 0]);
    }

    /// The timer wheel of `target` sleeps.
    pub fn base_idle(&mut self, cpu: u32, ts: u64, target: u32) {
        self.tell(cpu, ts, "timer_base_idle", &[1, target.into()]);
    }

    /// Events were lost; the next one is the first after the gap.
    pub fn lost(&mut self, cpu: u32, ts: u64, count: u64) {
        self.push(cpu, ts, Item::Lost(count));
    }

    /// Tells an event of a recording, if a story can; `function` is what it has for a timer's function.
    pub fn retell(&mut self, e: &Event, function: u64) {
        self.pids.insert(e.cpu, e.pid);
        let (name, values) = match e.kind {
            EventKind::CpuIdle { cpu, state } => {
                ("cpu_idle", vec![state.unwrap_or(u32::MAX).into(), cpu.into()])
            }
            EventKind::CpuIdleMiss { cpu, state, below } => {
                ("cpu_idle_miss", vec![cpu.into(), state.into(), below.into()])
            }
            EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => (
                "sched_switch",
                vec![prev_pid.into(), prev_prio.into(), prev_state as i64, next_pid.into(), next_prio.into()],
            ),
            EventKind::SchedWaking { pid, target_cpu } => {
                ("sched_waking", vec![pid.into(), target_cpu.into()])
            }
            EventKind::SoftirqEntry { vec } => ("softirq_entry", vec![vec.into()]),
            EventKind::SoftirqExit { vec } => ("softirq_exit", vec![vec.into()]),
            EventKind::SoftirqRaise { vec } => ("softirq_raise", vec![vec.into()]),
            EventKind::VectorEntry { vector: Vector::LocalTimer } => ("local_timer_entry", vec![236]),
            EventKind::VectorExit { vector: Vector::LocalTimer } => ("local_timer_exit", vec![236]),
            EventKind::VectorEntry { .. } => ("reschedule_entry", vec![253]),
            EventKind::VectorExit { .. } => ("reschedule_exit", vec![253]),
            EventKind::HrtimerStart { hrtimer, expires, softexpires, .. } => {
                ("hrtimer_start", vec![hrtimer as i64, function as i64, expires, softexpires])
            }
            EventKind::HrtimerCancel { hrtimer } => ("hrtimer_cancel", vec![hrtimer as i64]),
            EventKind::HrtimerExpireEntry { hrtimer, now, .. } => {
                ("hrtimer_expire_entry", vec![hrtimer as i64, now, function as i64])
            }
            EventKind::TimerStart { timer, expires, bucket_expiry, now, flags, .. } => {
                let bucket = bucket_expiry.unwrap_or(expires) as i64;
                let flags = flags.0.into();
                (
                    "timer_start",
                    vec![timer as i64, function as i64, expires as i64, bucket, now as i64, flags],
                )
            }
            EventKind::TimerCancel { timer } => ("timer_cancel", vec![timer as i64]),
            EventKind::TimerExpireEntry { timer, now, .. } => {
                ("timer_expire_entry", vec![timer as i64, now as i64, function as i64])
            }
            EventKind::TickStop { success, dependency } => {
                ("tick_stop", vec![success.into(), dependency.into()])
            }
            EventKind::TimerBaseIdle { is_idle, cpu } => {
                ("timer_base_idle", vec![is_idle.into(), cpu.into()])
            }
            _ => return,
        };
        self.tell(e.cpu, e.ts_ns, name, &values);
    }

    /// A tick's interrupt on a CPU: handler from `ts` on for 4 us, timer armed for the next tick.
    pub fn tick(&mut self, cpu: u32, ts: u64, due: u64) {
        self.timer_irq(cpu, ts);
        self.fire(cpu, ts + US, tick_timer(cpu), TICK_FN, due + US);
        self.arm(cpu, ts + 2 * US, tick_timer(cpu), TICK_FN, due + T);
        self.timer_irq_end(cpu, ts + 4 * US);
    }

    /// Three ticks while busy, the last at [`TICK`], so that the grid is known.
    pub fn prelude(&mut self, cpu: u32) {
        for k in [2, 1, 0] {
            self.tick(cpu, TICK - k * T + US, TICK - k * T);
        }
    }

    /// The bytes of the trace.
    pub fn write(&self) -> Vec<u8> {
        let mut out = b"\x17\x08\x44tracing6\0\0\x08".to_vec();
        out.extend((PAGE as u32).to_le_bytes());
        let page = format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
             \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:{};\tsigned:0;\n",
            PAGE - 16
        );
        for (name, text) in [("header_page", page.as_str()), ("header_event", HEADER_EVENT)] {
            out.extend(name.as_bytes());
            out.push(0);
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.as_bytes());
        }
        out.extend(0u32.to_le_bytes());
        self.write_formats(&mut out);
        let symbols = format!(
            "{TICK_FN:x} t tick_nohz_handler\n{OTHER_FN:x} t hrtimer_wakeup\n{SLEEP_FN:x} t process_timeout\n\
             {WORK_FN:x} t delayed_work_timer_fn\n"
        );
        out.extend((symbols.len() as u32).to_le_bytes());
        out.extend(symbols.as_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        out.extend((self.cpus.len() as u32).to_le_bytes());
        // One option: the clock follows the table of the CPUs.
        out.extend(b"options  \0\x04\0\0\0\0\0\0\0flyrecord\0");
        let clock = format!("[{}]", self.clock);
        let data: Vec<Vec<u8>> = self.cpus.values().map(|items| pages(items)).collect();
        let mut at = (out.len() + 16 * data.len() + 8 + clock.len()).next_multiple_of(PAGE);
        let first = at;
        for d in &data {
            out.extend((at as u64).to_le_bytes());
            out.extend((d.len() as u64).to_le_bytes());
            at += d.len();
        }
        out.extend((clock.len() as u64).to_le_bytes());
        out.extend(clock.as_bytes());
        out.resize(first, 0);
        out.extend(data.concat());
        out
    }

    fn write_formats(&self, out: &mut Vec<u8>) {
        let known: Vec<&Format> = FORMATS.iter().filter(|f| self.says(f.1)).collect();
        let mut systems: Vec<&str> = known.iter().map(|f| f.0).collect();
        systems.dedup();
        out.extend((systems.len() as u32).to_le_bytes());
        for system in systems {
            let of: Vec<_> = known.iter().filter(|f| f.0 == system).collect();
            out.extend(system.as_bytes());
            out.push(0);
            out.extend((of.len() as u32).to_le_bytes());
            for (_, name, id, fields) in of {
                let mut text = format!("name: {name}\nID: {id}\nformat:\n{COMMON}\n");
                for (field, offset, size, signed) in *fields {
                    text += &format!("\tfield:{field};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n");
                }
                text += "\nprint fmt: \"%d\", REC->common_pid\n";
                out.extend((text.len() as u64).to_le_bytes());
                out.extend(text.as_bytes());
            }
        }
    }

    /// The trace, read.
    pub fn trace(&self) -> TraceFile {
        TraceFile::from_bytes(Path::new("story.dat"), self.write()).unwrap()
    }

    pub fn try_tape(&self, machine: &Platform) -> Result<Tape, TapeError> {
        idlewise_tape::make(&self.trace(), "story.dat", machine, "menu")
    }

    /// The tape that is made of the story on [`machine`].
    pub fn tape(&self) -> Tape {
        self.try_tape(&machine()).unwrap()
    }
}

const PAGE: usize = 4096;
const HEADER_EVENT: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\ttime_delta  :   27 bits\n\
    \tarray       :   32 bits\n\n\tpadding     : type == 29\n\ttime_extend : type == 30\n\ttime_stamp : type == 31\n\
    \tdata max type_len  == 28\n";
const COMMON: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
    \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
    \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";

/// A new page wherever the distance in time is too large for an entry, or events were lost.
fn pages(items: &[(u64, Item)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut lost = None;
    let mut rest = items;
    while let Some((first, _)) = rest.first() {
        let mut data: Vec<u8> = Vec::new();
        let mut before = *first;
        let mut taken = 0;
        for (ts, item) in rest {
            let Item::Event(bytes) = item else { break };
            if data.len() + bytes.len() + 16 > PAGE - 32 || ts - before >= 1 << 27 {
                break;
            }
            let words = bytes.len().div_ceil(4) as u32;
            data.extend((words | ((ts - before) as u32) << 5).to_le_bytes());
            data.extend(bytes);
            data.resize(data.len().next_multiple_of(4), 0);
            before = *ts;
            taken += 1;
        }
        if !data.is_empty() {
            let start = out.len();
            let flags: u64 = lost.map_or(0, |_| 1 << 31 | 1 << 30);
            out.extend(first.to_le_bytes());
            out.extend((flags | data.len() as u64).to_le_bytes());
            out.extend(&data);
            if let Some(count) = lost.take() {
                let count: u64 = count;
                out.extend(count.to_le_bytes());
            }
            out.resize(start + PAGE, 0);
        }
        if let Some((_, Item::Lost(count))) = rest.get(taken) {
            lost = Some(*count);
            taken += 1;
        }
        rest = &rest[taken..];
    }
    out
}

/// The id of a CPU's tick timer.
pub fn tick_timer(cpu: u32) -> u64 {
    0x1000 + u64::from(cpu)
}

/// Two CPUs, HZ 250: WFI 1/1, SLEEP 300/1000 (us).
pub fn machine() -> Platform {
    states("0-1", &[("WFI", 1, 1, false), ("SLEEP", 300, 1000, false)])
}

/// The same with a polling state.
pub fn polling_machine() -> Platform {
    states("0-1", &[("POLL", 0, 0, true), ("C1", 2, 2, false), ("C6", 300, 1000, false)])
}

/// A machine with these CPUs and states: name, exit latency and target residency in us, polling.
pub fn states(cpus: &str, states: &[(&str, u32, u32, bool)]) -> Platform {
    let mut text = format!(
        "format = 1\nid = \"story\"\nname = \"Story\"\nhz = 250\nhz_note = \"chosen\"\nsources = [\"made up\"]\n\
         [[cluster]]\nname = \"all\"\ncpus = \"{cpus}\"\ncapacity = 1024\nsource = \"made up\"\n"
    );
    for (name, exit, residency, polling) in states {
        text += &format!(
            "[[cluster.state]]\nname = \"{name}\"\ndesc = \"\"\nexit_latency_us = {exit}\nresidency_us = {residency}\npolling = {polling}\n"
        );
    }
    Platform::from_toml(&text, "story.toml").unwrap()
}

/// The part of CPU `cpu`.
pub fn cpu(tape: &Tape, cpu: u32) -> &CpuTape {
    tape.cpus.iter().find(|c| c.cpu == cpu).unwrap()
}

/// The stays of CPU `number`.
pub fn stays(tape: &Tape, number: u32) -> Vec<Piece> {
    cpu(tape, number).pieces.to_vec().unwrap()
}

/// The only stay of CPU 0.
pub fn only(tape: &Tape) -> Piece {
    let [piece] = stays(tape, 0)[..] else { panic!("{:#?}", stays(tape, 0)) };
    piece
}

/// An hrtimer.
pub const TIMER: u64 = 0x2000;
/// A wheel timer.
pub const WHEEL: u64 = 0x3000;
/// Number of the jiffy that began at [`TICK`].
pub const JIFFY: u64 = 4_294_900_000;
/// A wheel timer of CPU 0 that stays there.
pub const PINNED: u32 = 0x10_0000;
/// A wheel timer that does not wake an idle CPU.
pub const DEFERRABLE: u32 = 0x8_0000;

/// Whether all of `bits` are set.
pub fn has(piece: &Piece, bits: u16) -> bool {
    piece.flags.has(bits)
}

/// The weakest grade of an input.
pub fn weakest(tape: &Tape, name: &str) -> Confidence {
    tape.inputs.iter().find(|i| i.name == name).unwrap().weakest()
}

/// CPU 0 has ticked and armed a timer for `due` after the last tick; CPU 1 is busy.
pub fn with_timer(due: u64) -> Story {
    let mut s = Story::new(2);
    s.prelude(0);
    s.arm(0, TICK + 10 * US, TIMER, OTHER_FN, TICK + due);
    s
}
