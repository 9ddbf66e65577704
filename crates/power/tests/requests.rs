// SPDX-License-Identifier: GPL-2.0-only
//! Which words ask for limits, and what is said about those that do not?

use idlewise_power::{Limit, LimitRequest, LimitSet, Limits};

fn limit(power_uw: u64, window_ns: u64) -> Limit {
    Limit { power_uw, window_ns, clamp: true, start_uw: None }
}

#[test]
fn a_range_gives_a_row_each() {
    let asked = LimitRequest::parse("pl1=4W..8W/1.5W:28s,pl2=12W:976us:no-clamp@4500mW").unwrap();
    let rows = asked.rows(&Limits::default()).unwrap();
    let names: Vec<&str> = rows.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "pl1=4W:28s,pl2=12W:976us:no-clamp@4.5W",
            "pl1=5.5W:28s,pl2=12W:976us:no-clamp@4.5W",
            "pl1=7W:28s,pl2=12W:976us:no-clamp@4.5W"
        ]
    );
    assert_eq!(rows[1].limits.pl1, Some(limit(5_500_000, 28_000_000_000)));
    let pl2 = Limit { clamp: false, start_uw: Some(4_500_000), ..limit(12_000_000, 976_000) };
    assert_eq!(rows[1].limits.pl2, Some(pl2));
    assert_eq!(rows.iter().map(|r| r.short.as_str()).collect::<Vec<_>>(), ["pl1=4W", "pl1=5.5W", "pl1=7W"]);
    for row in &rows {
        let row = &LimitSet { short: String::new(), ..row.clone() };
        assert_eq!(
            LimitRequest::parse(&row.name).unwrap().rows(&Limits::default()).unwrap(),
            std::slice::from_ref(row),
            "read again"
        );
    }
}

#[test]
fn what_is_not_said_is_the_machines_own() {
    let own = Limits { pl1: Some(limit(6_000_000, 28_000_000_000)), pl2: Some(limit(12_000_000, 976_000)) };
    let rows = LimitRequest::parse("pl1=5W").unwrap().rows(&own).unwrap();
    assert_eq!(rows[0].limits.pl1, Some(limit(5_000_000, 28_000_000_000)));
    assert_eq!((rows[0].limits.pl2, rows[0].name.as_str()), (own.pl2, "pl1=5W:28s"));
    assert_eq!(rows[0].own, "pl2=12W:976us");
    assert_eq!(idlewise_power::LimitSet::of_machine(&own).own, "pl1=6W:28s,pl2=12W:976us");
    assert_eq!(LimitRequest::parse("none").unwrap().rows(&own).unwrap()[0].limits, Limits::default());
}

#[test]
fn what_is_wrong_is_said_with_what_was_expected() {
    for (text, words) in [
        ("", "is no limit; expected pl1=POWER:WINDOW"),
        ("pl3=4W:1s", "names no limit that is modelled"),
        ("pl1=4:28s", "pl1=4:28s: has no such power; expected a power in W or mW"),
        ("pl1=0W:28s", "limits to 0 W"),
        ("pl1=-4W:28s", "has no such power"),
        ("pl1=4W:0s", "has a window of 0, which averages nothing; expected a window above 0"),
        ("pl1=4W:28", "has no such window"),
        ("pl1=4W:90000s", "has no such window"),
        ("pl1=4W..8W:28s", "is a range without a step"),
        ("pl1=8W..4W/1W:28s", "is a range without an end"),
        ("pl1=4W..8W/0W:28s", "is a range without an end"),
        ("pl1=1W..9W/1mW:28s", "more than 1000 rows"),
        ("pl1=1W..90W/1W:28s,pl2=1W..90W/1W:1ms", "has ranges of more than 1000 rows together"),
        ("pl1=4W:28s,pl1=5W:28s", "is given twice"),
        ("pl1=4W:28s:clamp:clamp", "has a part too many"),
        ("pl1=4W:28s@", "has no power after @"),
        ("pl1=99999999999999999999W:1s", "has no such power"),
        ("pl1=1.0000001W:1s", "has no such power"),
    ] {
        let said = LimitRequest::parse(text).unwrap_err().to_string();
        assert!(said.contains(words), "{text}: {said}");
    }
    let said = LimitRequest::parse("pl1=4W").unwrap().rows(&Limits::default()).unwrap_err().to_string();
    assert_eq!(
        said,
        "pl1=4W: has no window, and the platform gives none; expected a window above 0 in s, ms or us, a day at most, such as pl1=6W:28s"
    );
}
