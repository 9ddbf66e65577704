// SPDX-License-Identifier: GPL-2.0-only
//! Is dirt reported with the right number of nouns?

use idlewise_model::HealthKind;

#[test]
fn one_of_each_kind_has_no_plural() {
    for kind in HealthKind::ALL {
        let (one, several) = (kind.describe_number(1), kind.describe_number(2));
        assert_eq!((kind.describe_number(0), several), (kind.describe(), kind.describe()));
        assert_ne!(one, several);
    }
}
