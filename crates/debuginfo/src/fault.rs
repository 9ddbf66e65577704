// SPDX-License-Identifier: GPL-2.0-only
//! What the sanitizers found, from the log of an object (`governors/shim/sanitizer.c`).

use serde::{Deserialize, Serialize};

use crate::dwarf;

/// What is wrong with the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FaultKind {
    /// Arithmetic that C does not define.
    Arithmetic,
    /// Memory that is not the governor's.
    Memory,
    /// Memory of another CPU, or of all CPUs.
    OtherCpu,
}

/// A fault of the code, found while it ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fault {
    pub kind: FaultKind,
    /// Path of the source as it was compiled; empty where it is not known.
    pub file: String,
    /// From 1; 0 where it is not known.
    pub line: u32,
    pub what: String,
}

impl Fault {
    /// From a line of the log; nothing for one that is the governor's own.
    #[must_use]
    pub fn read(line: &str, lines: &Lines) -> Option<Self> {
        let rest = line.strip_prefix("4@")?;
        let kind = match rest.chars().next()? {
            'a' => FaultKind::Arithmetic,
            'm' => FaultKind::Memory,
            'c' => FaultKind::OtherCpu,
            _ => return None,
        };
        let (place, what) = rest.get(1..)?.split_once('\t')?;
        let (file, line) = match place.strip_prefix('+') {
            Some(address) => lines.find(u64::from_str_radix(address, 16).ok()?),
            None => {
                let (line, file) = place.strip_prefix(':')?.split_once(':')?;
                (file.to_owned(), line.parse().ok()?)
            }
        };
        Some(Self { kind, file, line, what: what.to_owned() })
    }
}

/// Lines of a source by the address in its object.
#[derive(Debug, Default)]
pub struct Lines {
    /// Where a line's code begins, the line, and which of `files` it is in; sorted.
    rows: Vec<(u64, u32, usize)>,
    files: Vec<String>,
}

impl Lines {
    /// From the debugging information of an object; empty where there is none.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self::read(bytes).unwrap_or_default()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let file = object::File::parse(bytes).ok()?;
        let dwarf = dwarf::of(&file)?;
        let mut lines = Self::default();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Some(unit) = dwarf.unit(header).ok() else { continue };
            let Some(program) = unit.line_program.clone() else { continue };
            let mut rows = program.rows();
            while let Ok(Some((header, row))) = rows.next_row() {
                let name = row.file(header).and_then(|f| {
                    let text =
                        |value| Some(dwarf.attr_string(&unit, value).ok()?.to_string_lossy().into_owned());
                    let folder = f.directory(header).and_then(text).unwrap_or_default();
                    Some(format!("{folder}/{}", text(f.path_name())?))
                });
                let number = row.line().and_then(|l| u32::try_from(l.get()).ok());
                let (Some(name), Some(number)) = (name, number) else { continue };
                let at = lines.files.iter().position(|f| *f == name).unwrap_or_else(|| {
                    lines.files.push(name);
                    lines.files.len() - 1
                });
                lines.rows.push((row.address(), number, at));
            }
        }
        lines.rows.sort_unstable();
        Some(lines)
    }

    /// File and line of the call that returns to `address`.
    fn find(&self, address: u64) -> (String, u32) {
        let after = self.rows.partition_point(|(at, _, _)| *at < address);
        let row = after.checked_sub(1).and_then(|i| self.rows.get(i));
        let place = row.and_then(|(_, line, file)| Some((self.files.get(*file)?.clone(), *line)));
        place.unwrap_or_default()
    }
}
