// SPDX-License-Identifier: GPL-2.0-only
//! The power limits of a request, and whether the machine can have them.

use idlewise_parts::Machine;
use idlewise_platform::Platform;
use idlewise_power::{Limit, LimitRequest, LimitSet, Limits};
use idlewise_recording::CommandError;

use super::{SimulateRequest, bounds};

const OPTION: &str = "--power-limit";

/// The limits of `request`, a row each; the platform's own where it asks for none.
pub(super) fn rows(
    request: &SimulateRequest,
    platform: &Platform,
    machine: &Machine<'_>,
) -> Result<Vec<LimitSet>, CommandError> {
    let own = machine.power_limits;
    let rows = match &request.power_limit {
        None => vec![LimitSet::of_machine(&own)],
        Some(text) => {
            let wrong =
                |e: idlewise_power::LimitRequestError| CommandError::argument(OPTION, OPTION, e.to_string());
            LimitRequest::parse(text).and_then(|asked| asked.rows(&own)).map_err(wrong)?
        }
    };
    bounds::runs(request, rows.len())?;
    for row in &rows {
        possible(&row.limits, platform, machine).map_err(|why| match request.power_limit {
            Some(_) => CommandError::conflict(&[OPTION, "--platform"], format!("{OPTION}: {why}")),
            None => {
                let limited = row.limits.named().next().is_some();
                let way = if limited {
                    format!("; `{OPTION} none` simulates it without limits")
                } else {
                    String::new()
                };
                CommandError::conflict(&["--platform"], format!("{}: {why}{way}", platform.id))
            }
        })?;
    }
    Ok(rows)
}

/// Whether limits of power can hold on a machine.
///
/// # Errors
/// With what is missing, or what was expected.
fn possible(limits: &Limits, platform: &Platform, machine: &Machine<'_>) -> Result<(), String> {
    let id = &platform.id;
    if limits.named().next().is_none() && machine.heat.is_none() {
        return Ok(());
    }
    let points = || machine.clocks.iter().flat_map(|c| &c.points);
    let measured = |p: &idlewise_parts::Point<'_>| {
        p.energy.grade.in_watts() && p.shared.is_none_or(|s| s.grade.in_watts())
    };
    if !points().all(measured) {
        return Err(format!(
            "limits and temperatures need watts, and the powers of {id} are relative; expected a platform with [cluster.power] \
             in uw, uw-fitted or uw-assumed for every cluster (docs/reference/platform-format.md)"
        ));
    }
    if machine.clocks.iter().all(|c| c.points.len() < 2) {
        return Err(format!(
            "a limit lowers clocks, and {id} has none; expected a platform with [cluster.clock] of two points or more"
        ));
    }
    let base =
        |c: &idlewise_platform::Cluster| c.clock.as_ref().is_some_and(|clock| clock.base_khz.is_some());
    for (name, limit) in limits.named() {
        let Limit { power_uw, clamp, .. } = limit;
        let idle_uw = machine.idle_uw();
        if power_uw <= idle_uw {
            let (watts, idle) = (power_uw as f64 / 1e6, idle_uw as f64 / 1e6);
            return Err(format!(
                "{name} of {watts} W is not above what {id} draws while all its CPUs are in the idle state that \
                 draws least; expected more than {idle} W"
            ));
        }
        if !clamp && !machine.clusters.iter().all(base) {
            return Err(format!(
                "{name} without a clamp ends at the base clock, which {id} does not give; expected base_khz in each \
                 [cluster.clock], or a clamp"
            ));
        }
    }
    Ok(())
}
