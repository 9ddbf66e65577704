// SPDX-License-Identifier: GPL-2.0-only

/// What the recording of a guest of `hypervisor` ("KVM"; empty where its name is not known) cannot show, and where it can be seen.
#[must_use]
pub fn unseen_in_guest(hypervisor: &str) -> String {
    let of = if hypervisor.is_empty() { String::new() } else { format!(" of {hypervisor}") };
    let how = match hypervisor {
        "KVM" | "" => {
            "; on the host: `perf kvm stat record`, `trace-cmd record -e kvm:kvm_halt_poll_ns -e kvm:kvm_exit`"
        }
        _ => "",
    };
    format!(
        "recorded in a guest{of}, which does not see its host's part: halt polling, idle states, the cost of exits, time given to \
         others (steal){how}"
    )
}
