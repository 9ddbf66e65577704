// SPDX-License-Identifier: GPL-2.0-only
//! What every governor must keep, and versions of a series violate.

use idlewise_check::{CheckReport, CheckRequest, Property, SEQUENCES, Verdict, Violation, check};

use crate::report::{Finding, ReviewRequest, RowCheck};
use crate::versions::Version;

/// Checks a version; the same request gives the same result. Cost is measured elsewhere, and the same in every run.
pub(crate) fn of(version: &Version, asked: &ReviewRequest) -> Result<CheckReport, String> {
    let governor = version.governor.clone();
    let sequences = asked.check_sequences.unwrap_or(SEQUENCES);
    let wanted = |p: &Property| sequences > 0 && *p != Property::Cost;
    let properties = Property::ALL.into_iter().filter(wanted).collect();
    let request = CheckRequest { governor, properties, seed: asked.seed.max(1), sequences };
    check(&request, |_| false).map_err(|e| version.shown(&e.to_string()))
}

/// What `report` has that `base` has not, and the reverse.
pub(crate) fn against(base: Option<&CheckReport>, report: &CheckReport, version: &Version) -> RowCheck {
    let of = |r: Option<&CheckReport>| r.map_or(&[][..], |r| r.findings.as_slice()).to_vec();
    let (before, after) = (of(base), of(Some(report)));
    let has = |all: &[Violation], one: &Violation| all.iter().any(|v| same(v, one));
    let shown = |v: &Violation| Finding {
        property: v.property.name(),
        what: v.what.clone(),
        place: v.place.as_ref().map(|place| version.shown(place)),
        idle_periods: v.story.iter().map(|row| u64::from(row.times)).sum(),
    };
    let pick = |all: &[Violation], is: &dyn Fn(&Violation) -> bool| {
        all.iter().filter(|v| is(v)).map(shown).collect::<Vec<Finding>>()
    };
    let not_checked = report.properties.iter().filter(|p| p.verdict == Verdict::NotChecked);
    RowCheck {
        new: pick(&after, &|v| !has(&before, v)),
        old: pick(&after, &|v| has(&before, v)),
        mended: pick(&before, &|v| !has(&after, v)),
        not_checked: not_checked
            .map(|p| format!("{}: {}", p.property, version.shown(p.why.as_deref().unwrap_or("not known"))))
            .collect(),
    }
}

/// Whether two violations are one fault: lines move with patches, and sequences with everything.
fn same(a: &Violation, b: &Violation) -> bool {
    a.property == b.property && (a.place.is_none() || b.place.is_none() || a.what == b.what)
}
