// SPDX-License-Identifier: GPL-2.0-only
//! What a governor's own process sends back: a mark, a length, and so many bytes of postcard. Foreign code has the way back at
//! hand, so whatever else comes through it is refused at once, and no more is taken than an answer can have.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// An answer begins with it. What a governor writes there of its own accord does not.
const MARK: [u8; 16] = *b"idlewise answer:";
/// The mark and the length.
const HEAD: usize = MARK.len() + 8;
/// No answer is longer, bytes.
const MOST: u64 = 1 << 30;

/// An answer as it goes into the pipe.
pub(crate) fn framed(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEAD + body.len());
    out.extend_from_slice(&MARK);
    out.extend_from_slice(&(body.len() as u64).to_le_bytes());
    out.extend_from_slice(body);
    out
}

/// An answer on its way.
#[derive(Default)]
pub(crate) struct Incoming {
    pub(crate) bytes: Vec<u8>,
}

impl Incoming {
    /// The whole answer, once it is there; or why what came is none.
    pub(crate) fn body(&self) -> Result<Option<&[u8]>, String> {
        let start = self.bytes.len().min(MARK.len());
        if self.bytes.get(..start) != MARK.get(..start) {
            return Err("wrote into the pipe that is meant for its answer".to_owned());
        }
        let Some((head, body)) = self.bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        let Some(length) = head.last_chunk::<8>().map(|l| u64::from_le_bytes(*l)) else { return Ok(None) };
        if length > MOST {
            return Err(format!("has an answer of {length} bytes; at most {MOST} are allowed"));
        }
        Ok(usize::try_from(length).ok().and_then(|length| body.get(..length)))
    }
}

/// [`assert_travels`], once for each type.
pub(crate) fn assert_travels_once<T: Serialize + DeserializeOwned>() {
    static SEEN: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let new = SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(std::any::type_name::<T>());
    if new {
        assert_travels::<T>();
    }
}

/// Checks that values of `T` come through postcard as they went in. It writes fields one after the other without their names, so
/// a type whose serde attributes leave one out (`skip_serializing_if`), or ask the format what comes next (`flatten`, `untagged`),
/// cannot be read again. Bytes of zeros are the value in which all is empty, ones the value in which all is there.
///
/// # Panics
/// Where they do not: `T` must not travel.
pub fn assert_travels<T: Serialize + DeserializeOwned>() {
    const LONG: usize = 1 << 14;
    for first in 0..1_u8 << VARIED {
        for rest in [0_u8, 1] {
            let mut bytes = vec![rest; LONG];
            bytes.iter_mut().zip(0..VARIED).for_each(|(byte, bit)| *byte = first >> bit & 1);
            let name = std::any::type_name::<T>();
            let (value, behind) = match postcard::take_from_bytes::<T>(&bytes) {
                Ok(read) => read,
                Err(postcard::Error::WontImplement) => {
                    unreachable!("{name} wants to know what comes next; postcard cannot say")
                }
                // Not every such value exists.
                Err(_) => continue,
            };
            let used = LONG - behind.len();
            let written = postcard::to_stdvec(&value);
            assert_eq!(
                written.as_deref().ok(),
                bytes.get(..used),
                "{name} does not come through a pipe as it went in: does a field have skip_serializing_if?"
            );
        }
    }
}

/// So many of the first bytes are tried with both values: they say which variant of an outer enum it is.
const VARIED: u8 = 4;

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_last_byte_is_there() {
        let sent = framed(b"seven bytes");
        for came in 0..sent.len() {
            let incoming = Incoming { bytes: sent[..came].to_vec() };
            assert_eq!(incoming.body(), Ok(None), "{came}");
        }
        // What a process that it left behind writes after it does not count.
        let more = Incoming { bytes: [sent.as_slice(), b"and more"].concat() };
        assert_eq!(more.body(), Ok(Some(&b"seven bytes"[..])));
    }

    #[test]
    fn what_is_no_answer_or_none_that_can_be_is_told_from_its_first_bytes() {
        let said = Incoming { bytes: b"id".iter().chain(b"LE").copied().collect() }.body().unwrap_err();
        assert!(said.contains("wrote into the pipe"), "{said}");
        let huge = [&MARK[..], &(MOST + 1).to_le_bytes()].concat();
        let said = Incoming { bytes: huge }.body().unwrap_err();
        assert!(said.contains("1073741825 bytes"), "{said}");
    }

    #[derive(Serialize, Deserialize)]
    struct Whole {
        count: u64,
        names: Vec<String>,
        shares: Option<(f64, bool)>,
        said: Result<i32, String>,
    }

    #[derive(Serialize, Deserialize)]
    struct LeavesOut {
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
    }

    #[derive(Serialize, Deserialize)]
    struct Flat {
        #[serde(flatten)]
        whole: Whole,
    }

    #[test]
    fn what_this_crate_keeps_in_files_and_sends_travels() {
        assert_travels::<crate::workshop::Made>();
        assert_travels::<Result<(), crate::GovernorError>>();
        assert_travels::<(crate::Param, crate::Inputs, crate::Value, crate::Variable)>();
    }

    #[test]
    fn a_type_that_leaves_a_field_out_does_not_travel() {
        assert_travels::<(Whole, Result<Vec<Whole>, String>)>();
        let travels = |check: fn()| std::panic::catch_unwind(check).is_ok();
        assert!(!travels(assert_travels::<LeavesOut>));
        assert!(!travels(assert_travels::<Result<(u8, LeavesOut), String>>));
        assert!(!travels(assert_travels::<Vec<LeavesOut>>));
        assert!(!travels(assert_travels::<Flat>));
    }
}
