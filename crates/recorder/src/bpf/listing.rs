// SPDX-License-Identifier: GPL-2.0-only
//! The recorder's programs as text, decoded from the bytes that the kernel is given, for those who want to read what runs.

use std::fmt::Write as _;

use super::asm::Code;
use super::btf::{Btf, BtfError};
use super::layout::{Layout, kept};
use super::program::{self, Maps};

/// Numbers that stand for the maps' files in a listing; there is no map behind them.
const KEPT: i32 = 1;
const RINGS: i32 = 2;
const FOUND: i32 = 3;
/// The file of `/dev/cpu_dma_latency` in a listing.
const FILE: u32 = 4;
/// The address of the global latency limit in a listing.
const LIMIT: u64 = 0xffff_ffff_1111_1110;

/// The programs for a kernel with these types, where a driver with `states` idle states runs under `governor`. Addresses and
/// numbers of files, which each recording finds anew, are stand-ins: `map 1` is what each CPU keeps, `map 2` the rings, `map 3`
/// what the program for the latency limit finds.
///
/// # Errors
/// [`BtfError`] that names what the kernel lacks, as when a recording starts.
pub fn programs(btf: &Btf, governor: &str, states: u32) -> Result<String, BtfError> {
    let layout = Layout::of(btf, governor, states)?;
    let maps = Maps { kept: KEPT, rings: RINGS };
    let programs = [
        ("find_limit", program::find_limit(&layout.limit, FOUND, FILE)),
        ("find_base", program::find_base(&layout, maps)),
        ("idle", program::idle(&layout, maps, Some(LIMIT))),
        ("schedule", program::schedule(&layout, maps, Some(LIMIT))),
    ];
    let mut out = String::new();
    let _ = writeln!(out, "A CPU keeps {} bytes; a record has {}.", kept::LEN, layout.record);
    for (name, code) in programs {
        let Some(code) = code else { unreachable!("{name} has a jump that leads nowhere") };
        let _ = write!(out, "\n{name}: {} instructions\n{}", code.insns.len(), listing(&code));
    }
    Ok(out)
}

/// `code` with its notes, one instruction a line, in the notation of the kernel's verifier. Jumps name the line they go to.
#[must_use]
pub fn listing(code: &Code) -> String {
    let mut out = String::new();
    let mut at = 0;
    let mut notes = code.notes.iter().peekable();
    while let Some(insn) = code.insns.get(at) {
        while let Some((_, note)) = notes.next_if(|(of, _)| *of <= at) {
            let _ = writeln!(out, "; {note}");
        }
        let next = code.insns.get(at + 1);
        let _ = writeln!(out, "{at:4}: {}", text(at, insn, next));
        at += if insn[0] == WIDE { 2 } else { 1 };
    }
    out
}

/// The one instruction that takes two places.
const WIDE: u8 = 0x18;

fn text(at: usize, insn: &[u8; 8], next: Option<&[u8; 8]>) -> String {
    let [opcode, regs, o0, o1, i0, i1, i2, i3] = *insn;
    let (dst, src) =
        if cfg!(target_endian = "little") { (regs & 15, regs >> 4) } else { (regs >> 4, regs & 15) };
    let (offset, imm) = (i16::from_ne_bytes([o0, o1]), i32::from_ne_bytes([i0, i1, i2, i3]));
    let to = at as i64 + 1 + i64::from(offset);
    let memory = |base: u8, bits: u8| format!("*(u{bits} *)(r{base} {offset:+})");
    match opcode {
        0xbf => format!("r{dst} = r{src}"),
        0xb7 => format!("r{dst} = {imm}"),
        0x07 => format!("r{dst} += {imm}"),
        0x61 => format!("r{dst} = {}", memory(src, 32)),
        0x79 => format!("r{dst} = {}", memory(src, 64)),
        0x63 => format!("{} = r{src}", memory(dst, 32)),
        0x7b => format!("{} = r{src}", memory(dst, 64)),
        0x62 => format!("{} = {imm}", memory(dst, 32)),
        0x7a => format!("{} = {imm}", memory(dst, 64)),
        0x05 => format!("goto {to}"),
        0x15 => format!("if r{dst} == {imm} goto {to}"),
        0x55 => format!("if r{dst} != {imm} goto {to}"),
        0x16 => format!("if w{dst} == {imm} goto {to}"),
        0x5e => format!("if w{dst} != w{src} goto {to}"),
        0x85 => match program::helper(imm) {
            Some(name) => format!("call {name}"),
            None => format!("call helper {imm}"),
        },
        0x95 => "exit".to_owned(),
        WIDE if src == 1 => format!("r{dst} = map {imm}"),
        WIDE => {
            let high = next.and_then(|n| n.last_chunk()).map_or(0, |b| u32::from_ne_bytes(*b));
            format!("r{dst} = {:#x}", u64::from(high) << 32 | u64::from(imm.cast_unsigned()))
        }
        _ => format!("not known: {insn:02x?}"),
    }
}
