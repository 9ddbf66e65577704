// SPDX-License-Identifier: GPL-2.0-only
//! Do tasks in uninterruptible sleep wait for I/O? Where a recording does not tell, the choices of its kernel's governor may.

use idlewise_governor::{GovernorError, Offered};
use idlewise_recording::{CommandError, Recording};
use idlewise_report::share;

use crate::agreement::Agreement;
use crate::own_governor::followed;

/// Leads the kernel's governor, where it is known, through each of `recordings` that only bounds the tasks that wait for I/O: with
/// all in uninterruptible sleep, and with none. None are taken where that repeats more of the kernel's choices.
///
/// # Errors
/// [`CommandError`] when a tape cannot be read, or a governor that was asked for cannot be found.
pub fn settle_io_waits<'r>(
    recordings: impl IntoIterator<Item = &'r mut Recording>,
    offered: &Offered,
) -> Result<(), CommandError> {
    recordings.into_iter().try_for_each(|recording| settle(recording, offered))
}

fn settle(recording: &mut Recording, offered: &Offered) -> Result<(), CommandError> {
    let unsure = recording.unsure_io_waits()?;
    if unsure == 0 {
        return Ok(());
    }
    let Ok(governor) = recording.kernels_governor(offered)? else { return Ok(()) };
    let others = recording.other_io_waits();
    let both = [&recording.tape.cpus, &others]
        .map(|tapes| governor.run(|loader| followed(loader, recording, tapes)));
    let [all, none] = match both {
        [Ok(all), Ok(none)] => [all, none],
        [Err(GovernorError::IdlePeriods(e)), _] | [_, Err(GovernorError::IdlePeriods(e))] => {
            return Err(e.into());
        }
        // Its fidelity says why it cannot be run.
        _ => return Ok(()),
    };
    if none.diverging() < all.diverging() {
        let pct = |a: &Agreement| share(a.same_pct(), 1);
        recording.take_no_io_waits(&format!(
            "tasks in uninterruptible sleep at {unsure} idle entries, which may wait for I/O, are taken not to: so {} repeats {} % \
             of the kernel's choices, else {} %",
            governor.label(),
            pct(&none),
            pct(&all),
        ));
    }
    Ok(())
}
