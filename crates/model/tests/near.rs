// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{did_you_mean, near};

#[test]
fn the_nearest_must_be_near() {
    let known = ["menu", "menu-6.1", "teo-6.1", "teo-util"];
    assert_eq!(near("tea-util", known), ["teo-util"]);
    assert_eq!(near("xyz", known), [""; 0]);
    assert_eq!(near("6.1", known), ["menu-6.1", "teo-6.1"]);
    assert_eq!(near("MENU", known), ["menu", "menu-6.1"]);
    assert_eq!(near("litle", ["LITTLE", "BIG"]), ["LITTLE"]);
    assert_eq!(near("teo6.1", ["teo", "teo-6.1", "teo-6.6"]).first(), Some(&"teo-6.1"));
    assert_eq!(near("menu-of-mine", known), ["menu"]);
    assert_eq!(near(&"menu".repeat(100_000), known), ["menu"]);
}

#[test]
fn the_known_words_are_named_only_where_none_is_near() {
    assert_eq!(did_you_mean(&["a", "b"], "there are: a, b, c"), " (did you mean `a` or `b`?)");
    assert_eq!(did_you_mean(&[""; 0], "there are: a, b, c"), "; there are: a, b, c");
}
