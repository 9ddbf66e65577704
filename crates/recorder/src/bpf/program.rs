// SPDX-License-Identifier: GPL-2.0-only
//! The recorder's programs, written for the kernel at hand.
//!
//! Registers throughout: 6 the argument, then the chosen state; 7 what the CPU keeps; 8 the record; 9 the CPU's own variables.

use super::asm::{Assembler, Code, FRAME, Label, Reg, Width};
use super::layout::{Layout, LimitPath, Window, head, kept};

// Numbers of helpers, from the header `linux/bpf.h`.
const LOOKUP: i32 = 1;
const TIME: i32 = 5;
const THIS_CPU: i32 = 8;
const PID_AND_GROUP: i32 = 14;
const TASK: i32 = 35;
const READ_KERNEL: i32 = 113;
const RESERVE: i32 = 131;
const SUBMIT: i32 = 132;

/// The name of a helper that the programs call.
pub(super) fn helper(number: i32) -> Option<&'static str> {
    Some(match number {
        LOOKUP => "bpf_map_lookup_elem",
        TIME => "bpf_ktime_get_ns",
        THIS_CPU => "bpf_get_smp_processor_id",
        PID_AND_GROUP => "bpf_get_current_pid_tgid",
        TASK => "bpf_get_current_task",
        READ_KERNEL => "bpf_probe_read_kernel",
        RESERVE => "bpf_ringbuf_reserve",
        SUBMIT => "bpf_ringbuf_submit",
        _ => return None,
    })
}

/// `BPF_RB_NO_WAKEUP`: who reads comes by himself.
const NO_WAKEUP: i32 = 1;
/// `PM_QOS_RESUME_LATENCY_NO_CONSTRAINT`.
pub(super) const NO_OWN_LIMIT: i32 = i32::MAX;
/// `cpu_idle`'s state when it is left.
const EXIT: i32 = -1;

/// What a program keeps on its stack.
mod stack {
    pub(super) const KEY: i16 = -4;
    pub(super) const CPU: i16 = -8;
    pub(super) const TIME: i16 = -16;
    pub(super) const POINTER: i16 = -24;
}

/// The maps that programs share, by the numbers of their files.
#[derive(Clone, Copy)]
pub(super) struct Maps {
    /// One value of [`kept`] for each CPU.
    pub(super) kept: i32,
    /// A ring for each CPU.
    pub(super) rings: i32,
}

/// Begins a program: register 6 is its argument, 7 what the CPU keeps.
fn begin(a: &mut Assembler, maps: Maps, out: Label) {
    a.note("r7 = what this CPU keeps");
    a.copy(6, 1).store_imm(Width::Word, FRAME, stack::KEY, 0);
    a.copy(2, FRAME).add(2, stack::KEY.into()).map(1, maps.kept).call(LOOKUP);
    a.go_if_is(0, 0, out).copy(7, 0);
}

/// Reads `len` bytes at register `from` + `offset` to where register 1 points.
fn read(a: &mut Assembler, from: Reg, offset: u32, len: u32) {
    a.copy(3, from).add(3, offset as i32).set(2, len as i32).call(READ_KERNEL);
}

/// Reads the pointer at register `from` + `offset` to the stack, and into register `to`; goes to `none` where it is null.
fn follow(a: &mut Assembler, to: Reg, from: Reg, offset: u32, none: Label) {
    a.copy(1, FRAME).add(1, stack::POINTER.into());
    read(a, from, offset, 8);
    a.load(Width::Double, to, FRAME, stack::POINTER).go_if_is(to, 0, none);
}

/// At `hrtimer_start`: notes where the CPU's own variables are.
pub(super) fn find_base(layout: &Layout, maps: Maps) -> Option<Code> {
    let mut a = Assembler::default();
    let out = a.label();
    begin(&mut a, maps, out);
    a.note("the base is known: nothing to do");
    a.load(Width::Double, 1, 7, kept::BASE).go_if_not(1, 0, out);
    a.note("r8 = hrtimer.base->cpu_base, in the CPU's own variables");
    a.load(Width::Double, 8, 6, 0);
    follow(&mut a, 8, 8, layout.timer.base, out);
    follow(&mut a, 8, 8, layout.timer.cpu_base, out);
    a.copy(1, FRAME).add(1, stack::CPU.into());
    read(&mut a, 8, layout.timer.cpu, 4);
    a.note("a timer may be put on another CPU");
    a.call(THIS_CPU).load(Width::Word, 1, FRAME, stack::CPU).go_if_halves_differ(0, 1, out);
    a.note("r9 = where the CPU's own variables begin");
    a.copy(9, 8).add(9, -(layout.bases as i32));
    if let Some(path) = &layout.own_limit {
        a.note("keep the CPU's struct device");
        follow(&mut a, 8, 9, path.devices, out);
        a.store(Width::Double, 7, kept::DEVICE, 8);
    }
    a.store(Width::Double, 7, kept::BASE, 9);
    a.here(out).leave();
    a.finish()
}

/// Run once by a process that has `/dev/cpu_dma_latency` open as `file`: puts the address of the limit that it stands for, and
/// the limit, into the map `found`.
pub(super) fn find_limit(path: &LimitPath, found: i32, file: u32) -> Option<Code> {
    let mut a = Assembler::default();
    let out = a.label();
    a.note("r7 = the map's value");
    a.store_imm(Width::Word, FRAME, stack::KEY, 0);
    a.copy(2, FRAME).add(2, stack::KEY.into()).map(1, found).call(LOOKUP);
    a.go_if_is(0, 0, out).copy(7, 0);
    a.note("r8 = current->files->fdt->fd[file]->private_data->qos");
    a.call(TASK).copy(8, 0);
    for offset in [path.files, path.table, path.array, file.checked_mul(8)?, path.private, path.qos] {
        follow(&mut a, 8, 8, offset, out);
    }
    a.note("the address of target_value, and its value");
    a.add(8, path.target as i32).store(Width::Double, 7, 0, 8);
    a.copy(1, 7).add(1, 8);
    read(&mut a, 8, 0, 4);
    a.here(out).leave();
    a.finish()
}

/// At `cpu_idle`: a record when a state is about to be entered, the time when it was left.
pub(super) fn idle(layout: &Layout, maps: Maps, limit: Option<u64>) -> Option<Code> {
    let mut a = Assembler::default();
    let (out, left) = (a.label(), a.label());
    begin(&mut a, maps, out);
    a.note("r9 = the CPU's own variables");
    a.load(Width::Double, 9, 7, kept::BASE).go_if_is(9, 0, out);
    a.note("r6 = the state; -1 when it is left");
    a.load(Width::Double, 6, 6, 0).go_if_half_is(6, EXIT, left);
    record(&mut a, layout, maps, limit, head::ENTERED, out);
    a.go(out);
    a.here(left).note("left: keep the time");
    a.call(TIME).store(Width::Double, 7, kept::EXIT, 0);
    a.here(out).leave();
    a.finish()
}

/// When the scheduler runs: the idle task gives way. A record if it had chosen a state and did not enter it.
pub(super) fn schedule(layout: &Layout, maps: Maps, limit: Option<u64>) -> Option<Code> {
    let mut a = Assembler::default();
    let out = a.label();
    a.note("the idle task only");
    a.copy(6, 1).call(PID_AND_GROUP).go_if_not(0, 0, out).copy(1, 6);
    begin(&mut a, maps, out);
    a.note("r9 = the CPU's own variables");
    a.load(Width::Double, 9, 7, kept::BASE).go_if_is(9, 0, out);
    a.note("one idle visit more");
    a.load(Width::Double, 1, 7, kept::VISITS).add(1, 1).store(Width::Double, 7, kept::VISITS, 1);
    a.note("cpuidle_devices->last_residency_ns; not 0: the state was entered");
    follow(&mut a, 8, 9, layout.devices, out);
    a.copy(1, FRAME).add(1, stack::POINTER.into());
    read(&mut a, 8, layout.device.residency_offset, 8);
    a.load(Width::Double, 1, FRAME, stack::POINTER).go_if_not(1, 0, out);
    a.set(6, 0);
    record(&mut a, layout, maps, limit, head::LEFT_IDLE, out);
    a.here(out).leave();
    a.finish()
}

/// Writes a record with the state in register 6.
fn record(a: &mut Assembler, layout: &Layout, maps: Maps, limit: Option<u64>, kind: u32, out: Label) {
    let (dropped, done) = (a.label(), a.label());
    a.note("the time first: what follows takes its own");
    a.call(TIME).store(Width::Double, FRAME, stack::TIME, 0);
    a.note("r8 = room for a record in this CPU's ring");
    a.call(THIS_CPU).store(Width::Word, FRAME, stack::CPU, 0);
    a.copy(2, FRAME).add(2, stack::CPU.into()).map(1, maps.rings).call(LOOKUP);
    a.go_if_is(0, 0, out);
    a.copy(1, 0).set(2, layout.record as i32).set(3, 0).call(RESERVE);
    a.go_if_is(0, 0, dropped).copy(8, 0);

    a.note("the record's head: time, kind, state, exit, visits, CPU, drops");
    a.load(Width::Double, 1, FRAME, stack::TIME).store(Width::Double, 8, head::TIME, 1);
    a.store_imm(Width::Word, 8, head::KIND, kind as i32).store(Width::Word, 8, head::STATE, 6);
    a.load(Width::Double, 1, 7, kept::EXIT).store(Width::Double, 8, head::EXIT, 1);
    a.load(Width::Double, 1, 7, kept::VISITS).store(Width::Word, 8, head::VISITS, 1);
    a.load(Width::Word, 1, FRAME, stack::CPU).store(Width::Word, 8, head::CPU, 1);
    a.load(Width::Double, 1, 7, kept::DROPS).store(Width::Double, 8, head::DROPS, 1);
    a.note("exit and visits start anew");
    a.store_imm(Width::Double, 7, kept::EXIT, 0).store_imm(Width::Double, 7, kept::VISITS, 0);

    a.note("tasks that wait for I/O, runqueues.nr_iowait; -1: not known");
    a.store_imm(Width::Double, 8, head::IOWAIT, -1);
    if let Some(offset) = layout.iowait {
        a.copy(1, 8).add(1, head::IOWAIT.into());
        read(a, 9, offset, 4);
    }
    limits(a, layout, limit);
    copy(a, "tick_cpu_sched", 9, layout.tick_variable, layout.tick.window);
    if let Some(window) = layout.memory.window() {
        copy(a, "the governor's per-CPU variable", 9, layout.memory.variable(), window);
    }
    // The driver has its devices where it likes; without one the record has zeros there.
    a.note("r6 = cpuidle_devices");
    a.copy(1, FRAME).add(1, stack::POINTER.into());
    read(a, 9, layout.devices, 8);
    a.load(Width::Double, 6, FRAME, stack::POINTER);
    copy(a, "struct cpuidle_device", 6, 0, layout.device.window);

    a.note("submit; wakes nobody");
    a.copy(1, 8).set(2, NO_WAKEUP).call(SUBMIT).go(done);
    a.here(dropped).note("no room: one drop more");
    a.load(Width::Double, 1, 7, kept::DROPS).add(1, 1).store(Width::Double, 7, kept::DROPS, 1);
    a.here(done);
}

/// Copies `window` of the struct `what` at register `base` + `offset` into the record.
fn copy(a: &mut Assembler, what: &str, base: Reg, offset: u32, window: Window) {
    let Window { from, len, at } = window;
    a.note(format!("record[{at}..{}] = {what}[{from}..{}]", at + len, from + len));
    a.copy(1, 8).add(1, at as i32);
    read(a, base, offset + from, len);
}

/// Puts both latency limits into the record.
fn limits(a: &mut Assembler, layout: &Layout, limit: Option<u64>) {
    a.note("the global latency limit; -1: not known");
    a.store_imm(Width::Word, 8, head::LIMIT, -1).store_imm(Width::Word, 8, head::OWN_LIMIT, NO_OWN_LIMIT);
    if let Some(address) = limit {
        a.copy(1, 8).add(1, head::LIMIT.into()).set(2, 4).set_wide(3, address).call(READ_KERNEL);
    }
    let Some(path) = &layout.own_limit else { return };
    let (none, there) = (a.label(), a.label());
    a.note("the CPU's own latency limit: device.power.qos->resume_latency.target_value");
    a.store(Width::Double, FRAME, stack::TIME, 6)
        .load(Width::Double, 6, 7, kept::DEVICE)
        .go_if_is(6, 0, none);
    follow(a, 6, 6, path.qos, none);
    a.copy(1, 8).add(1, head::OWN_LIMIT.into());
    read(a, 6, path.target, 4);
    // What cannot be read, an error in a pointer's place, is no limit.
    a.go_if_is(0, 0, there);
    a.here(none).store_imm(Width::Word, 8, head::OWN_LIMIT, NO_OWN_LIMIT);
    a.here(there).load(Width::Double, 6, FRAME, stack::TIME);
}
