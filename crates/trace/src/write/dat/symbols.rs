// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeSet;

/// The kernel's symbols that pages refer to. All of them are 5 MB; a recording needs some hundred names.
#[derive(Clone, Debug)]
pub struct UsedSymbols<'a> {
    kallsyms: &'a str,
    /// Where functions begin, ascending.
    functions: Vec<u64>,
    /// Places in `functions`.
    used: BTreeSet<usize>,
}

impl<'a> UsedSymbols<'a> {
    /// `kallsyms` is the text of `/proc/kallsyms`.
    #[must_use]
    pub fn new(kallsyms: &'a str) -> Self {
        let function =
            |(address, kind): (u64, &str)| matches!(kind, "t" | "T" | "w" | "W").then_some(address);
        // A kernel that hides its addresses shows 0.
        let mut functions: Vec<u64> =
            kallsyms.lines().filter_map(|l| function(symbol(l)?)).filter(|a| *a != 0).collect();
        functions.sort_unstable();
        functions.dedup();
        Self { kallsyms, functions, used: BTreeSet::new() }
    }

    /// The kernel hides the addresses of its symbols.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Takes note of everything in `pages` that may be an address within a function. Events lie on four bytes; nothing else is
    /// known of them here, so that events that nobody understands have their names, too.
    pub fn look(&mut self, pages: &[u8]) {
        let (Some(&first), Some(&last)) = (self.functions.first(), self.functions.last()) else { return };
        let (words, _) = pages.as_chunks::<4>();
        // The last function's end is not known: as much again as functions are long.
        let range = first..=last.saturating_add(1 << 16);
        for pair in words.windows(2) {
            let &[a, b] = pair else { continue };
            let (a, b) = (u64::from(u32::from_ne_bytes(a)), u64::from(u32::from_ne_bytes(b)));
            let address = if cfg!(target_endian = "big") { a << 32 | b } else { b << 32 | a };
            if range.contains(&address) {
                let after = self.functions.partition_point(|f| *f <= address);
                // The next one tells where this one ends.
                self.used.extend([after.saturating_sub(1), after]);
            }
        }
    }

    /// The lines of the symbols that were referred to, in the order of kallsyms.
    #[must_use]
    pub fn text(&self) -> String {
        let used: BTreeSet<u64> = self.used.iter().filter_map(|i| self.functions.get(*i).copied()).collect();
        let is_used = |l: &&str| symbol(l).is_some_and(|(address, _)| used.contains(&address));
        self.kallsyms.split_inclusive('\n').filter(is_used).collect()
    }
}

/// Address and kind of a line of kallsyms.
fn symbol(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    Some((address, words.next()?))
}
