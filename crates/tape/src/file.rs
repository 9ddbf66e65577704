// SPDX-License-Identifier: GPL-2.0-only
//! Tapes on disk.
//!
//! A tape file is `IWTAPE` and two bytes of version, the XXH3-64 of everything that follows (little endian), and one
//! zstd frame. Its content is a [postcard](https://postcard.jamesmunns.com) message: what the tape says of itself,
//! then each CPU's stays as columns, times as differences. Writing the same tape gives the same bytes.

use std::io::Read;

use idlewise_model::{
    Change, Confidence, CpuTape, Health, HealthKind, Piece, PieceFlags, Source, Tape, TapeCpu, TapeInput,
    TickGrid, WakeCause,
};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::check::check;

const MAGIC: &[u8; 6] = b"IWTAPE";
/// Version that this program writes and reads.
pub const VERSION: u16 = 2;
const HEADER: usize = 16;
const ZSTD_LEVEL: i32 = 9;
/// A tape that unpacks to more than this many times its size is refused: real ones grow ten- to fortyfold.
const MOST_GROWTH: u64 = 1_000;
/// So much is granted whatever the size, bytes: idle periods that are all alike pack to nothing.
const GRANTED: u64 = 16 << 20;

/// The most bytes that a tape of `packed` bytes unpacks to.
fn largest(packed: usize) -> u64 {
    (packed as u64).saturating_mul(MOST_GROWTH).saturating_add(GRANTED)
}
/// Why a tape file cannot be read or written.
#[derive(Debug, Error)]
pub enum TapeFileError {
    /// Not a tape at all.
    #[error("not a tape: a tape begins with {MAGIC:?}")]
    NotATape,
    /// Another version.
    #[error("tape version {found}; this program reads version {VERSION}: make the tape again from its trace")]
    Version {
        /// The file's version.
        found: u16,
    },
    /// The bytes have changed since they were written.
    #[error(
        "damaged tape: checksum {found:016x}, expected {expected:016x}; the file was cut short or altered"
    )]
    Damaged {
        /// Checksum of the content.
        found: u64,
        /// Checksum in the header.
        expected: u64,
    },
    /// The content cannot be unpacked or makes no sense.
    #[error("tape content: {0}")]
    Content(String),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    source: Source,
    inputs: Vec<TapeInput>,
    notes: Vec<String>,
    /// Name, count, first place.
    health: Vec<(String, u64, String)>,
    cpus: Vec<StoredCpu>,
}

/// A CPU's tape with its stays as columns.
#[derive(Serialize, Deserialize)]
struct StoredCpu {
    cpu: u32,
    usable: TapeCpu,
    tick: TickGrid,
    tick_handler_ns: u32,
    latency: Vec<Change<i64>>,
    disabled: Vec<Change<u16>>,
    sends: Option<Confidence>,
    /// Differences from the start before.
    start: Vec<u64>,
    wake: Vec<u64>,
    hrtimer: Vec<i64>,
    wheel: Vec<i64>,
    exit_lag: Vec<u32>,
    response: Vec<u32>,
    handler: Vec<u32>,
    entry_lag: Vec<u32>,
    util: Vec<u16>,
    iowait: Vec<u16>,
    #[serde(with = "bytes")]
    state: Vec<u8>,
    #[serde(with = "bytes")]
    cause: Vec<u8>,
    flags: Vec<u16>,
}

mod bytes {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(v: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(v)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(d).map(<[u8]>::to_vec)
    }
}

/// The bytes of a tape file.
///
/// # Errors
/// [`TapeFileError::Content`] when the packing library refuses, or the tape is of stays so much alike that [`read`] would refuse it.
pub fn write(tape: &Tape) -> Result<Vec<u8>, TapeFileError> {
    let content = |e: String| TapeFileError::Content(e);
    let plain = postcard::to_stdvec(&Stored::from(tape)).map_err(|e| content(e.to_string()))?;
    let packed = zstd::bulk::compress(&plain, ZSTD_LEVEL).map_err(|e| content(e.to_string()))?;
    if plain.len() as u64 > largest(packed.len()) {
        return Err(content(format!("{} bytes that are all alike: no recording", plain.len())));
    }
    let mut out = Vec::with_capacity(HEADER + packed.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&xxh3_64(&packed).to_le_bytes());
    out.extend_from_slice(&packed);
    Ok(out)
}

/// Whether `bytes`, a file's beginning, look like a tape.
#[must_use]
pub fn is_tape(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Reads a tape file's bytes.
///
/// # Errors
/// [`TapeFileError`] for anything but an undamaged tape of this version.
pub fn read(bytes: &[u8]) -> Result<Tape, TapeFileError> {
    if !is_tape(bytes) {
        return Err(TapeFileError::NotATape);
    }
    let number = |from: usize, to: usize| bytes.get(from..to).ok_or(TapeFileError::NotATape);
    let found = u16::from_le_bytes(number(6, 8)?.try_into().unwrap_or_default());
    if found != VERSION {
        return Err(TapeFileError::Version { found });
    }
    let expected = u64::from_le_bytes(number(8, HEADER)?.try_into().unwrap_or_default());
    let packed = bytes.get(HEADER..).unwrap_or_default();
    let found = xxh3_64(packed);
    if found != expected {
        return Err(TapeFileError::Damaged { found, expected });
    }
    let content = |e: String| TapeFileError::Content(e);
    let decoder = zstd::Decoder::new(packed).map_err(|e| content(e.to_string()))?;
    let mut plain = Vec::new();
    let largest = largest(packed.len());
    decoder.take(largest + 1).read_to_end(&mut plain).map_err(|e| content(e.to_string()))?;
    if plain.len() as u64 > largest {
        return Err(content(format!("unpacks to more than {largest} bytes, which no recording does")));
    }
    let (stored, rest): (Stored, _) =
        postcard::take_from_bytes(&plain).map_err(|e| content(e.to_string()))?;
    if !rest.is_empty() {
        return Err(content(format!("{} bytes after the end", rest.len())));
    }
    let tape = stored.into_tape()?;
    check(&tape).map_err(content)?;
    Ok(tape)
}

impl From<&Tape> for Stored {
    fn from(t: &Tape) -> Self {
        Self {
            source: t.source.clone(),
            inputs: t.inputs.clone(),
            notes: t.notes.clone(),
            health: t.health.iter().map(|(k, c)| (k.name().to_owned(), c.count, c.first.clone())).collect(),
            cpus: t.cpus.iter().map(StoredCpu::from).collect(),
        }
    }
}

impl From<&CpuTape> for StoredCpu {
    fn from(t: &CpuTape) -> Self {
        let pieces = t.pieces.to_vec();
        let mut before = 0;
        let column = |get: fn(&Piece) -> u32| pieces.iter().map(get).collect();
        Self {
            cpu: t.cpu,
            usable: t.usable.clone(),
            tick: t.tick,
            tick_handler_ns: t.tick_handler_ns,
            latency: t.latency.clone(),
            disabled: t.disabled.clone(),
            sends: t.sends,
            start: pieces
                .iter()
                .map(|p| {
                    assert!(p.start_ns >= before, "CPU {}: idle periods are in order", t.cpu);
                    let d = p.start_ns - before;
                    before = p.start_ns;
                    d
                })
                .collect(),
            wake: pieces.iter().map(|p| p.wake_ns).collect(),
            hrtimer: pieces.iter().map(|p| p.hrtimer_ns).collect(),
            wheel: pieces.iter().map(|p| p.wheel_ns).collect(),
            exit_lag: column(|p| p.exit_lag_ns),
            response: column(|p| p.response_ns),
            handler: column(|p| p.handler_ns),
            entry_lag: column(|p| p.entry_lag_ns),
            util: pieces.iter().map(|p| p.util).collect(),
            iowait: pieces.iter().map(|p| p.iowait).collect(),
            state: pieces.iter().map(|p| p.state).collect(),
            cause: pieces.iter().map(|p| p.cause as u8).collect(),
            flags: pieces.iter().map(|p| p.flags.0).collect(),
        }
    }
}

impl Stored {
    fn into_tape(self) -> Result<Tape, TapeFileError> {
        let mut health = Health::default();
        for (name, count, first) in self.health {
            let kind = HealthKind::from_name(&name)
                .ok_or_else(|| TapeFileError::Content(format!("unknown health counter {name:?}")))?;
            health.add(kind, count, || first);
        }
        Ok(Tape {
            source: self.source,
            inputs: self.inputs,
            notes: self.notes,
            health,
            cpus: self.cpus.into_iter().map(StoredCpu::into_tape).collect::<Result<_, _>>()?,
        })
    }
}

impl StoredCpu {
    fn into_tape(self) -> Result<CpuTape, TapeFileError> {
        let n = self.start.len();
        let lengths = [
            self.wake.len(),
            self.hrtimer.len(),
            self.wheel.len(),
            self.exit_lag.len(),
            self.response.len(),
            self.handler.len(),
            self.entry_lag.len(),
            self.util.len(),
            self.iowait.len(),
            self.state.len(),
            self.cause.len(),
            self.flags.len(),
        ];
        if lengths.iter().any(|len| *len != n) {
            return Err(TapeFileError::Content(format!("CPU {}: columns of different length", self.cpu)));
        }
        let mut start_ns = 0u64;
        let rows = self.start.iter().zip(&self.wake).zip(&self.hrtimer).zip(&self.wheel);
        let lags = self.exit_lag.iter().zip(&self.response).zip(&self.handler).zip(&self.entry_lag);
        let small = self.util.iter().zip(&self.iowait).zip(&self.state).zip(&self.cause).zip(&self.flags);
        let mut pieces = Vec::with_capacity(n);
        for (
            ((((d, wake), hrtimer), wheel), (((exit_lag, response), handler), entry_lag)),
            ((((util, iowait), state), cause), flags),
        ) in rows.zip(lags).zip(small)
        {
            start_ns = start_ns.checked_add(*d).ok_or_else(|| {
                let n = pieces.len() + 1;
                TapeFileError::Content(format!(
                    "CPU {}, idle period {n}: begins at a time that is no number of 64 bits",
                    self.cpu
                ))
            })?;
            pieces.push(Piece {
                start_ns,
                wake_ns: *wake,
                hrtimer_ns: *hrtimer,
                wheel_ns: *wheel,
                exit_lag_ns: *exit_lag,
                response_ns: *response,
                handler_ns: *handler,
                entry_lag_ns: *entry_lag,
                util: *util,
                iowait: *iowait,
                state: *state,
                cause: WakeCause::from_bits(*cause),
                flags: PieceFlags(*flags),
            });
        }
        Ok(CpuTape {
            cpu: self.cpu,
            usable: self.usable,
            tick: self.tick,
            tick_handler_ns: self.tick_handler_ns,
            pieces: pieces.into(),
            latency: self.latency,
            disabled: self.disabled,
            sends: self.sends,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tape's bytes name no fields, so none may be left out: bytes of zeros are the tape without anything, ones the one with
    /// one of each.
    #[test]
    fn nothing_of_a_tape_is_left_out() {
        for byte in [0, 1] {
            let bytes = vec![byte; 1 << 12];
            let (stored, rest): (Stored, _) = postcard::take_from_bytes(&bytes).unwrap();
            assert_eq!(postcard::to_stdvec(&stored).unwrap(), bytes[..bytes.len() - rest.len()]);
            assert_eq!(stored.cpus.len(), usize::from(byte));
        }
    }
}
