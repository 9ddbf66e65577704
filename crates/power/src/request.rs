// SPDX-License-Identifier: GPL-2.0-only
//! Limits as a user writes them: `pl1=4W..8W/1W:28s,pl2=12W:976us`.

use std::fmt::Write as _;

use thiserror::Error;

use crate::{Limit, Limits};

/// Rows of all ranges together at most: what is more is a mistake of a step.
const MOST_ROWS: u64 = 1000;
/// A megawatt, uW: no package draws more.
const MOST_UW: u64 = 1_000_000_000_000;
/// A day, ns: no window is longer. RAPL's own encoding ends at minutes.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// Limits that were asked for: each a power or a range of powers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitRequest {
    /// By name; those that are not in it are the machine's own.
    items: Vec<Item>,
    /// No limit at all, whatever the machine says.
    none: bool,
}

/// One set of limits, with what a result calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitSet {
    /// As it would be asked for without a range.
    pub name: String,
    /// What tells it from the other rows: the powers of its ranges; empty where there is no range.
    pub short: String,
    /// The machine's own limits that hold besides, in the same words; may be empty.
    pub own: String,
    pub limits: Limits,
}

impl LimitSet {
    /// The machine's `own` limits, where nothing was asked for.
    #[must_use]
    pub fn of_machine(own: &Limits) -> Self {
        Self { name: String::new(), short: String::new(), own: name(own, |_| true), limits: *own }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    name: &'static str,
    powers_uw: Vec<u64>,
    window_ns: Option<u64>,
    clamp: Option<bool>,
    start_uw: Option<u64>,
}

/// Why limits cannot be read, or lack something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{item}: {why}; expected {expected}")]
pub struct LimitRequestError {
    /// The part that is wrong.
    pub item: String,
    pub why: String,
    pub expected: &'static str,
}

const ITEM: &str =
    "pl1=POWER:WINDOW or pl2=POWER:WINDOW, separated by commas, such as pl1=6W:28s,pl2=12W:976us, or none";
const POWER: &str = "a power in W or mW, such as 6W or 4500mW, or a range FROM..TO/STEP, such as 4W..8W/1W";
const WINDOW: &str = "a window above 0 in s, ms or us, a day at most, such as pl1=6W:28s";
const PARTS: &str = "POWER:WINDOW, then :clamp or :no-clamp, then @START, the average's power at the start";

impl LimitRequest {
    /// Reads `none`, or limits separated by commas.
    ///
    /// # Errors
    /// [`LimitRequestError`] with the part that is wrong and what was expected.
    pub fn parse(text: &str) -> Result<Self, LimitRequestError> {
        if text == "none" {
            return Ok(Self { items: Vec::new(), none: true });
        }
        let mut items: Vec<Item> = Vec::new();
        for item in text.split(',') {
            let read = Item::parse(item.trim())?;
            if items.iter().any(|i| i.name == read.name) {
                return Err(error(item, "is given twice", "each limit once"));
            }
            items.push(read);
        }
        let rows = items.iter().fold(1, |n: u64, item| n.saturating_mul(item.powers_uw.len() as u64));
        if rows > MOST_ROWS {
            return Err(error(text, "has ranges of more than 1000 rows together", POWER));
        }
        Ok(Self { items, none: false })
    }

    /// The rows of all ranges, the last range first to rise; what is not said is as the machine's `own` limits have it.
    ///
    /// # Errors
    /// [`LimitRequestError`] where neither says the window.
    pub fn rows(&self, own: &Limits) -> Result<Vec<LimitSet>, LimitRequestError> {
        if self.none {
            let none = LimitSet {
                name: "none".to_owned(),
                short: String::new(),
                own: String::new(),
                limits: Limits::default(),
            };
            return Ok(vec![none]);
        }
        let mut rows = vec![*own];
        for item in &self.items {
            let mut next = Vec::new();
            for row in rows {
                for power_uw in &item.powers_uw {
                    next.push(item.in_place(*power_uw, row)?);
                }
            }
            rows = next;
        }
        let asked = |limit: &str| self.items.iter().any(|i| i.name == limit);
        let ranged = |limit: &str| self.items.iter().any(|i| i.name == limit && i.powers_uw.len() > 1);
        let power = |(name, l): (&str, Limit)| format!("{name}={}", watts(l.power_uw));
        let short =
            |l: &Limits| l.named().filter(|(name, _)| ranged(name)).map(power).collect::<Vec<_>>().join(",");
        let row = |limits: Limits| LimitSet {
            short: short(&limits),
            name: name(&limits, asked),
            own: name(&limits, |limit| !asked(limit)),
            limits,
        };
        Ok(rows.into_iter().map(row).collect())
    }
}

/// The limits of those names, with the windows that hold.
fn name(limits: &Limits, of: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    for (name, l) in limits.named().filter(|(name, _)| of(name)) {
        let apart = if out.is_empty() { "" } else { "," };
        let clamp = if l.clamp { "" } else { ":no-clamp" };
        let start = l.start_uw.map_or_else(String::new, |uw| format!("@{}", watts(uw)));
        let _ = write!(out, "{apart}{name}={}:{}{clamp}{start}", watts(l.power_uw), time(l.window_ns));
    }
    out
}

impl Item {
    fn parse(text: &str) -> Result<Self, LimitRequestError> {
        let (name, value) = text.split_once('=').ok_or_else(|| error(text, "is no limit", ITEM))?;
        let name = match name.trim() {
            "pl1" => "pl1",
            "pl2" => "pl2",
            _ => return Err(error(text, "names no limit that is modelled", ITEM)),
        };
        let (value, start) = match value.split_once('@') {
            Some((value, start)) => (value, Some(start)),
            None => (value, None),
        };
        let start_uw =
            start.map(|s| power(s).ok_or_else(|| error(text, "has no power after @", POWER))).transpose()?;
        let mut parts = value.split(':').map(str::trim);
        let powers_uw = powers(text, parts.next().unwrap_or_default())?;
        let (mut window_ns, mut clamp) = (None, None);
        for part in parts {
            match part {
                "clamp" if clamp.is_none() => clamp = Some(true),
                "no-clamp" if clamp.is_none() => clamp = Some(false),
                _ if window_ns.is_none() && clamp.is_none() => {
                    let ns = ns(part).filter(|ns| (1..=LONGEST_NS).contains(ns));
                    let why = if ns_is_zero(part) {
                        "has a window of 0, which averages nothing"
                    } else {
                        "has no such window"
                    };
                    window_ns = Some(ns.ok_or_else(|| error(text, why, WINDOW))?);
                }
                _ => return Err(error(text, "has a part too many", PARTS)),
            }
        }
        Ok(Self { name, powers_uw, window_ns, clamp, start_uw })
    }

    /// `row` with this limit.
    fn in_place(&self, power_uw: u64, mut row: Limits) -> Result<Limits, LimitRequestError> {
        let place = if self.name == "pl1" { &mut row.pl1 } else { &mut row.pl2 };
        let window_ns = self.window_ns.or(place.map(|own| own.window_ns)).ok_or_else(|| {
            let item = format!("{}={}", self.name, watts(power_uw));
            error(&item, "has no window, and the platform gives none", WINDOW)
        })?;
        *place = Some(Limit {
            power_uw,
            window_ns,
            clamp: self.clamp.or(place.map(|own| own.clamp)).unwrap_or(true),
            start_uw: self.start_uw.or(place.and_then(|own| own.start_uw)),
        });
        Ok(row)
    }
}

fn error(item: &str, why: &str, expected: &'static str) -> LimitRequestError {
    LimitRequestError { item: item.to_owned(), why: why.to_owned(), expected }
}

/// One power, or those of a range.
fn powers(item: &str, text: &str) -> Result<Vec<u64>, LimitRequestError> {
    let wrong = |why: &str| error(item, why, POWER);
    let above_0 = |uw: u64| if uw == 0 { Err(wrong("limits to 0 W")) } else { Ok(uw) };
    let Some((from, rest)) = text.split_once("..") else {
        return Ok(vec![above_0(power(text).ok_or_else(|| wrong("has no such power"))?)?]);
    };
    let (to, step) = rest.split_once('/').ok_or_else(|| wrong("is a range without a step"))?;
    let end = |text: &str| power(text).ok_or_else(|| wrong("has no such power"));
    let (from, to, step) = (above_0(end(from)?)?, end(to)?, end(step)?);
    if step == 0 || to < from {
        return Err(wrong("is a range without an end"));
    }
    if (to - from) / step >= MOST_ROWS {
        return Err(wrong("is a range of more than 1000 rows"));
    }
    Ok((0..=(to - from) / step).map(|n| from + n * step).collect())
}

/// A decimal number times `scale`, where nothing is lost.
fn scaled(number: &str, scale: u64) -> Option<u64> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || number.ends_with('.') {
        return None;
    }
    let mut value = whole.parse::<u64>().ok()?.checked_mul(scale)?;
    let mut place = scale;
    for digit in part.bytes() {
        if !place.is_multiple_of(10) {
            return None;
        }
        place /= 10;
        value = value.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(value)
}

/// Power with its unit, uW.
fn power(text: &str) -> Option<u64> {
    let text = text.trim();
    let uw = match text.strip_suffix("mW") {
        Some(number) => scaled(number.trim(), 1_000)?,
        None => scaled(text.strip_suffix('W')?.trim(), 1_000_000)?,
    };
    (uw <= MOST_UW).then_some(uw)
}

fn ns(text: &str) -> Option<u64> {
    let units = [("ms", 1_000_000), ("us", 1_000), ("s", 1_000_000_000)];
    let (unit, scale) = units.into_iter().find(|(unit, _)| text.ends_with(unit))?;
    scaled(text.strip_suffix(unit)?.trim(), scale)
}

fn ns_is_zero(text: &str) -> bool {
    ns(text) == Some(0)
}

/// As [`power`] reads it.
fn watts(uw: u64) -> String {
    decimal(uw, 1_000_000, "W")
}

/// As [`ns`] reads it.
fn time(ns: u64) -> String {
    match ns {
        _ if ns >= 1_000_000_000 => decimal(ns, 1_000_000_000, "s"),
        _ if ns >= 1_000_000 => decimal(ns, 1_000_000, "ms"),
        _ => decimal(ns, 1_000, "us"),
    }
}

fn decimal(value: u64, scale: u64, unit: &str) -> String {
    let digits = scale.ilog10() as usize;
    let part = format!("{:0digits$}", value % scale);
    let part = part.trim_end_matches('0');
    let point = if part.is_empty() { "" } else { "." };
    format!("{}{point}{part}{unit}", value / scale)
}
