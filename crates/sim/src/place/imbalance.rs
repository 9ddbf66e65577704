// SPDX-License-Identifier: GPL-2.0-only
//! How uneven two groups of CPUs are, and how much has to move: arithmetic only.

use super::util::is_greater;

/// What groups may differ without anything moving, percent (`imbalance_pct`).
const DIFFER_PCT: u64 = 117;

/// CPUs that are looked at together, and what they have to do: one, or a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) cpus: u64,
    /// CPUs that have nothing to do.
    pub(super) idle: u64,
    /// Tasks that run or wait, and the fair ones of them.
    pub(super) tasks: u64,
    pub(super) fair: u64,
    pub(super) load: u64,
    pub(super) util: u64,
    pub(super) runnable: u64,
    /// What is left for fair tasks: of all, of the largest CPU, of the smallest.
    pub(super) room: u64,
    pub(super) most_room: u64,
    pub(super) least_room: u64,
    /// Load of the largest task that does not fit its CPU, else 0.
    pub(super) misfit: u64,
}

/// How busy a group is; the later the busier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    HasSpare,
    FullyBusy,
    Misfit,
    Overloaded,
}

/// How much has to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    Load(u64),
    Util(u64),
    Tasks(u64),
    /// The task that does not fit.
    Misfit,
}

/// Between what and for whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Between {
    /// The CPU that pulls has nothing else to do.
    pub(super) idle: bool,
    /// What is left of that CPU for fair tasks.
    pub(super) room: u64,
    /// Groups are CPUs of one cluster.
    pub(super) shares_cache: bool,
    /// Tasks are spread over groups before groups are filled.
    pub(super) spreads: bool,
    /// Groups differ in capacity.
    pub(super) asymmetric: bool,
}

impl Group {
    fn is_overloaded(&self) -> bool {
        self.tasks > self.cpus
            && (self.room * 100 < self.util * DIFFER_PCT || self.room * DIFFER_PCT < self.runnable * 100)
    }

    fn has_capacity(&self) -> bool {
        self.tasks < self.cpus
            || (self.room * DIFFER_PCT >= self.runnable * 100 && self.room * 100 > self.util * DIFFER_PCT)
    }

    pub(super) fn kind(&self) -> Kind {
        if self.is_overloaded() {
            Kind::Overloaded
        } else if self.misfit > 0 {
            Kind::Misfit
        } else if self.has_capacity() {
            Kind::HasSpare
        } else {
            Kind::FullyBusy
        }
    }

    fn mean_load(&self) -> u64 {
        self.load * 1024 / self.room.max(1)
    }

    /// Whether it is a better source than `other` for a CPU of `local` (`update_sd_pick_busiest`).
    pub(super) fn is_busier(&self, other: Option<&Self>, local: &Self, how: &Between) -> bool {
        let kind = self.kind();
        if self.fair == 0
            || (kind == Kind::Misfit
                && (!is_greater(how.room, self.most_room) || local.kind() != Kind::HasSpare))
        {
            return false;
        }
        let Some(other) = other else { return self.may_go_down(kind, how) };
        match kind.cmp(&other.kind()) {
            std::cmp::Ordering::Less => return false,
            std::cmp::Ordering::Greater => {}
            std::cmp::Ordering::Equal => {
                let more = match kind {
                    Kind::Overloaded | Kind::FullyBusy => self.mean_load() > other.mean_load(),
                    Kind::Misfit => self.misfit > other.misfit,
                    Kind::HasSpare => {
                        self.idle < other.idle || (self.idle == other.idle && self.tasks > other.tasks)
                    }
                };
                if !more {
                    return false;
                }
            }
        }
        self.may_go_down(kind, how)
    }

    /// Larger CPUs give to smaller ones only what is too much for them.
    fn may_go_down(&self, kind: Kind, how: &Between) -> bool {
        !(how.asymmetric && kind <= Kind::FullyBusy && is_greater(self.least_room, how.room))
    }
}

/// What has to move from `busiest` to `local`; `all` is the load and the room of all groups. `minds_energy` keeps all but
/// misfits where energy wants them.
pub(super) fn amount(
    local: &Group,
    busiest: &Group,
    all: (u64, u64),
    how: &Between,
    minds_energy: bool,
) -> Option<Amount> {
    let (kind, own) = (busiest.kind(), local.kind());
    if kind == Kind::Misfit {
        return Some(Amount::Misfit);
    }
    let mean = all.0 * 1024 / all.1.max(1);
    if minds_energy || own > kind {
        return None;
    }
    let (theirs, ours) = (busiest.mean_load(), local.mean_load());
    if own == Kind::Overloaded && (ours >= theirs || ours >= mean || 100 * theirs <= DIFFER_PCT * ours) {
        return None;
    }
    let more = busiest.tasks.saturating_sub(local.tasks);
    let spreads = how.spreads && own == Kind::HasSpare && more > 1;
    if !spreads
        && kind != Kind::Overloaded
        && (!how.idle || (busiest.cpus > 1 && local.idle <= busiest.idle + 1) || busiest.fair == 1)
    {
        return None;
    }
    if own == Kind::HasSpare {
        if kind > Kind::FullyBusy && !how.shares_cache {
            let spare = local.room.saturating_sub(local.util);
            let any = how.idle && spare == 0;
            return if any { Some(Amount::Tasks(1)) } else { some(Amount::Util, spare) };
        }
        let tasks =
            if busiest.cpus == 1 || how.spreads { more } else { local.idle.saturating_sub(busiest.idle) };
        return some(Amount::Tasks, tasks / 2);
    }
    if own != Kind::Overloaded && (ours >= theirs || ours >= mean) {
        return None;
    }
    let above = theirs.saturating_sub(mean) * busiest.room;
    let below = mean.saturating_sub(ours) * local.room;
    some(Amount::Load, above.min(below) / 1024)
}

fn some(what: fn(u64) -> Amount, n: u64) -> Option<Amount> {
    (n > 0).then(|| what(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPUs of 1024 with so many tasks, each always running.
    fn group(cpus: u64, tasks: u64) -> Group {
        let util = tasks.min(cpus) * 1024;
        Group {
            cpus,
            idle: cpus.saturating_sub(tasks),
            tasks,
            fair: tasks,
            load: tasks * 1024,
            util,
            runnable: tasks * 1024,
            room: cpus * 1024,
            most_room: 1024,
            least_room: 1024,
            misfit: 0,
        }
    }

    fn between(idle: bool) -> Between {
        Between { idle, room: 1024, shares_cache: true, spreads: false, asymmetric: false }
    }

    fn moves(local: &Group, busiest: &Group, idle: bool) -> Option<Amount> {
        let all = (local.load + busiest.load, local.room + busiest.room);
        amount(local, busiest, all, &between(idle), false)
    }

    #[test]
    fn an_idle_cpu_takes_half_of_what_is_more_elsewhere() {
        assert_eq!(moves(&group(1, 0), &group(1, 1), true), None);
        assert_eq!(moves(&group(1, 0), &group(1, 2), true), Some(Amount::Tasks(1)));
        assert_eq!(moves(&group(1, 0), &group(1, 5), true), Some(Amount::Tasks(2)));
    }

    #[test]
    fn busy_cpus_come_as_near_as_whole_tasks_allow() {
        assert_eq!(moves(&group(1, 2), &group(1, 2), false), None);
        // The mean is 3 of 1024: one task's load may move.
        assert_eq!(moves(&group(1, 2), &group(1, 4), false), Some(Amount::Load(1024)));
        assert_eq!(moves(&group(1, 4), &group(1, 2), false), None);
        // One task on the one, two on the other: a half may move, which no task is.
        assert_eq!(moves(&group(1, 1), &group(1, 2), false), Some(Amount::Load(512)));
    }

    #[test]
    fn a_misfit_moves_to_larger_cpus_with_room_only() {
        let small = Group { room: 160, most_room: 160, least_room: 160, misfit: 900, ..group(1, 1) };
        let how = Between { shares_cache: false, asymmetric: true, ..between(true) };
        assert!(small.is_busier(None, &group(2, 0), &how));
        assert!(!small.is_busier(None, &group(2, 2), &how));
        assert!(!small.is_busier(None, &group(2, 0), &Between { room: 160, ..how }));
        assert_eq!(amount(&group(2, 0), &small, (0, 1), &how, true), Some(Amount::Misfit));
    }

    #[test]
    fn energy_keeps_all_but_misfits_where_they_are() {
        let all = (5 * 1024, 2048);
        assert_eq!(amount(&group(1, 0), &group(1, 5), all, &between(true), true), None);
    }
}
