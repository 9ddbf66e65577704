// SPDX-License-Identifier: GPL-2.0-only
//! Damages files, the same way on every run.

/// SplitMix64: the same damage on every run.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Numbers that break careless arithmetic.
pub const NASTY: [u64; 14] = [
    0,
    1,
    3,
    4,
    0x7f,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX,
];

/// `base` with a few changes of any kind, some of them pieces of `other`.
pub fn damage(base: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = base.to_vec();
    for _ in 0..=chance.below(4) {
        let at = chance.below(bytes.len());
        match chance.below(8) {
            0 => bytes[at..].iter_mut().take(1).for_each(|b| *b ^= 1 << chance.below(8)),
            1 => bytes[at..].iter_mut().take(1).for_each(|b| *b = chance.next() as u8),
            2 => bytes.truncate(at.max(20)),
            3 | 4 => {
                let value =
                    if chance.below(3) == 0 { chance.next() } else { NASTY[chance.below(NASTY.len())] };
                let width = [2, 4, 8][chance.below(3)];
                for (to, from) in bytes[at..].iter_mut().zip(&value.to_le_bytes()[..width]) {
                    *to = *from;
                }
            }
            5 => {
                let from = chance.below(other.len());
                let n = chance.below(200).min(other.len() - from).min(bytes.len() - at);
                bytes[at..at + n].copy_from_slice(&other[from..from + n]);
            }
            6 => {
                let (from, n) = (chance.below(bytes.len()), chance.below(64));
                let piece: Vec<u8> = bytes[from..].iter().take(n).copied().collect();
                bytes.splice(at..at, piece);
            }
            _ => {
                let n = chance.below(64).min(bytes.len() - at);
                if bytes.len() - n > 20 {
                    bytes.drain(at..at + n);
                }
            }
        }
    }
    bytes
}

/// The most memory that this process ever asked for, MiB, where the system tells.
pub fn most_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmPeak:"));
    line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) >> 10
}

/// How many inputs to try; `usual` if nobody says (`IDLEWISE_FUZZ_INPUTS`).
pub fn inputs(usual: u64) -> u64 {
    std::env::var("IDLEWISE_FUZZ_INPUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Has `read` damage and read `inputs` traces; it gives the number of events that were left in one. At least one trace in
/// `some` must have any.
pub fn survives(inputs: u64, seed: u64, some: u64, read: impl Fn(&mut Chance) -> u64) {
    let mut chance = Chance(seed);
    let (mut events, mut opened) = (0, 0u64);
    let before = most_memory_mib();
    for _ in 0..inputs {
        let n = read(&mut chance);
        events += n;
        opened += u64::from(n > 0);
    }
    let more = most_memory_mib().saturating_sub(before);
    println!(
        "{inputs} inputs, {opened} gave events ({events} in all), {more} MiB more asked for than at the start"
    );
    assert!(opened > inputs / some, "most damage must leave something to read");
    // The C library reserves 64 MiB for each thread; a believed length of 32 bits would be gigabytes.
    assert!(more < 512, "{more} MiB were asked for");
}
