// SPDX-License-Identifier: GPL-2.0-only
//! The debugging information of an object.

use gimli::{EndianSlice, NativeEndian};
use object::{Object as _, ObjectSection as _};

/// Bytes of an object.
pub(crate) type Bytes<'a> = EndianSlice<'a, NativeEndian>;
pub(crate) type Dwarf<'a> = gimli::Dwarf<Bytes<'a>>;

/// The debugging information of `file`, if it can be read; a section that it does not have is empty.
pub(crate) fn of<'a>(file: &object::File<'a>) -> Option<Dwarf<'a>> {
    let load = |id: gimli::SectionId| {
        let data = file.section_by_name(id.name()).map_or(Ok(&[][..]), |section| section.data());
        data.map(|data| EndianSlice::new(data, NativeEndian))
    };
    gimli::Dwarf::load(load).ok()
}
