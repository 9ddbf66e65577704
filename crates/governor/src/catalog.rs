// SPDX-License-Identifier: GPL-2.0-only

/// A governor that this build contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GovernorInfo {
    /// What a [`crate::Spec`] calls it: the stem of its file in `governors/`.
    pub id: &'static str,
    /// One line: the first of the preface.
    pub summary: &'static str,
    /// Its manual page: the comment that opens the file.
    pub preface: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/catalog.rs"));

/// All governors of this build, sorted by id.
#[must_use]
pub fn catalog() -> &'static [GovernorInfo] {
    &INFOS
}

/// The entry of `id`, its shared object, and the same object with the words and names to explain itself.
pub(crate) fn find(id: &str) -> Option<(&'static GovernorInfo, [&'static [u8]; 2])> {
    let objects = PLAIN.into_iter().zip(EXPLAINING).map(|(plain, explaining)| [plain, explaining]);
    INFOS.iter().zip(objects).find(|(info, _)| info.id == id)
}
