// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{CpuMask, Ipi};

use super::vectors::cpu_mask;

/// Where a format keeps the fields of one event.
pub(crate) trait Layout {
    /// A place of a field in an event of this format.
    type Field: Copy + std::fmt::Debug;

    /// The place of a number; `None` where the event has no such field.
    fn number(&mut self, name: &str) -> Option<Self::Field>;

    /// The place of a text; `None` where the event has no such field, or has it as something else.
    fn text(&mut self, name: &str) -> Option<Self::Field>;
}

/// The values of one event.
pub(crate) trait Values<F> {
    /// A number without sign.
    fn u64(&self, field: F) -> u64;

    /// A number, with sign if the format says so.
    fn i64(&self, field: F) -> i64;

    /// A text without the zero byte behind it.
    fn text(&self, field: F) -> &[u8];

    /// The id of a function: its address, or a number that stands for its name.
    #[inline(always)]
    fn function(&self, field: F) -> u64 {
        self.u64(field)
    }

    /// The inter-processor interrupt that a reason names by its address in the kernel.
    fn ipi_at(&self, _field: F) -> Ipi {
        Ipi::Other
    }

    /// The CPUs of a mask, where formats keep it as the kernel prints it.
    fn cpus(&self, field: F) -> CpuMask {
        cpu_mask(self.text(field))
    }

    #[inline(always)]
    fn u32(&self, field: F) -> u32 {
        self.u64(field) as u32
    }

    #[inline(always)]
    fn i32(&self, field: F) -> i32 {
        self.i64(field) as i32
    }

    #[inline(always)]
    fn bool(&self, field: F) -> bool {
        self.u64(field) != 0
    }
}
