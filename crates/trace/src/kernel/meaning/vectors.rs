// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{CpuMask, HIGHEST_CPU, Ipi, Vector};

/// The vector that x86 calls so.
pub(super) fn vector(name: &str) -> Vector {
    match name {
        "local_timer" => Vector::LocalTimer,
        "reschedule" => Vector::Reschedule,
        "call_function" => Vector::CallFunction,
        "call_function_single" => Vector::CallFunctionSingle,
        "irq_work" => Vector::IrqWork,
        _ => Vector::Other,
    }
}

/// The CPUs of a mask in print, up to the first blank: groups of eight hexadecimal digits, the highest CPUs first, as ftrace
/// prints it, or a list, as some readers of trace files do. What is neither names no CPU.
pub(super) fn cpu_mask(text: &[u8]) -> CpuMask {
    let word = text.split(|b| *b == b' ').next().unwrap_or_default();
    let groups = || word.split(|b| *b == b',');
    let hex = |group: &[u8]| std::str::from_utf8(group).ok().and_then(|g| u32::from_str_radix(g, 16).ok());
    let number = |part: &str| part.parse::<u32>().ok().map(|cpu| cpu.min(HIGHEST_CPU));
    let mut mask = CpuMask::default();
    if groups().all(|group| group.len() == 8) {
        for (first, bits) in (0..=HIGHEST_CPU).step_by(32).zip(groups().rev().map(hex)) {
            (0..32)
                .filter(|bit| bits.is_some_and(|bits| bits >> bit & 1 != 0))
                .for_each(|bit| mask.insert(first + bit));
        }
        return mask;
    }
    for range in groups().filter_map(|group| std::str::from_utf8(group).ok()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Some(first), Some(last)) = (number(first), number(last)) {
            (first..=last.min(first.max(CpuMask::KEPT))).for_each(|cpu| mask.insert(cpu));
        }
    }
    mask
}

/// The inter-processor interrupt of that name, or of the name that is in brackets behind something else.
pub(crate) fn ipi(reason: &str) -> Ipi {
    let name = reason.split_once('(').map_or(reason, |(_, name)| name.trim_end().trim_end_matches(')'));
    match name {
        "Rescheduling interrupts" => Ipi::Reschedule,
        "Function call interrupts" | "Single function call interrupts" => Ipi::CallFunction,
        "Timer broadcast interrupts" => Ipi::TimerBroadcast,
        "IRQ work interrupts" => Ipi::IrqWork,
        _ => Ipi::Other,
    }
}

/// The vectors that x86 traces, by their events in `irq_vectors`.
pub(super) const X86_VECTORS: [&str; 11] = [
    "call_function",
    "call_function_single",
    "deferred_error_apic",
    "error_apic",
    "irq_work",
    "local_timer",
    "reschedule",
    "spurious_apic",
    "thermal_apic",
    "threshold_apic",
    "x86_platform_ipi",
];
