// SPDX-License-Identifier: GPL-2.0-only
//! What an Intel processor names as holding its clock: MSR_CORE_PERF_LIMIT_REASONS, where /dev/cpu/N/msr may be read.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::Host;
use crate::files::{names, number};

/// Bits of the register that are set while a reason holds, with the reason's name.
type Bits = [(u32, &'static str); 4];

/// Core and Xeon processors.
const CORE: Bits = [(0, "PROCHOT"), (1, "thermal"), (10, "PL1"), (11, "PL2")];
/// Atom processors since Goldmont.
const ATOM: Bits = [(0, "PROCHOT"), (1, "thermal"), (2, "PL1"), (3, "PL2")];

/// Where the register is, by model of family 6 (Intel SDM, volume 4, tables of model-specific registers). Its bits differ between
/// models, so that other models are not read.
const MODELS: [(u64, Bits, &[u64]); 3] = [
    // Haswell, Broadwell.
    (0x690, CORE, &[0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56]),
    // Skylake to Comet Lake, Ice Lake, Tiger Lake, Alder and Raptor Lake.
    (
        0x64f,
        CORE,
        &[
            0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x6a, 0x6c, 0x7d, 0x7e, 0x8c, 0x8d, 0x97, 0x9a, 0xb7,
            0xba, 0xbf,
        ],
    ),
    // Goldmont, Goldmont Plus, Tremont.
    (0x64f, ATOM, &[0x5c, 0x5f, 0x7a, 0x86, 0x96, 0x9c]),
];

/// The register of a package.
#[derive(Debug)]
pub(super) struct Register {
    file: File,
    address: u64,
    bits: Bits,
}

/// One register for each package; none where it is not known of the processor, or may not be read.
pub(super) fn registers(host: &Host) -> Vec<Register> {
    let Some((address, bits)) = known(host) else { return Vec::new() };
    let mut packages = BTreeSet::new();
    let cpus = host.sys.join("devices/system/cpu");
    let mut out = Vec::new();
    for cpu in names(&cpus).iter().filter_map(|n| n.strip_prefix("cpu")?.parse::<u32>().ok()) {
        let package = number(&cpus.join(format!("cpu{cpu}/topology/physical_package_id")));
        if packages.contains(&package) {
            continue;
        }
        let Ok(file) = opened(&host.dev.join(format!("cpu/{cpu}/msr"))) else { continue };
        let register = Register { file, address, bits };
        if register.value().is_some() {
            packages.insert(package);
            out.push(register);
        }
    }
    out
}

/// A device on a machine; what stands in a copied tree is not waited for.
fn opened(path: &Path) -> io::Result<File> {
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(at_once).open(path)
}

fn known(host: &Host) -> Option<(u64, Bits)> {
    let text = idlewise_files::read_to_string(&host.proc.join("cpuinfo")).ok()?;
    let field = |name: &str| {
        let mut lines = text.lines().filter_map(|l| l.split_once(':'));
        lines.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
    };
    let intel = field("vendor_id")? == "GenuineIntel" && field("cpu family")? == "6";
    let model: u64 = field("model")?.parse().ok().filter(|_| intel)?;
    let (address, bits, _) = MODELS.iter().find(|(.., models)| models.contains(&model))?;
    Some((*address, *bits))
}

impl Register {
    fn value(&self) -> Option<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, self.address).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// The reasons that hold now; nothing where it cannot be read any more.
    pub(super) fn reasons(&self) -> Option<impl Iterator<Item = &'static str>> {
        let value = self.value()?;
        Some(self.bits.into_iter().filter(move |(bit, _)| value >> bit & 1 == 1).map(|(_, name)| name))
    }
}
