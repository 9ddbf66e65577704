// SPDX-License-Identifier: GPL-2.0-only
//! A small assembler for BPF: just the instructions that the recorder's programs need.
//!
//! Encodings: RFC 9669, section 3 (basic), 4 (arithmetic and jumps), 5 (loads and stores).

/// A register: 0 is a call's result, 1 to 5 its arguments, 6 to 9 survive calls, 10 is the frame's end.
pub type Reg = u8;
/// The end of the frame; the stack lies below it.
pub const FRAME: Reg = 10;

/// How much a load or store moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Four bytes.
    Word = 0x00,
    /// Eight bytes.
    Double = 0x18,
}

const ALU64: u8 = 0x07;
const JMP: u8 = 0x05;
const JMP32: u8 = 0x06;
const LDX_MEM: u8 = 0x61;
const STX_MEM: u8 = 0x63;
const ST_MEM: u8 = 0x62;
const LD_IMM64: u8 = 0x18;
/// The operand is a register.
const X: u8 = 0x08;

const ADD: u8 = 0x00;
const MOV: u8 = 0xb0;
const JA: u8 = 0x00;
const JEQ: u8 = 0x10;
const JNE: u8 = 0x50;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
/// The wide load's value is the number of a map's file.
const MAP_FD: u8 = 1;

/// A place in a program that a jump goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// A program that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// As the kernel takes them.
    pub insns: Vec<[u8; 8]>,
    /// What a reader is given before the instruction with that number.
    pub notes: Vec<(usize, String)>,
}

/// A program in the making.
#[derive(Default)]
pub struct Assembler {
    code: Vec<[u8; 8]>,
    notes: Vec<(usize, String)>,
    /// Where each label stands, once it does.
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn put(&mut self, opcode: u8, dst: Reg, src: Reg, offset: i16, imm: i32) -> &mut Self {
        let [o0, o1] = offset.to_ne_bytes();
        let [i0, i1, i2, i3] = imm.to_ne_bytes();
        let regs = if cfg!(target_endian = "little") { src << 4 | dst } else { dst << 4 | src };
        self.code.push([opcode, regs, o0, o1, i0, i1, i2, i3]);
        self
    }

    /// `dst = src`
    pub fn copy(&mut self, dst: Reg, src: Reg) -> &mut Self {
        self.put(ALU64 | X | MOV, dst, src, 0, 0)
    }

    /// `dst = value`
    pub fn set(&mut self, dst: Reg, value: i32) -> &mut Self {
        self.put(ALU64 | MOV, dst, 0, 0, value)
    }

    /// `dst = value`, all 64 bits.
    pub fn set_wide(&mut self, dst: Reg, value: u64) -> &mut Self {
        self.wide(dst, 0, value)
    }

    /// `dst =` the map whose file is `fd`.
    pub fn map(&mut self, dst: Reg, fd: i32) -> &mut Self {
        self.wide(dst, MAP_FD, u64::from(fd.unsigned_abs()))
    }

    fn wide(&mut self, dst: Reg, src: u8, value: u64) -> &mut Self {
        self.put(LD_IMM64, dst, src, 0, value as i32);
        self.put(0, 0, 0, 0, (value >> 32) as i32)
    }

    /// `dst += value`
    pub fn add(&mut self, dst: Reg, value: i32) -> &mut Self {
        self.put(ALU64 | ADD, dst, 0, 0, value)
    }

    /// `dst = *(base + offset)`
    pub fn load(&mut self, width: Width, dst: Reg, base: Reg, offset: i16) -> &mut Self {
        self.put(LDX_MEM | width as u8, dst, base, offset, 0)
    }

    /// `*(base + offset) = src`
    pub fn store(&mut self, width: Width, base: Reg, offset: i16, src: Reg) -> &mut Self {
        self.put(STX_MEM | width as u8, base, src, offset, 0)
    }

    /// `*(base + offset) = value`
    pub fn store_imm(&mut self, width: Width, base: Reg, offset: i16, value: i32) -> &mut Self {
        self.put(ST_MEM | width as u8, base, 0, offset, value)
    }

    /// Calls a helper of the kernel by its number.
    pub fn call(&mut self, helper: i32) -> &mut Self {
        self.put(JMP | CALL, 0, 0, 0, helper)
    }

    /// Ends the program with the result 0.
    pub fn leave(&mut self) -> &mut Self {
        self.set(0, 0).put(JMP | EXIT, 0, 0, 0, 0)
    }

    /// Says in the listing what the instructions from here on are for.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Self {
        self.notes.push((self.code.len(), text.into()));
        self
    }

    /// A label that stands nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Lets `label` stand here.
    pub fn here(&mut self, label: Label) -> &mut Self {
        let at = self.code.len();
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(at);
        }
        self
    }

    fn jump(&mut self, opcode: u8, dst: Reg, src: Reg, imm: i32, to: Label) -> &mut Self {
        self.jumps.push((self.code.len(), to));
        self.put(opcode, dst, src, 0, imm)
    }

    /// Goes to `to`.
    pub fn go(&mut self, to: Label) -> &mut Self {
        self.jump(JMP | JA, 0, 0, 0, to)
    }

    /// Goes to `to` if `reg == value`.
    pub fn go_if_is(&mut self, reg: Reg, value: i32, to: Label) -> &mut Self {
        self.jump(JMP | JEQ, reg, 0, value, to)
    }

    /// Goes to `to` if `reg != value`.
    pub fn go_if_not(&mut self, reg: Reg, value: i32, to: Label) -> &mut Self {
        self.jump(JMP | JNE, reg, 0, value, to)
    }

    /// Goes to `to` if the lower halves of both registers differ.
    pub fn go_if_halves_differ(&mut self, a: Reg, b: Reg, to: Label) -> &mut Self {
        self.jump(JMP32 | X | JNE, a, b, 0, to)
    }

    /// Goes to `to` if the lower half of `reg` is `value`.
    pub fn go_if_half_is(&mut self, reg: Reg, value: i32, to: Label) -> &mut Self {
        self.jump(JMP32 | JEQ, reg, 0, value, to)
    }

    /// The program; nothing where a label stands nowhere or too far away.
    #[must_use]
    pub fn finish(mut self) -> Option<Code> {
        for (at, label) in &self.jumps {
            let target = (*self.labels.get(label.0)?)? as i64;
            let distance = i16::try_from(target - *at as i64 - 1).ok()?;
            let [low, high] = distance.to_ne_bytes();
            let insn = self.code.get_mut(*at)?;
            (insn[2], insn[3]) = (low, high);
        }
        Some(Code { insns: self.code, notes: self.notes })
    }
}
