// SPDX-License-Identifier: GPL-2.0-only
//! The program that a foreign governor is compiled into, read as the kernel reads it.

use std::ffi::CStr;

/// Segments that a program may have: code and data, notes, tables for a debugger, the stack's permissions. Another one could
/// name an interpreter, which would run before anything is closed.
const HARMLESS: [u32; 5] = [PT_LOAD, PT_NOTE, PT_GNU_EH_FRAME, PT_GNU_STACK, PT_GNU_PROPERTY];
const PT_LOAD: u32 = 1;
const PT_NOTE: u32 = 4;
const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
const PT_GNU_STACK: u32 = 0x6474_e551;
const PT_GNU_PROPERTY: u32 = 0x6474_e553;
/// A segment that may be written to.
const PF_W: u32 = 2;
/// A program at fixed addresses.
const ET_EXEC: u16 = 2;
/// Size of a program header of 64 bits.
const HEADER: usize = 56;

/// A program's segments.
pub(super) struct Program<'b> {
    bytes: &'b [u8],
    loads: Vec<Load>,
}

struct Load {
    writable: bool,
    at: u64,
    offset: u64,
    in_file: u64,
    in_memory: u64,
}

impl<'b> Program<'b> {
    /// Reads the program in `bytes`.
    ///
    /// # Errors
    /// Why it must not be started.
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, String> {
        let not_ours = || "it is no program of this version".to_owned();
        if bytes.get(..5) != Some(b"\x7fELF\x02") || half(bytes, 16) != Some(ET_EXEC) {
            return Err(not_ours());
        }
        let (start, count) = (long(bytes, 32).ok_or_else(not_ours)?, half(bytes, 56).ok_or_else(not_ours)?);
        if half(bytes, 54).map(usize::from) != Some(HEADER) {
            return Err(not_ours());
        }
        let mut loads = Vec::new();
        for n in 0..usize::from(count) {
            let header =
                usize::try_from(start).ok().and_then(|at| bytes.get(at..)?.get(n * HEADER..)?.get(..HEADER));
            let header = header.ok_or_else(not_ours)?;
            let kind = header.first_chunk::<4>().map_or(0, |b| u32::from_ne_bytes(*b));
            if !HARMLESS.contains(&kind) {
                return Err(format!("it has a segment of type {kind:#x}, which no governor has"));
            }
            if kind == PT_LOAD {
                let number = |at| long(header, at).ok_or_else(not_ours);
                let flags =
                    header.get(4..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_ne_bytes(*b));
                loads.push(Load {
                    writable: flags & PF_W != 0,
                    offset: number(8)?,
                    at: number(16)?,
                    in_file: number(32)?,
                    in_memory: number(40)?,
                });
            }
        }
        Ok(Self { bytes, loads })
    }

    /// Memory that it takes, bytes.
    pub(super) fn memory(&self) -> u64 {
        self.loads.iter().fold(0, |sum, load| sum.saturating_add(load.in_memory))
    }

    /// Address and size of what it may write to.
    pub(super) fn writable(&self) -> Vec<(u64, usize)> {
        self.loads.iter().filter(|l| l.writable).map(|l| (l.at, l.in_memory as usize)).collect()
    }

    /// What is at an address before it runs, up to the end of its segment in the file.
    fn from(&self, address: u64) -> Option<&'b [u8]> {
        let load = self.loads.iter().find(|l| address >= l.at && address - l.at < l.in_file)?;
        let (from, to) =
            (load.offset.checked_add(address - load.at)?, load.offset.checked_add(load.in_file)?);
        self.bytes.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
    }

    /// `size` bytes at an address before it runs.
    pub(super) fn at(&self, address: u64, size: usize) -> Option<&'b [u8]> {
        self.from(address)?.get(..size)
    }

    /// The text at an address.
    pub(super) fn text(&self, address: u64) -> Option<String> {
        CStr::from_bytes_until_nul(self.from(address)?).ok().map(|text| text.to_string_lossy().into_owned())
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

/// The number of 8 bytes at `at`.
pub(super) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_ne_bytes(*b))
}
