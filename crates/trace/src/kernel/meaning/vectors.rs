// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Ipi, Vector};

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

/// The inter-processor interrupt of that name.
pub(crate) fn ipi(reason: &str) -> Ipi {
    match reason {
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
