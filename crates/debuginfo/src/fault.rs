// SPDX-License-Identifier: GPL-2.0-only
//! What the sanitizers found, from the log of an object (`governors/shim/sanitizer.c`).

use std::collections::BTreeMap;

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

/// So many files and rows of line tables are read; kernels' governors have some ten, and some thousand.
const FILES: usize = 1 << 12;
const ROWS: usize = 1 << 20;
/// No path of a file, or of its folder, is longer, bytes (`PATH_MAX`).
const LONGEST_NAME: usize = 4096;

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
        let mut left = ROWS;
        // Which of `lines.files` a unit's file is, by their numbers.
        let mut files: BTreeMap<(usize, u64), Option<usize>> = BTreeMap::new();
        for (number, unit) in dwarf::units(&dwarf).enumerate() {
            let Some(program) = unit.line_program.clone() else { continue };
            let mut rows = program.rows();
            while let Ok(Some((header, row))) = rows.next_row() {
                left = left.checked_sub(1).filter(|_| files.len() <= FILES)?;
                let at = *files.entry((number, row.file_index())).or_insert_with(|| {
                    let text = |value| {
                        let text =
                            dwarf.attr_string(&unit, value).ok().filter(|text| text.len() <= LONGEST_NAME)?;
                        Some(text.to_string_lossy().into_owned())
                    };
                    let file = row.file(header)?;
                    let folder = file.directory(header).and_then(text).unwrap_or_default();
                    lines.files.push(format!("{folder}/{}", text(file.path_name())?));
                    Some(lines.files.len() - 1)
                });
                let line = row.line().and_then(|l| u32::try_from(l.get()).ok());
                if let (Some(at), Some(line)) = (at, line) {
                    lines.rows.push((row.address(), line, at));
                }
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
