// SPDX-License-Identifier: GPL-2.0-only
//! Tapes on disk.
//!
//! A tape file is `IWTAPE` and two bytes of version, the XXH3-64 of everything that follows (little endian), and one
//! zstd frame. Its content is a [postcard](https://postcard.jamesmunns.com) message: what the tape says of itself,
//! then each CPU's idle periods as columns, times as differences. Writing the same tape gives the same bytes.

use std::io::{self, BufWriter, Read, Seek, Write};

use idlewise_model::{
    Change, Confidence, CpuTape, Health, HealthKind, NEVER_NS, Note, Piece, PieceFlags, Pieces, PiecesError,
    Source, Tape, TapeCpu, TapeInput, TickGrid, WakeCause,
};
use serde::{Deserialize, Serialize};
use tempfile::{SpooledData, SpooledTempFile};
use thiserror::Error;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::check::check;

const MAGIC: &[u8; 6] = b"IWTAPE";
/// Version that this program writes.
pub const VERSION: u16 = 5;
/// The oldest that it reads. Each version since then has appended something, which is 0 or empty in a tape without it: 4 how long
/// the machine stood still, 5 more of each CPU.
const OLDEST: u16 = 3;
const HEADER: usize = 16;
const ZSTD_LEVEL: i32 = 9;
/// A tape that unpacks to more than this many times its size is refused: real ones grow ten- to fortyfold.
const MOST_GROWTH: u64 = 1_000;
/// So much is granted whatever the size, bytes: idle periods that are all alike pack to nothing.
const GRANTED: u64 = 16 << 20;
/// A tape that is written is in memory up to this size, packed or not, and in a temporary file beyond it, bytes.
const IN_MEMORY: usize = 8 << 20;

/// The most bytes that a tape of `packed` bytes unpacks to.
fn largest(packed: u64) -> u64 {
    packed.saturating_mul(MOST_GROWTH).saturating_add(GRANTED)
}

/// Why a tape file cannot be read or written.
#[derive(Debug, Error)]
pub enum TapeFileError {
    /// Not a tape at all.
    #[error("not a tape: a tape begins with {MAGIC:?}")]
    NotATape,
    #[error("tape version {found}; this program reads versions {OLDEST} to {VERSION}: {}",
        if *.found > VERSION { "install a newer idlewise" } else { "make the tape again from its trace" })]
    Version { found: u16 },
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
    /// The idle periods of the tape to be written cannot be read.
    #[error(transparent)]
    IdlePeriods(#[from] PiecesError),
    /// What was written of a tape cannot be put aside.
    #[error("temporary file of the tape: {0}; set TMPDIR to a folder on a disk with room (else it is /tmp)")]
    Temporary(#[from] io::Error),
}

/// A tape as [`pack`] writes it.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
struct Stored {
    source: Source,
    inputs: Vec<TapeInput>,
    notes: Vec<(String, String)>,
    /// Name, count, first place.
    health: Vec<(String, u64, String)>,
    cpus: Vec<StoredCpu>,
    stood_still_ns: u64,
    /// More of each CPU; none before version 5.
    more: Vec<StoredMore>,
}

/// Values of a CPU that versions before 5 lack.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
struct StoredMore {
    event_ns: u32,
    /// Nothing for [`NEVER_NS`].
    stale_event: Vec<Option<i64>>,
}

/// A CPU's tape with its idle periods as columns.
#[derive(Deserialize)]
#[cfg_attr(test, derive(Serialize))]
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
    #[cfg(test)]
    use serde::Serializer;
    use serde::{Deserialize, Deserializer};

    #[cfg(test)]
    pub(super) fn serialize<S: Serializer>(v: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(v)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        <&[u8]>::deserialize(d).map(<[u8]>::to_vec)
    }
}

/// A tape file that is still to be put where it belongs.
#[derive(Debug)]
pub struct Packed {
    header: [u8; HEADER],
    content: SpooledTempFile,
    bytes: u64,
}

impl Packed {
    /// How many bytes the file has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the file.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, to: &mut dyn Write) -> io::Result<()> {
        self.content.rewind()?;
        to.write_all(&self.header)?;
        io::copy(&mut self.content, to).map(drop)
    }
}

/// The bytes of a tape file.
///
/// # Errors
/// As [`pack`].
pub fn write(tape: &Tape) -> Result<Vec<u8>, TapeFileError> {
    let mut packed = pack(tape)?;
    let mut out = Vec::new();
    packed.write(&mut out)?;
    Ok(out)
}

/// Makes a tape file, of whatever length in little memory.
///
/// # Errors
/// [`TapeFileError::Content`] when the packing library refuses, or the tape is of idle periods so much alike that [`read`] would
/// refuse it; else when the idle periods cannot be read or a temporary file cannot be written.
pub fn pack(tape: &Tape) -> Result<Packed, TapeFileError> {
    let mut plain = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
    put_tape(tape, &mut plain)?;
    let mut plain = plain.into_inner().map_err(io::IntoInnerError::into_error)?;
    let plain_bytes = plain.stream_position()?;
    let mut content = SpooledTempFile::new(IN_MEMORY);
    match plain.into_inner() {
        // The library packs a few per cent better what it sees as a whole.
        SpooledData::InMemory(plain) => {
            content.write_all(&zstd::bulk::compress(plain.get_ref(), ZSTD_LEVEL)?)?;
        }
        SpooledData::OnDisk(mut plain) => {
            plain.rewind()?;
            let mut encoder = zstd::Encoder::new(&mut content, ZSTD_LEVEL)?;
            encoder.set_pledged_src_size(Some(plain_bytes))?;
            io::copy(&mut plain, &mut encoder)?;
            encoder.finish()?;
        }
    }
    let packed_bytes = content.stream_position()?;
    if plain_bytes > largest(packed_bytes) {
        return Err(TapeFileError::Content(format!("{plain_bytes} bytes that are all alike: no recording")));
    }
    content.rewind()?;
    let mut checksum = Checksum(Xxh3Default::new());
    io::copy(&mut content, &mut checksum)?;
    let mut header = [0; HEADER];
    header[..6].copy_from_slice(MAGIC);
    header[6..8].copy_from_slice(&VERSION.to_le_bytes());
    header[8..].copy_from_slice(&checksum.0.digest().to_le_bytes());
    Ok(Packed { header, content, bytes: HEADER as u64 + packed_bytes })
}

struct Checksum(Xxh3Default);

impl Write for Checksum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the message that [`Stored`] is read from.
fn put_tape(tape: &Tape, out: &mut impl Write) -> Result<(), TapeFileError> {
    let notes: Vec<_> = tape.notes.iter().map(|n| (n.id.name(), &n.words)).collect();
    let health: Vec<_> = tape.health.iter().map(|(kind, c)| (kind.name(), c.count, &c.first)).collect();
    put(&(&tape.source, &tape.inputs, notes, health, tape.cpus.len()), out)?;
    for cpu in &tape.cpus {
        put(&(cpu.cpu, &cpu.usable, cpu.tick, cpu.tick_handler_ns), out)?;
        put(&(&cpu.latency, &cpu.disabled, cpu.sends), out)?;
        let mut before_ns = 0;
        let since_before = |p: &Piece| {
            assert!(p.start_ns >= before_ns, "CPU {}: idle periods are in order", cpu.cpu);
            p.start_ns - std::mem::replace(&mut before_ns, p.start_ns)
        };
        let pieces = &cpu.pieces;
        put_column(pieces, out, since_before)?;
        put_column(pieces, out, |p| p.wake_ns)?;
        put_column(pieces, out, |p| p.hrtimer_ns)?;
        put_column(pieces, out, |p| p.wheel_ns)?;
        put_column(pieces, out, |p| p.exit_lag_ns)?;
        put_column(pieces, out, |p| p.response_ns)?;
        put_column(pieces, out, |p| p.handler_ns)?;
        put_column(pieces, out, |p| p.entry_lag_ns)?;
        put_column(pieces, out, |p| p.util)?;
        put_column(pieces, out, |p| p.iowait)?;
        put_column(pieces, out, |p| p.state)?;
        put_column(pieces, out, |p| p.cause as u8)?;
        put_column(pieces, out, |p| p.flags.0)?;
    }
    put(&(tape.stood_still_ns, tape.cpus.len()), out)?;
    for cpu in &tape.cpus {
        put(&cpu.event_ns, out)?;
        put_column(&cpu.pieces, out, |p| Some(p.stale_event_ns).filter(|ns| *ns != NEVER_NS))?;
    }
    Ok(())
}

/// Writes one value of each idle period.
fn put_column<T: Serialize>(
    pieces: &Pieces,
    out: &mut impl Write,
    mut get: impl FnMut(&Piece) -> T,
) -> Result<(), TapeFileError> {
    put(&pieces.len(), out)?;
    let mut bytes = Vec::new();
    for block in pieces.blocks() {
        bytes.clear();
        for piece in &*block? {
            put(&get(piece), &mut bytes)?;
        }
        out.write_all(&bytes)?;
    }
    Ok(())
}

fn put(value: &impl Serialize, out: &mut impl Write) -> Result<(), TapeFileError> {
    postcard::to_io(value, out).map(drop).map_err(|e| TapeFileError::Content(e.to_string()))
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
    if !(OLDEST..=VERSION).contains(&found) {
        return Err(TapeFileError::Version { found });
    }
    let lacking = VERSION - found;
    let expected = u64::from_le_bytes(number(8, HEADER)?.try_into().unwrap_or_default());
    let packed = bytes.get(HEADER..).unwrap_or_default();
    let found = xxh3_64(packed);
    if found != expected {
        return Err(TapeFileError::Damaged { found, expected });
    }
    let content = |e: String| TapeFileError::Content(e);
    let decoder = zstd::Decoder::new(packed).map_err(|e| content(e.to_string()))?;
    let mut plain = Vec::new();
    let largest = largest(packed.len() as u64);
    decoder.take(largest + 1).read_to_end(&mut plain).map_err(|e| content(e.to_string()))?;
    if plain.len() as u64 > largest {
        return Err(content(format!("unpacks to more than {largest} bytes, which no recording does")));
    }
    plain.extend(std::iter::repeat_n(0, usize::from(lacking)));
    let (stored, rest): (Stored, _) =
        postcard::take_from_bytes(&plain).map_err(|e| content(e.to_string()))?;
    if !rest.is_empty() {
        return Err(content(format!("{} bytes after the end", rest.len())));
    }
    let tape = stored.into_tape(lacking > 0)?;
    check(&tape).map_err(content)?;
    Ok(tape)
}

impl Stored {
    fn into_tape(self, lacks_more: bool) -> Result<Tape, TapeFileError> {
        let mut health = Health::default();
        for (name, count, first) in self.health {
            let kind = HealthKind::from_name(&name)
                .ok_or_else(|| TapeFileError::Content(format!("unknown health counter {name:?}")))?;
            health.add(kind, count, || first);
        }
        let more: Vec<Option<StoredMore>> = match lacks_more {
            true => self.cpus.iter().map(|_| None).collect(),
            false => self.more.into_iter().map(Some).collect(),
        };
        if more.len() != self.cpus.len() {
            return Err(TapeFileError::Content(format!(
                "{} CPUs, and more of {}",
                self.cpus.len(),
                more.len()
            )));
        }
        let notes: Result<_, String> = self.notes.into_iter().map(Note::try_from).collect();
        Ok(Tape {
            source: self.source,
            inputs: self.inputs,
            notes: notes.map_err(TapeFileError::Content)?,
            health,
            cpus: self
                .cpus
                .into_iter()
                .zip(more)
                .map(|(cpu, more)| cpu.into_tape(more))
                .collect::<Result<_, _>>()?,
            stood_still_ns: self.stood_still_ns,
        })
    }
}

impl StoredCpu {
    fn into_tape(self, more: Option<StoredMore>) -> Result<CpuTape, TapeFileError> {
        let n = self.start.len();
        let more = more.unwrap_or_else(|| StoredMore { event_ns: 0, stale_event: vec![None; n] });
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
            more.stale_event.len(),
        ];
        if lengths.iter().any(|len| *len != n) {
            return Err(TapeFileError::Content(format!("CPU {}: columns of different length", self.cpu)));
        }
        let mut start_ns = 0u64;
        let rows =
            self.start.iter().zip(&self.wake).zip(&self.hrtimer).zip(&self.wheel).zip(&more.stale_event);
        let lags = self.exit_lag.iter().zip(&self.response).zip(&self.handler).zip(&self.entry_lag);
        let small = self.util.iter().zip(&self.iowait).zip(&self.state).zip(&self.cause).zip(&self.flags);
        let mut pieces = Vec::with_capacity(n);
        for (
            (((((d, wake), hrtimer), wheel), stale_event), (((exit_lag, response), handler), entry_lag)),
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
                stale_event_ns: stale_event.unwrap_or(NEVER_NS),
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
            event_ns: more.event_ns,
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
