// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{CpuMask, HIGHEST_CPU, Ipi, Vector};

/// The vectors that count, by their events in `irq_vectors`: into the handler, and out.
const VECTORS: [(Vector, [&str; 2]); 5] = [
    (Vector::LocalTimer, ["local_timer_entry", "local_timer_exit"]),
    (Vector::Reschedule, ["reschedule_entry", "reschedule_exit"]),
    (Vector::CallFunction, ["call_function_entry", "call_function_exit"]),
    (Vector::CallFunctionSingle, ["call_function_single_entry", "call_function_single_exit"]),
    (Vector::IrqWork, ["irq_work_entry", "irq_work_exit"]),
];
/// What an event of any other is called.
const OTHERS: [&str; 2] = ["other_entry", "other_exit"];

/// The vector that x86 calls so.
pub(super) fn vector(name: &str) -> Vector {
    let called = |events: &[&str; 2]| events.iter().any(|event| named(event) == Some(name));
    VECTORS.iter().find(|(_, events)| called(events)).map_or(Vector::Other, |(vector, _)| *vector)
}

/// The event of `vector` with this end.
pub(crate) fn event_of(vector: Vector, end: &str) -> Option<&'static str> {
    let events = VECTORS.iter().find(|(v, _)| *v == vector).map_or(OTHERS, |(_, events)| *events);
    events.into_iter().find(|event| event.ends_with(end))
}

/// The vector's name in that of an event.
fn named(event: &str) -> Option<&str> {
    event.strip_suffix("_entry").or_else(|| event.strip_suffix("_exit"))
}

/// Whether an event of this name is one of x86's vectors, for formats that do not name the system.
pub(super) fn is_x86_vector(event: &str) -> bool {
    let counts = VECTORS.iter().any(|(_, events)| events.contains(&event));
    counts || named(event).is_some_and(|name| OTHER_VECTORS.contains(&name))
}

/// The CPUs of a mask in print, up to the first blank: groups of eight hexadecimal digits, the highest CPUs first, as ftrace
/// prints it, or a list, as some readers of trace files do. What is neither names no CPU.
pub(super) fn cpu_mask(text: &[u8]) -> CpuMask {
    let word = text.split(|b| *b == b' ').next().unwrap_or_default();
    let groups = || word.split(|b| *b == b',');
    let hex = |group: &[u8]| std::str::from_utf8(group).ok().and_then(|g| u32::from_str_radix(g, 16).ok());
    let mut mask = CpuMask::default();
    if groups().all(|group| group.len() == 8) {
        for (first, bits) in (0..=HIGHEST_CPU).step_by(32).zip(groups().rev().map(hex)) {
            (0..32)
                .filter(|bit| bits.is_some_and(|bits| bits >> bit & 1 != 0))
                .for_each(|bit| mask.insert(first + bit));
        }
        return mask;
    }
    // Not `cpu_ranges`: bytes of a file may name CPUs that no machine has, which count as CPUs beyond those that are kept.
    let number = |part: &str| part.parse::<u32>().ok().map(|cpu| cpu.min(HIGHEST_CPU));
    for range in groups().filter_map(|group| std::str::from_utf8(group).ok()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Some(first), Some(last)) = (number(first), number(last)) {
            (first..=last.min(first.max(CpuMask::KEPT))).for_each(|cpu| mask.insert(cpu));
        }
    }
    mask
}

/// Why a CPU interrupts another, as the kernel words it; the first of equal ones is written.
const REASONS: [(Ipi, &str); 5] = [
    (Ipi::Reschedule, "Rescheduling interrupts"),
    (Ipi::CallFunction, "Function call interrupts"),
    (Ipi::CallFunction, "Single function call interrupts"),
    (Ipi::TimerBroadcast, "Timer broadcast interrupts"),
    (Ipi::IrqWork, "IRQ work interrupts"),
];

/// The inter-processor interrupt of that name, or of the name that is in brackets behind something else.
pub(crate) fn ipi(reason: &str) -> Ipi {
    let name = reason.split_once('(').map_or(reason, |(_, name)| name.trim_end().trim_end_matches(')'));
    REASONS.iter().find(|(_, words)| *words == name).map_or(Ipi::Other, |(ipi, _)| *ipi)
}

/// The kernel's words for `ipi`.
pub(crate) fn reason(ipi: Ipi) -> &'static str {
    REASONS.iter().find(|(known, _)| *known == ipi).map_or("other", |(_, words)| words)
}

/// The vectors that x86 traces, too.
const OTHER_VECTORS: [&str; 6] = [
    "deferred_error_apic",
    "error_apic",
    "spurious_apic",
    "thermal_apic",
    "threshold_apic",
    "x86_platform_ipi",
];
