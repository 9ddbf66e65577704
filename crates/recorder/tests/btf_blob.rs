// SPDX-License-Identifier: GPL-2.0-only
//! BTF that tests make, type by type.

pub(crate) const INT: u32 = 1;
pub(crate) const PTR: u32 = 2;
pub(crate) const ARRAY: u32 = 3;
pub(crate) const STRUCT: u32 = 4;
pub(crate) const UNION: u32 = 5;
pub(crate) const TYPEDEF: u32 = 8;
pub(crate) const CONST: u32 = 10;
pub(crate) const FUNC_PROTO: u32 = 13;
pub(crate) const VAR: u32 = 14;
pub(crate) const DATASEC: u32 = 15;

/// BTF in the making.
#[derive(Default)]
pub(crate) struct Blob {
    pub(crate) types: Vec<u32>,
    pub(crate) strings: Vec<u8>,
    pub(crate) count: u32,
}

impl Blob {
    pub(crate) fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let at = self.strings.len().max(1) as u32;
        self.strings.resize(at as usize, 0);
        self.strings.extend(name.bytes().chain([0]));
        at
    }

    /// A type with `more` words behind its head; its number.
    pub(crate) fn add(
        &mut self,
        name: &str,
        kind: u32,
        flag: bool,
        count: u32,
        size_or_type: u32,
        more: &[u32],
    ) -> u32 {
        let name = self.name(name);
        self.types.extend([name, u32::from(flag) << 31 | kind << 24 | count, size_or_type]);
        self.types.extend(more);
        self.count += 1;
        self.count
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (types, strings) = (4 * self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = Vec::from(0xeb9f_u16.to_ne_bytes());
        bytes.extend([1, 0]);
        for word in [24, 0, types, types, strings].iter().chain(&self.types) {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(&self.strings);
        bytes
    }
}
