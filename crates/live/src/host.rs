// SPDX-License-Identifier: GPL-2.0-only
use std::path::{Path, PathBuf};

/// Where a machine shows itself and takes orders: the running one, or a tree of files that looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `/sys`.
    pub sys: PathBuf,
    /// `/proc`.
    pub proc: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
    /// `/run/idlewise`: notes of what was changed, until it is restored. On a file system that a reboot empties, as a
    /// reboot restores everything else.
    pub run: PathBuf,
}

impl Host {
    /// The usual folders below `root`: `/` for the machine itself, any other for a tree that looks like one.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self {
            sys: root.join("sys"),
            proc: root.join("proc"),
            dev: root.join("dev"),
            run: root.join("run/idlewise"),
        }
    }

    /// The hypervisor whose guest this machine is, "" where its name is not known; nothing on a machine of its own.
    #[must_use]
    pub fn hypervisor(&self) -> Option<&'static str> {
        let read = |path: PathBuf| idlewise_files::read_to_string(&path).unwrap_or_default();
        let dmi = |file: &str| read(self.sys.join("class/dmi/id").join(file));
        let xen = read(self.sys.join("hypervisor/type"));
        let clocks = read(self.sys.join("devices/system/clocksource/clocksource0/available_clocksource"));
        let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
        let known = [
            ("Xen", xen.trim() == "xen"),
            ("KVM", clocks.contains("kvm-clock")),
            ("Hyper-V", clocks.contains("hyperv")),
            ("VMware", vendor.starts_with("VMware")),
            ("KVM", product.contains("KVM")),
            // With KVM x86 has its clock; without, QEMU emulates the CPUs.
            ("QEMU", vendor.starts_with("QEMU") && clocks.contains("tsc")),
            ("KVM", vendor.starts_with("QEMU")),
        ];
        let known = known.iter().find(|(_, is)| *is).map(|(name, _)| *name);
        // x86 has a flag for it, a device tree a node.
        let flags = read(self.proc.join("cpuinfo"));
        let flagged =
            flags.lines().any(|l| l.starts_with("flags") && l.split_whitespace().any(|f| f == "hypervisor"));
        let node = self.proc.join("device-tree/hypervisor").is_dir();
        known.or_else(|| (flagged || node).then_some(""))
    }

    /// The tracing file system.
    #[must_use]
    pub fn tracefs(&self) -> PathBuf {
        self.sys.join("kernel/tracing")
    }
}
