// SPDX-License-Identifier: GPL-2.0-only
//! Is a list of governors split where one ends, and an empty item refused with its position?

use idlewise_study::replay::split_governors;

#[test]
fn a_list_of_governors_keeps_parameters_with_their_governor() {
    let got = split_governors("--governor", "menu-6.1, teo-util:util_threshold_shift=5,x=1,oracle");
    assert_eq!(got.unwrap(), ["menu-6.1", "teo-util:util_threshold_shift=5,x=1", "oracle"]);
}

#[test]
fn an_empty_item_of_a_list_is_refused_by_its_position() {
    for (list, item) in [("menu,,teo", 2), ("menu, ,teo", 2), (",", 1), ("menu,", 2), ("teo:x=1,,y=2", 2)] {
        let why = split_governors("--governor", list).unwrap_err().to_string();
        assert!(why.contains(&format!("--governor {list}: item {item} is empty")), "{why}");
    }
    let why = split_governors("--others", " ").unwrap_err().to_string();
    assert!(why.contains("--others names none"), "{why}");
}
