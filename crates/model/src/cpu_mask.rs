// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;

/// The CPUs that one event names at once. It keeps those below [`CpuMask::KEPT`], so that an event stays small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct CpuMask {
    words: [u64; CpuMask::KEPT as usize / 64],
    beyond: bool,
}

impl CpuMask {
    /// The number of CPUs that a mask tells apart.
    pub const KEPT: u32 = 256;

    /// Adds `cpu`; of CPUs from [`CpuMask::KEPT`] on it is only kept that there are such.
    #[inline]
    pub fn insert(&mut self, cpu: u32) {
        match self.words.get_mut((cpu / 64) as usize) {
            Some(word) => *word |= 1 << (cpu % 64),
            None => self.beyond = true,
        }
    }

    /// Whether it names CPUs that it does not keep.
    #[must_use]
    pub fn beyond(&self) -> bool {
        self.beyond
    }

    /// The CPUs that it keeps, in their order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        let words = self.words;
        (0..Self::KEPT)
            .filter(move |cpu| words.get((cpu / 64) as usize).is_some_and(|w| w >> (cpu % 64) & 1 != 0))
    }
}

impl FromIterator<u32> for CpuMask {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut mask = Self::default();
        cpus.into_iter().for_each(|cpu| mask.insert(cpu));
        mask
    }
}

/// As the kernel prints it for 256 CPUs at most: groups of eight hexadecimal digits, the highest CPUs first.
impl fmt::Display for CpuMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.words.iter().rposition(|w| *w != 0).unwrap_or(0);
        for (i, word) in self.words.iter().enumerate().take(used + 1).rev() {
            let comma = if i == used { "" } else { "," };
            write!(f, "{comma}{:08x},{:08x}", word >> 32, word & 0xffff_ffff)?;
        }
        Ok(())
    }
}
