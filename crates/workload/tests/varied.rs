// SPDX-License-Identifier: GPL-2.0-only
//! Is a varied load the same load, a little different?

use idlewise_workload::varied;

const TEXT: &str = "// a \"sleep\" : 7 that is none\n{ \"tasks\" : { \"sleep\" : { \"loop\" : 5, \"run0\" : 1000,\n\
                    \"timer\" : { \"ref\" : \"run\", \"period\" : 16667 }, \"sleep1\" : 90 } },\n\
                    \"global\" : { \"duration\" : 4 } }";

#[test]
fn times_change_a_little_and_nothing_else() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..50 {
        let text = varied(TEXT, seed);
        let changed: Vec<(&str, &str)> =
            TEXT.split(' ').zip(text.split(' ')).filter(|(a, b)| a != b).collect();
        assert!(changed.len() <= 3, "{changed:?}");
        for (a, b) in changed {
            let number = |t: &str| -> f64 {
                t.trim_matches([',', '\n', '"']).split(',').next().unwrap().parse().unwrap()
            };
            assert!((number(b) / number(a) - 1.0).abs() <= 0.04, "{a} {b}");
        }
        seen.insert(text);
    }
    assert!(seen.len() > 45, "{}", seen.len());
}

#[test]
fn a_text_that_is_none_stays_as_it_is() {
    for text in [
        "",
        "\"sleep",
        "\"run\" : ",
        "/* \"run\" : 5",
        "\"run\" : 99999999999999999999",
        "\\\"",
        "ä\"run\":x",
    ] {
        assert_eq!(varied(text, 3), text);
    }
}
