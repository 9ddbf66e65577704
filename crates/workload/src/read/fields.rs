// SPDX-License-Identifier: GPL-2.0-only
//! Objects with a few keys that are known.

use super::reader::Reader;
use crate::WorkloadError;
use crate::json::{Member, Node};

/// The values of an object's keys, in the order of `known`.
pub(super) fn fields<'m, const N: usize>(
    r: &Reader<'_>,
    m: &'m Member,
    known: &[&str; N],
) -> Result<[Option<&'m Member>; N], WorkloadError> {
    let mut found = [None; N];
    for field in r.object(m)? {
        match known.iter().position(|k| *k == field.key).and_then(|i| found.get_mut(i)) {
            Some(place @ None) => *place = Some(field),
            Some(Some(_)) => {
                return Err(r.meaningless(
                    field,
                    format!("`{}` is here twice", field.key),
                    "keep one of them",
                ));
            }
            None if field.key.starts_with('_') => {}
            None => return Err(r.unknown_key(field.at, &field.key, known)),
        }
    }
    Ok(found)
}

/// A field that must be there.
pub(super) fn need<'m, const N: usize>(
    r: &Reader<'_>,
    m: &Member,
    fields: &[Option<&'m Member>; N],
    index: usize,
    key: &str,
) -> Result<&'m Member, WorkloadError> {
    fields.get(index).copied().flatten().ok_or_else(|| {
        let at = m.value.as_ref().map_or(m.at, |Node { at, .. }| *at);
        let m = Member { at, key: m.key.clone(), value: None };
        r.meaningless(&m, format!("no `{key}`"), "it must be there; see docs/reference/workload-format.md")
    })
}
