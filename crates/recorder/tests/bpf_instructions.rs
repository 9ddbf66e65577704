// SPDX-License-Identifier: GPL-2.0-only
//! Are instructions encoded as RFC 9669 says?

#![cfg(target_endian = "little")]

use idlewise_recorder::bpf::asm::{Assembler, FRAME, Width};

/// One instruction: opcode, destination and source, offset, constant.
fn insn(opcode: u8, dst: u8, src: u8, offset: i16, imm: i32) -> [u8; 8] {
    let ([o0, o1], [i0, i1, i2, i3]) = (offset.to_le_bytes(), imm.to_le_bytes());
    [opcode, src << 4 | dst, o0, o1, i0, i1, i2, i3]
}

fn code(write: impl FnOnce(&mut Assembler)) -> Vec<[u8; 8]> {
    let mut a = Assembler::default();
    write(&mut a);
    a.finish().unwrap().insns
}

#[test]
fn arithmetic_calls_and_ends() {
    let written = code(|a| {
        a.copy(6, 1).set(2, -7).add(2, 12).call(113).leave();
    });
    // MOV 0xb0, ADD 0x00 in class ALU64 7; X is 0x08; CALL 0x80 and EXIT 0x90 in class JMP 5.
    let expected =
        [insn(0xbf, 6, 1, 0, 0), insn(0xb7, 2, 0, 0, -7), insn(0x07, 2, 0, 0, 12), insn(0x85, 0, 0, 0, 113)];
    assert_eq!(written[..4], expected);
    assert_eq!(written[4..], [insn(0xb7, 0, 0, 0, 0), insn(0x95, 0, 0, 0, 0)]);
}

#[test]
fn loads_and_stores() {
    let written = code(|a| {
        a.load(Width::Double, 1, 7, 16).load(Width::Word, 2, 7, -4);
        a.store(Width::Double, FRAME, -16, 0).store(Width::Word, 8, 12, 6);
        a.store_imm(Width::Word, FRAME, -4, 9).store_imm(Width::Double, 7, 8, 0);
    });
    // MEM 0x60; W 0x00, DW 0x18; LDX 1, ST 2, STX 3.
    let expected = [
        insn(0x79, 1, 7, 16, 0),
        insn(0x61, 2, 7, -4, 0),
        insn(0x7b, 10, 0, -16, 0),
        insn(0x63, 8, 6, 12, 0),
        insn(0x62, 10, 0, -4, 9),
        insn(0x7a, 7, 0, 8, 0),
    ];
    assert_eq!(written, expected);
}

#[test]
fn wide_values_and_maps_take_two_instructions() {
    let written = code(|a| {
        a.set_wide(3, 0xffff_8886_27c0_0010).map(1, 5);
    });
    let expected = [
        insn(0x18, 3, 0, 0, 0x27c0_0010),
        insn(0, 0, 0, 0, 0xffff_8886_u32.cast_signed()),
        insn(0x18, 1, 1, 0, 5),
        insn(0, 0, 0, 0, 0),
    ];
    assert_eq!(written, expected);
}

#[test]
fn jumps_count_from_the_instruction_behind_them() {
    let written = code(|a| {
        let (ahead, back) = (a.label(), a.label());
        a.here(back).go_if_is(0, 0, ahead).set_wide(1, 1).go_if_not(2, 3, back);
        a.go_if_half_is(6, -1, ahead).go_if_halves_differ(0, 1, ahead).go(back).here(ahead);
    });
    // JEQ 0x10, JNE 0x50, JA 0x00 in class JMP 5 and JMP32 6.
    let expected = [
        insn(0x15, 0, 0, 6, 0),
        insn(0x18, 1, 0, 0, 1),
        insn(0, 0, 0, 0, 0),
        insn(0x55, 2, 0, -4, 3),
        insn(0x16, 6, 0, 2, -1),
        insn(0x5e, 0, 1, 1, 0),
        insn(0x05, 0, 0, -7, 0),
    ];
    assert_eq!(written, expected);
}

#[test]
fn a_jump_to_nowhere_is_no_program() {
    let mut a = Assembler::default();
    let nowhere = a.label();
    a.go(nowhere);
    assert_eq!(a.finish(), None);
}
