// SPDX-License-Identifier: GPL-2.0-only
use std::fmt;
use std::sync::OnceLock;

/// The kernel's symbols as the file holds them; sorted when first asked for.
#[derive(Default)]
pub(crate) struct Symbols {
    text: String,
    index: OnceLock<Vec<Symbol>>,
}

struct Symbol {
    address: u64,
    /// Two symbols may share an address; the asker wants the function.
    data: bool,
    /// The symbol's line in the text.
    line: (usize, usize),
}

impl Symbols {
    pub(crate) fn new(kallsyms: Vec<u8>) -> Self {
        let text = String::from_utf8(kallsyms)
            .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned());
        Self { text, index: OnceLock::new() }
    }

    /// Whether the file has no symbols at all, or none with an address: the kernel may hide them.
    pub(crate) fn is_empty(&self) -> bool {
        let hidden = |line: &str| line.bytes().take_while(|b| !b.is_ascii_whitespace()).all(|b| b == b'0');
        self.text.lines().all(hidden)
    }

    /// The symbol that starts at `address`.
    pub(crate) fn at(&self, address: u64) -> Option<&str> {
        let index = self.index();
        let i = index.binary_search_by_key(&address, |s| s.address).ok()?;
        index.get(i).and_then(|s| self.name(s))
    }

    fn name(&self, symbol: &Symbol) -> Option<&str> {
        self.text.get(symbol.line.0..symbol.line.1)?.split_ascii_whitespace().nth(2)
    }

    fn index(&self) -> &[Symbol] {
        self.index.get_or_init(|| {
            let mut start = 0;
            let mut all = Vec::new();
            for line in self.text.split_inclusive('\n') {
                let line_at = (start, start + line.len());
                start = line_at.1;
                let mut words = line.split_ascii_whitespace();
                let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
                else {
                    continue;
                };
                let Ok(address) = u64::from_str_radix(address, 16) else { continue };
                // Names with `$` are marks of the assembler, `a` symbols are numbers; a kernel that hides its addresses shows 0.
                if address == 0 || name.starts_with('$') || matches!(kind, "A" | "a") {
                    continue;
                }
                let data = !matches!(kind, "t" | "T" | "w" | "W");
                all.push(Symbol { address, data, line: line_at });
            }
            all.sort_by_key(|s| (s.address, s.data));
            all.dedup_by_key(|s| s.address);
            all
        })
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Symbols({} bytes)", self.text.len())
    }
}
