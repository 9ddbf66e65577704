// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::IdleTable;

use crate::{PlatformError, StateInfo};

/// What one idle state costs.
///
/// The unit of power is the microwatt where the table is measured; else a thousandth of the table's own unit.
/// Power (uW) times time (ns) is energy in femtojoule, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateEnergy {
    /// Power while in the state, uW (or thousandths of the relative unit).
    pub power_uw: u64,
    /// Paid once per stay, fJ (or the relative equivalent).
    pub transition_fj: u64,
}

/// How far the numbers of an [`EnergyTable`] can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EnergyGrade {
    /// Nothing is published about the machine: weights that fall from shallow to deep.
    DerivedFromBreakEven,
    /// Published state powers in a unit of their own, such as the tables of early energy-aware scheduling.
    PublishedRelative,
    /// Watts that are assumed from a rated power, or from totals of a similar machine: nothing of this machine's cores was measured.
    Assumed,
    /// Watts that a model was given so that it agrees with measured totals of several CPUs; states that these do not tell apart
    /// are assumed. Transition energy is derived.
    Fitted,
    /// State powers measured in watts. Transition energy is still derived.
    Measured,
}

impl EnergyGrade {
    /// Whether powers are watts, and energies joules.
    #[must_use]
    pub fn in_watts(self) -> bool {
        matches!(self, Self::Assumed | Self::Fitted | Self::Measured)
    }

    /// What speaks against energies of this grade, in short; nothing against measured ones.
    #[must_use]
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            Self::DerivedFromBreakEven | Self::PublishedRelative => Some("energy is relative"),
            Self::Assumed => Some("powers are assumed"),
            Self::Fitted => Some("powers are fitted"),
            Self::Measured => None,
        }
    }

    /// The words that belong next to every number that depends on the table.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::DerivedFromBreakEven => "relative, derived from break-even",
            Self::PublishedRelative => "relative, from published state powers",
            Self::Assumed => {
                "watts assumed from rated or similar machines, transitions derived from break-even"
            }
            Self::Fitted => "watts of a fit to measured totals, transitions derived from break-even",
            Self::Measured => "measured state powers, transitions derived from break-even",
        }
    }
}

/// How the assumed powers fall where nothing is known (`signal-behaviour.md` D6). A conclusion worth keeping survives
/// both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fall {
    /// Each state has the same fraction of the power of the one above it.
    #[default]
    Geometric,
    /// Each state saves as much as the one above it did: equal weights.
    EqualSteps,
}

/// The energy of one CPU's idle states: `E(t) = transition + power * max(t, entry)`.
///
/// Transition energies make each state's target residency the exact break-even against its shallower neighbour, unless the
/// platform knows them: `X_j = X_i + (P_i - P_j) * T_j`, `X_0 = 0` (`signal-behaviour.md` D5). So the model favours no governor: it says
/// what the table says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnergyTable {
    /// One entry per state of the idle table.
    pub states: Vec<StateEnergy>,
    /// Power of the running, fully busy CPU at the same operating point, uW (or thousandths of the relative unit).
    pub active_power_uw: u64,
    /// How far to trust the numbers.
    pub grade: EnergyGrade,
    /// One sentence for the top of a result: where the numbers come from, at which operating point, what is assumed.
    pub basis: String,
}

/// The assumptions of a table for which nothing is published; `signal-behaviour.md` D6 ("WFI : C2 : C3 = 1 : 0.3 :
/// 0.05", "polling power = active power") and the WFI/active ratios of the one phone with public curves (1 to 18 %).
mod assumed {
    /// The shallowest state that sleeps defines the unit.
    pub(super) const SHALLOWEST: u64 = 1000;
    /// Deepest against shallowest: 5 %.
    pub(super) const DEEPEST: u64 = 50;
    /// Running, and polling, against the shallowest state that sleeps.
    pub(super) const ACTIVE: u64 = 10 * SHALLOWEST;
}

impl EnergyTable {
    /// A table from one power per state, transitions chained pairwise from the residencies. A state that draws more
    /// than the one above it gets no credit: its transition energy is its neighbour's.
    ///
    /// # Errors
    /// [`PlatformError::Energy`] when there is not one power per state or an energy exceeds 64 bits.
    pub fn chained(
        table: &IdleTable,
        power_uw: &[u64],
        active_power_uw: u64,
        grade: EnergyGrade,
        basis: String,
    ) -> Result<Self, PlatformError> {
        if power_uw.len() != table.len() {
            return Err(PlatformError::Energy(format!(
                "{} state powers for {} idle states: give one per state, shallow to deep",
                power_uw.len(),
                table.len()
            )));
        }
        let mut states: Vec<StateEnergy> = Vec::with_capacity(table.len());
        for (state, &power_uw) in table.states().iter().zip(power_uw) {
            let transition_fj = match states.last() {
                None => Some(0),
                Some(above) => above
                    .power_uw
                    .saturating_sub(power_uw)
                    .checked_mul(state.target_residency_ns.unsigned_abs())
                    .and_then(|step| step.checked_add(above.transition_fj)),
            };
            let Some(transition_fj) = transition_fj else {
                return Err(PlatformError::Energy(format!(
                    "state `{}`: transition energy does not fit 64 bits of fJ: is its power or residency in the wrong unit?",
                    state.name
                )));
            };
            states.push(StateEnergy { power_uw, transition_fj });
        }
        Ok(Self { states, active_power_uw, grade, basis })
    }

    /// The table for a machine about which nothing is published: weights, not watts. The shallowest state that
    /// sleeps draws 1000, the deepest that can be entered 50, those between fall as `fall` says; polling and
    /// running draw 10 000. A state whose residency never comes (`never[i]`) draws what the state above it does.
    ///
    /// # Errors
    /// [`PlatformError::Energy`] as for [`EnergyTable::chained`]; not for tables of the kernel's size.
    pub fn derived(table: &IdleTable, never: &[bool], fall: Fall) -> Result<Self, PlatformError> {
        let counts = |i: usize, polling: bool| !polling && !never.get(i).copied().unwrap_or(false);
        let sleeping = table.states().iter().enumerate().filter(|(i, s)| counts(*i, s.polling)).count();
        let steps = u32::try_from(sleeping.saturating_sub(1)).unwrap_or(u32::MAX);
        let mut power = Vec::with_capacity(table.len());
        let mut step = 0;
        for (i, s) in table.states().iter().enumerate() {
            if counts(i, s.polling) {
                power.push(weight(step, steps, fall));
                step += 1;
            } else if s.polling {
                power.push(assumed::ACTIVE);
            } else {
                power.push(power.last().copied().unwrap_or(assumed::SHALLOWEST));
            }
        }
        let how = match fall {
            Fall::Geometric => "geometrically",
            Fall::EqualSteps => "in equal steps",
        };
        let basis = format!(
            "nothing is published about this machine's state powers: relative weights that fall {how} from 1 (shallowest \
             sleep) to {} (deepest), running and polling {}; transition energy makes each target residency the exact \
             break-even; every cluster has a scale of its own",
            if steps == 0 { "1".to_string() } else { format!("{}.{:02}", 0, assumed::DEEPEST / 10) },
            assumed::ACTIVE / assumed::SHALLOWEST,
        );
        Self::chained(table, &power, assumed::ACTIVE, EnergyGrade::DerivedFromBreakEven, basis)
    }

    /// The same table, where states whose transition is known ([`StateInfo::transition_ns`]) cost that.
    ///
    /// # Errors
    /// [`PlatformError::Energy`] when an energy exceeds 64 bits.
    pub fn paying(mut self, info: &[StateInfo]) -> Result<Self, PlatformError> {
        for (i, (state, info)) in self.states.iter_mut().zip(info).enumerate() {
            let Some(ns) = info.transition_ns else { continue };
            state.transition_fj = ns.checked_mul(self.active_power_uw).ok_or_else(|| {
                PlatformError::Energy(format!("state {i}: transition energy does not fit 64 bits of fJ"))
            })?;
        }
        Ok(self)
    }

    /// Energy of a stay in `state` that ends `t_ns` after its start, whose way in takes `entry_ns`; fJ (or the
    /// relative equivalent). 0 for a state the table does not have. The way out is not included: the CPU is
    /// already running again then.
    #[inline]
    #[must_use]
    pub fn stay_fj(&self, state: usize, t_ns: u64, entry_ns: u64) -> u128 {
        let Some(s) = self.states.get(state) else { return 0 };
        u128::from(s.transition_fj) + u128::from(s.power_uw) * u128::from(t_ns.max(entry_ns))
    }

    /// Energy of running for `t_ns`, fJ (or the relative equivalent).
    #[inline]
    #[must_use]
    pub fn active_fj(&self, t_ns: u64) -> u128 {
        u128::from(self.active_power_uw) * u128::from(t_ns)
    }

    /// The unit to print energies in: "mJ", or "rel" where the table does not know watts.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.grade {
            EnergyGrade::Assumed | EnergyGrade::Fitted | EnergyGrade::Measured => "mJ",
            EnergyGrade::PublishedRelative | EnergyGrade::DerivedFromBreakEven => "rel",
        }
    }

    /// `energy_fj` in [`EnergyTable::unit`]: 10^12 fJ are one mJ; one "rel" is one relative unit of power for one
    /// second, so a derived table's shallowest state costs 1 rel a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    pub fn in_unit(&self, energy_fj: u128) -> f64 {
        energy_fj as f64 / 1e12
    }
}

/// Weight of step `step` of 0..=`steps`.
fn weight(step: u32, steps: u32, fall: Fall) -> u64 {
    use assumed::{DEEPEST, SHALLOWEST};
    if steps == 0 {
        return SHALLOWEST;
    }
    let step = step.min(steps);
    match fall {
        Fall::EqualSteps => SHALLOWEST - (SHALLOWEST - DEEPEST) * u64::from(step) / u64::from(steps),
        // The steps-th root of SHALLOWEST^(steps-step) * DEEPEST^step, to the nearest integer, without floats: the
        // same on every machine. With ten states the product is below 10^27.
        Fall::Geometric => {
            let product = u128::from(SHALLOWEST).pow(steps - step) * u128::from(DEEPEST).pow(step);
            let close = |r: u64| u128::from(2 * r + 1).pow(steps) > product << steps;
            // The least that is close enough, of those from `low` to `high`.
            let (mut low, mut high) = (DEEPEST, SHALLOWEST);
            while low < high {
                let middle = low.midpoint(high);
                if close(middle) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use idlewise_model::IdleState;

    fn table(residencies_us: &[i64]) -> IdleTable {
        let state = |&r: &i64| IdleState {
            name: format!("S{r}"),
            exit_latency_ns: r * 500,
            target_residency_ns: r * 1000,
            entry_ns: r * 250,
            polling: r == 0,
            disabled: false,
        };
        IdleTable::new(residencies_us.iter().map(state).collect()).unwrap()
    }

    #[test]
    fn a_target_residency_is_the_exact_break_even_of_its_neighbours() {
        for residencies in [&[0, 2, 20, 600][..], &[1, 900, 2000], &[0, 1, 3, 3, 70, 5000, 5000]] {
            let table = table(residencies);
            for fall in [Fall::Geometric, Fall::EqualSteps] {
                let e = EnergyTable::derived(&table, &[], fall).unwrap();
                for j in 1..table.len() {
                    let (t, entry) = (table.states()[j].target_residency_ns, table.states()[j].entry_ns);
                    let at = |i: usize, t: i64| e.stay_fj(i, t.unsigned_abs(), entry.unsigned_abs());
                    assert_eq!(at(j - 1, t), at(j, t), "{residencies:?} {j}");
                    assert!(at(j, t + 1) < at(j - 1, t + 1));
                    assert!(at(j, t - 1) > at(j - 1, t - 1));
                }
            }
        }
    }

    #[test]
    fn assumed_powers_fall_to_a_twentieth() {
        let powers = |r: &[i64], fall| {
            let e = EnergyTable::derived(&table(r), &[], fall).unwrap();
            e.states.iter().map(|s| s.power_uw).collect::<Vec<_>>()
        };
        assert_eq!(powers(&[0, 2, 20, 600], Fall::Geometric), [10_000, 1000, 224, 50]);
        assert_eq!(powers(&[1, 900, 2000], Fall::EqualSteps), [1000, 525, 50]);
        assert_eq!(powers(&[0, 1], Fall::Geometric), [10_000, 1000]);
        assert_eq!(
            powers(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], Fall::Geometric),
            [1000, 717, 514, 368, 264, 189, 136, 97, 70, 50]
        );
    }

    #[test]
    fn a_state_that_never_pays_takes_no_part_in_the_fall() {
        let e = EnergyTable::derived(
            &table(&[1, 900, 2000, 3_600_000_000]),
            &[false, false, false, true],
            Fall::Geometric,
        );
        let e = e.unwrap();
        assert_eq!(e.states[3].power_uw, 50);
        assert_eq!(e.states[3].transition_fj, e.states[2].transition_fj);
    }

    #[test]
    fn the_way_in_is_paid_in_full() {
        let e = EnergyTable::derived(&table(&[1, 1000]), &[], Fall::Geometric).unwrap();
        assert_eq!(e.stay_fj(1, 0, 250_000), e.stay_fj(1, 250_000, 250_000));
        assert_eq!(e.stay_fj(9, 5, 0), 0);
        assert_eq!(e.unit(), "rel");
        assert_eq!(e.in_unit(e.stay_fj(0, 1_000_000_000, 0)), 1.0);
    }

    #[test]
    fn energies_that_do_not_fit_are_refused() {
        let t = table(&[1, 1_000_000]);
        let e = EnergyTable::chained(&t, &[u64::MAX, 0], 0, EnergyGrade::Measured, String::new());
        assert!(e.unwrap_err().to_string().contains("64 bits"));
        let e = EnergyTable::chained(&t, &[5], 0, EnergyGrade::Measured, String::new());
        assert_eq!(
            e.unwrap_err().to_string(),
            "1 state powers for 2 idle states: give one per state, shallow to deep"
        );
    }
}
