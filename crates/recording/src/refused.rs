// SPDX-License-Identifier: GPL-2.0-only
//! States that a machine never enters: by its platform file, or by what a recording and its counters show.

use std::collections::BTreeMap;

use idlewise_model::{MAX_STATES, Note, NoteId, Piece, PieceFlags, PiecesError, Tape, TapeCpu};
use idlewise_platform::{EntryKind, Platform};

use crate::counter_snapshots::CounterSnapshots;

/// So many entries, all of them refused, make a rule, in a recording.
const MANY: u64 = 10;

/// Marks the states of `machine` that `tape` or the counters next to it show to be always refused, with a note on each, and on those that
/// `machine` has as refused and that were entered.
pub(crate) fn find(
    machine: &mut Platform,
    tape: &Tape,
    looks: Option<&CounterSnapshots>,
) -> Result<Vec<Note>, PiecesError> {
    let recorded = entries(machine, tape)?;
    let mut notes = Vec::new();
    for (c, cluster) in machine.clusters.iter_mut().enumerate() {
        let mut mask = cluster.table.refused();
        for (i, state) in cluster.table.states().iter().enumerate() {
            let Some(info) = cluster.info.get_mut(i) else { continue };
            if info.entry == EntryKind::Refused
                && let Some((n, refused)) = recorded.get(&(c, i)).filter(|(n, refused)| n - refused >= MANY)
            {
                notes.push(NoteId::RefusedEntered.note(format!(
                    "state {i} {} of {}: the machine's description says that every entry is refused, and {} of {n} in the \
                     recording were not: it is another machine, or not described right",
                    state.name,
                    cluster.name,
                    n - refused
                )));
            }
            if info.entry != EntryKind::Normal {
                continue;
            }
            let counted = looks.and_then(|l| refusals(l, &cluster.cpus, i));
            let recorded = recorded.get(&(c, i)).filter(|(n, refused)| n == refused && *n >= MANY);
            let how = match (counted, recorded) {
                (Some(n), _) => {
                    format!("by the kernel's counters it was never entered, and refused {n} times")
                }
                (None, Some((n, _))) => format!("all of its {n} entries in the recording were refused"),
                (None, None) => continue,
            };
            info.entry = EntryKind::Refused;
            mask |= 1 << i;
            notes.push(NoteId::AlwaysRefused.note(format!(
                "state {i} {} of {}: {how}: taken as always refused",
                state.name, cluster.name
            )));
        }
        cluster.table = cluster.table.clone().refusing(mask);
    }
    Ok(notes)
}

/// By cluster and state: entries in the recording, and how many of them were refused.
type Entries = BTreeMap<(usize, usize), (u64, u64)>;

fn entries(machine: &Platform, tape: &Tape) -> Result<Entries, PiecesError> {
    let mut out = Entries::new();
    for cpu in tape.cpus.iter().filter(|c| c.usable == TapeCpu::Usable) {
        let Some(cluster) = machine.cluster_index_of(cpu.cpu) else { continue };
        let mut seen = [(0, 0); MAX_STATES];
        for block in cpu.pieces.blocks() {
            for Piece { state, flags, .. } in &*block? {
                if let Some((n, refused)) = seen.get_mut(usize::from(*state)) {
                    *n += 1;
                    *refused += u64::from(flags.has(PieceFlags::REJECTED));
                }
            }
        }
        for (i, (n, refused)) in seen.into_iter().enumerate().filter(|(_, (n, _))| *n > 0) {
            let sum = out.entry((cluster, i)).or_default();
            sum.0 += n;
            sum.1 += refused;
        }
    }
    Ok(out)
}

/// How often state `i` of `cpus` was refused, where it never was anything else.
fn refusals(looks: &CounterSnapshots, cpus: &[u32], i: usize) -> Option<u64> {
    let mut refused = 0;
    for cpu in cpus {
        let state = looks.after.1.cpus.get(cpu)?.get(i)?;
        if state.usage? > 0 {
            return None;
        }
        refused = state.rejected?.saturating_add(refused);
    }
    (refused > 0).then_some(refused)
}

/// `machine` as if every state could be entered that is always refused: what a recording says of that is no difference
/// between two descriptions of one machine.
pub(crate) fn as_described(machine: &Platform) -> Platform {
    let mut machine = machine.clone();
    for cluster in &mut machine.clusters {
        cluster.table = cluster.table.clone().refusing(0);
        for info in cluster.info.iter_mut().filter(|i| i.entry == EntryKind::Refused) {
            info.entry = EntryKind::Normal;
        }
    }
    machine
}

/// The states of `machine` that no governor can enter, in words.
pub fn words(machine: &Platform) -> Vec<String> {
    let mut by_state: Vec<(String, EntryKind, Vec<&str>)> = Vec::new();
    for cluster in &machine.clusters {
        for (state, info) in cluster.table.states().iter().zip(&cluster.info) {
            if info.entry == EntryKind::Normal {
                continue;
            }
            match by_state.iter_mut().find(|(name, entry, _)| *name == state.name && *entry == info.entry) {
                Some((_, _, clusters)) => clusters.push(&cluster.name),
                None => by_state.push((state.name.clone(), info.entry, vec![&cluster.name])),
            }
        }
    }
    let line = |(name, entry, clusters): (String, EntryKind, Vec<&str>)| {
        let what = match entry {
            EntryKind::Refused => "every entry is refused; governors may choose it, and the CPU stays awake",
            EntryKind::Normal | EntryKind::S2idle => "only suspend-to-idle enters it: off for governors",
        };
        format!("{name} of {}: {what}", clusters.join(", "))
    };
    by_state.into_iter().map(line).collect()
}
