// SPDX-License-Identifier: GPL-2.0-only
//! A kernel that changes its governor leaves the device as it is, and tells only the new one that it is in charge.

use crate::common;

use common::{Bench, Parts, TICK_NS, inputs, table};
use idlewise_governor::Device;

/// Chooses the state that was last notified of, and gives the tick to whether it was switched on an even number of times.
const MIRROR: Parts<'_> = Parts {
    top: "static int times;",
    select: "*stop_tick = times % 2 == 0; return dev->last_state_idx;",
    reflect: "dev->last_state_idx = index;",
    enable: "times++;",
    init: "",
};

#[test]
fn a_device_that_was_in_use_is_found_as_it_was_left() {
    let governor = Bench::new().governor(&MIRROR.text());
    let answers = governor.run(|loader| {
        let mut instance = loader.load(TICK_NS)?;
        let slot = instance.add_used_cpu(3, &table(), 1024, Device::used(table().index(2)))?;
        let mut answers = vec![instance.select(slot, &inputs(0))];
        instance.reflect(slot, 1, 1000);
        answers.push(instance.select(slot, &inputs(0)));
        // Others were in charge; what the governor keeps for itself is still there.
        instance.enable_again(slot, Device::used(table().index(3)))?;
        answers.push(instance.select(slot, &inputs(0)));
        let fresh = instance.add_cpu(4, &table(), 1024)?;
        answers.push(instance.select(fresh, &inputs(0)));
        Ok(answers.iter().map(|a| (a.index, a.stop_tick)).collect::<Vec<_>>())
    });
    assert_eq!(answers.unwrap(), [(2, false), (1, false), (3, true), (0, false)]);
}
