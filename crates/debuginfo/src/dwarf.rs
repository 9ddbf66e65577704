// SPDX-License-Identifier: GPL-2.0-only
//! The debugging information of an object.

use gimli::{EndianSlice, NativeEndian, Unit};
use object::{Object as _, ObjectSection as _};

/// Bytes of an object.
pub(crate) type Bytes<'a> = EndianSlice<'a, NativeEndian>;
pub(crate) type Dwarf<'a> = gimli::Dwarf<Bytes<'a>>;

/// A governor's sections of debugging information together are no larger, bytes: those of kernels' have some 30,000.
const LARGEST: u64 = 4 << 20;
/// An object is of no more C files.
const UNITS: usize = 64;

/// The debugging information of `file`, if it can be read; a section that it does not have is empty. Its author may have written it.
pub(crate) fn of<'a>(file: &object::File<'a>) -> Option<Dwarf<'a>> {
    let sections =
        file.sections().filter(|section| section.name_bytes().is_ok_and(|n| n.starts_with(b".debug_")));
    if sections.fold(0, |sum: u64, section| sum.saturating_add(section.size())) > LARGEST {
        return None;
    }
    let load = |id: gimli::SectionId| {
        let data = file.section_by_name(id.name()).map_or(Ok(&[][..]), |section| section.data());
        data.map(|data| EndianSlice::new(data, NativeEndian))
    };
    gimli::Dwarf::load(load).ok()
}

/// The units of debugging information that can be read.
pub(crate) fn units<'a>(dwarf: &Dwarf<'a>) -> impl Iterator<Item = Unit<Bytes<'a>>> {
    let mut headers = dwarf.units();
    let units = std::iter::from_fn(move || headers.next().ok().flatten()).take(UNITS);
    units.filter_map(|header| dwarf.unit(header).ok())
}
