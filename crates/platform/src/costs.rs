// SPDX-License-Identifier: GPL-2.0-only

/// Time that the kernel itself takes, ns on a CPU of speed 1024 at its highest clock; a slower one takes longer. Between
/// the tasks' own work it is all that keeps a CPU awake, so it decides how long short idle times are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// An interrupt: entry, handler, exit.
    pub irq_ns: u64,
    /// Of that, what comes after the handler.
    pub irq_exit_ns: u64,
    /// The tick's handler, beside that.
    pub tick_ns: u64,
    /// Waking a task up, beside that.
    pub wake_ns: u64,
    /// Choosing the next task and switching to it.
    pub switch_ns: u64,
    /// What a program does itself before each of its system calls; interrupts come between.
    pub user_ns: u64,
    /// What it does itself at the start of each round of a phase.
    pub loop_ns: u64,
    /// A system call that is not only arithmetic.
    pub syscall_ns: u64,
    /// Of that, what comes after a timer is set; a call that wakes another task and does not block has no such part.
    pub block_ns: u64,
    /// From the idle task to its question to the governor.
    pub idle_ns: u64,
    /// From the end of a handler in the idle task to its next question.
    pub again_ns: u64,
    /// Stopping the tick on the way into an idle state.
    pub stop_tick_ns: u64,
    /// Starting it again before another task runs.
    pub start_tick_ns: u64,
    /// From the end of a handler in the idle task, or of polling, to the choice of the next task, beside that.
    pub leave_ns: u64,
    /// From a wake to its interrupt on another CPU; the same at any clock.
    pub ipi_ns: u64,
    /// Queueing what another CPU has woken up, in its interrupt, on top of that.
    pub ipi_wake_ns: u64,
    /// How fast memory is written, bytes in a us.
    pub mem_bytes_per_us: u64,
}

impl Costs {
    /// None: only what the workload says takes time.
    pub const NONE: Self = Self {
        irq_ns: 0,
        irq_exit_ns: 0,
        tick_ns: 0,
        wake_ns: 0,
        switch_ns: 0,
        user_ns: 0,
        loop_ns: 0,
        syscall_ns: 0,
        block_ns: 0,
        idle_ns: 0,
        again_ns: 0,
        stop_tick_ns: 0,
        start_tick_ns: 0,
        leave_ns: 0,
        ipi_ns: 0,
        ipi_wake_ns: 0,
        mem_bytes_per_us: u64::MAX,
    };

    /// Keys of a platform file, and the numbers.
    pub(crate) fn keys(&self) -> [(&'static str, u64); 17] {
        [
            ("irq_ns", self.irq_ns),
            ("irq_exit_ns", self.irq_exit_ns),
            ("tick_ns", self.tick_ns),
            ("wake_ns", self.wake_ns),
            ("switch_ns", self.switch_ns),
            ("user_ns", self.user_ns),
            ("loop_ns", self.loop_ns),
            ("syscall_ns", self.syscall_ns),
            ("block_ns", self.block_ns),
            ("idle_ns", self.idle_ns),
            ("again_ns", self.again_ns),
            ("stop_tick_ns", self.stop_tick_ns),
            ("start_tick_ns", self.start_tick_ns),
            ("leave_ns", self.leave_ns),
            ("ipi_ns", self.ipi_ns),
            ("ipi_wake_ns", self.ipi_wake_ns),
            ("mem_bytes_per_us", self.mem_bytes_per_us),
        ]
    }
}

impl Default for Costs {
    /// A big core's; orders of magnitude from recordings of a KVM guest with Linux 6.18. What the tick and leaving idle take
    /// is in the others.
    fn default() -> Self {
        Self {
            irq_ns: 1_500,
            irq_exit_ns: 0,
            tick_ns: 2_500,
            wake_ns: 1_000,
            switch_ns: 1_500,
            user_ns: 0,
            loop_ns: 0,
            syscall_ns: 700,
            block_ns: 0,
            idle_ns: 1_500,
            again_ns: 750,
            stop_tick_ns: 0,
            start_tick_ns: 0,
            leave_ns: 0,
            ipi_ns: 500,
            ipi_wake_ns: 0,
            mem_bytes_per_us: 8_000,
        }
    }
}
