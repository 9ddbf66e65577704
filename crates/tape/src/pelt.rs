// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's average of running time, PELT: its arithmetic (`signals.md` A1 to A4).

/// `floor((2^32 - 1) * y^i)`, y^32 = 1/2 (`signals.md` A1).
const INV: [u32; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];
/// The value that an always-running sum converges to (`signals.md` A1).
const MAX: u64 = 47_742;
const MIN_DIV: u64 = MAX - 1_024;

/// The utilisation part of one PELT average.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pelt {
    last_ns: u64,
    frac: u64,
    util_sum: u64,
    util_avg: u16,
}

impl Pelt {
    /// Ages the sum to `now_ns`; the time since the last call was spent running or not.
    pub(crate) fn update(&mut self, now_ns: u64, running: bool) {
        let Some(since) = now_ns.checked_sub(self.last_ns) else {
            self.last_ns = now_ns;
            return;
        };
        let units = since >> 10;
        if units == 0 {
            return;
        }
        self.last_ns += units << 10;
        let open = units + self.frac;
        let periods = open / 1024;
        let mut contribution = units;
        if periods > 0 {
            self.util_sum = decay(self.util_sum, periods);
            let closing = decay(1024 - self.frac, periods);
            contribution = closing + (MAX - decay(MAX, periods) - 1024) + open % 1024;
        }
        self.frac = open % 1024;
        if running {
            self.util_sum += contribution << 10;
        }
        if periods > 0 {
            self.util_avg = (self.util_sum / self.divider()).min(1024) as u16;
        }
    }

    /// Utilisation at the last update, 0..=1024.
    pub(crate) fn util(&self) -> u16 {
        self.util_avg
    }

    /// So long has it run that a clock that goes on would only take from it (`signals.md` A6).
    pub(crate) fn is_full(&self) -> bool {
        self.util_sum >= (MIN_DIV << 10) - MAX
    }

    /// Sets the average at its last update.
    pub(crate) fn set(&mut self, util: u16) {
        self.util_avg = util.min(1024);
        self.util_sum = u64::from(self.util_avg) * self.divider();
    }

    /// Becomes part of `queue`, with its average as it is (`signals.md` A8, attach).
    pub(crate) fn attach_to(&mut self, queue: &mut Self) {
        (self.last_ns, self.frac) = (queue.last_ns, queue.frac);
        self.set(self.util_avg);
        queue.util_avg = (queue.util_avg + self.util_avg).min(1024);
        queue.util_sum += self.util_sum;
    }

    /// Is no part of `queue` any more (`signals.md` A8).
    pub(crate) fn detach_from(&self, queue: &mut Self) {
        queue.util_avg = queue.util_avg.saturating_sub(self.util_avg);
        let left = queue.util_sum.saturating_sub(u64::from(self.util_avg) * queue.divider());
        queue.util_sum = left.max(u64::from(queue.util_avg) * MIN_DIV);
    }

    fn divider(&self) -> u64 {
        MIN_DIV + self.frac
    }
}

fn decay(value: u64, periods: u64) -> u64 {
    if periods > 32 * 63 {
        return 0;
    }
    let inv = INV.get((periods % 32) as usize).copied().unwrap_or(0);
    ((u128::from(value >> (periods / 32)) * u128::from(inv)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `signals.md` A15 (a): rise from zero, one update a millisecond.
    #[test]
    fn the_rise_is_the_kernels() {
        let mut pelt = Pelt::default();
        let golden = [(1, 0), (2, 41), (8, 156), (32, 495), (64, 751), (100, 894), (200, 1008), (400, 1024)];
        let mut got = Vec::new();
        for ms in 1..=400u64 {
            pelt.update(ms * 1_000_000, true);
            if golden.iter().any(|g| g.0 == ms) {
                got.push((ms, pelt.util()));
            }
        }
        assert_eq!(got, golden);
    }

    /// `signals.md` A15 (d): decay from full.
    #[test]
    fn the_decay_is_the_kernels() {
        let mut pelt = Pelt { util_sum: 1024 * 46_718, util_avg: 1024, ..Pelt::default() };
        let golden = [(2, 982), (10, 832), (33, 517), (67, 256), (100, 129), (213, 12), (336, 0)];
        let mut got = Vec::new();
        for ms in 1..=336u64 {
            pelt.update(ms * 1_000_000, false);
            if golden.iter().any(|g| g.0 == ms) {
                got.push((ms, pelt.util()));
            }
        }
        assert_eq!(got, golden);
    }
}
