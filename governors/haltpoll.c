// SPDX-License-Identifier: GPL-2.0-only
/*
 * The haltpoll governor for guests: poll for a while before halting, as long as
 * that paid lately.
 *
 * The idea: a halt is expensive for a virtual machine, since the host switches away
 * and back. The guest therefore polls first, up to a limit of its own, and halts
 * only if no wakeup came. The limit learns. If a halt was shorter than the largest
 * limit, polling could have covered it, and the limit grows. If it was longer,
 * polling would have wasted the time, and the limit shrinks, down to no polling at
 * all. State 0 is the polling loop, state 1 the halt; no other state is ever chosen.
 *
 * When it wins: request and reply between virtual machines, locks and pipes between
 * virtual CPUs: wakeups 10 to 200 us apart, for which a halt would cost more than
 * it saves.
 *
 * When it loses: everywhere else. It spends power and CPU time of the host to save
 * latency, it knows no timer and no third state, and it ignores which states are
 * disabled. On bare metal with real idle states it is of no use.
 *
 * Parameters: guest_halt_poll_ns, the largest limit; guest_halt_poll_grow, the
 * factor of growth, and guest_halt_poll_grow_start, the first limit;
 * guest_halt_poll_shrink, the divisor when the limit shrinks, 0 to stop polling at
 * once; guest_halt_poll_allow_shrink, whether it shrinks at all. Names and defaults
 * are those of Linux.
 *
 * Lineage: Linux 5.4; since 6.9 a limit that shrinks below the first one
 * becomes 0, which is the form here. In Linux it registers in KVM guests only,
 * and a driver of the same name selects it; this one registers everywhere, and
 * its low rating keeps it from being a default. With a single state it chooses
 * that one, where Linux could return a state that does not exist. The rating is
 * that of haltpoll in Linux.
 */
#include <linux/cpuidle.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/types.h>

static uint guest_halt_poll_ns = 200000;
module_param(guest_halt_poll_ns, uint, 0644);
MODULE_PARM_DESC(guest_halt_poll_ns, "poll at most this long before a halt, ns");

static uint guest_halt_poll_shrink = 2;
module_param(guest_halt_poll_shrink, uint, 0644);
MODULE_PARM_DESC(guest_halt_poll_shrink, "divide the limit by this; 0 stops polling at once");

static uint guest_halt_poll_grow = 2;
module_param(guest_halt_poll_grow, uint, 0644);
MODULE_PARM_DESC(guest_halt_poll_grow, "multiply the limit by this");

static uint guest_halt_poll_grow_start = 50000;
module_param(guest_halt_poll_grow_start, uint, 0644);
MODULE_PARM_DESC(guest_halt_poll_grow_start, "the first limit when it grows, ns");

static bool guest_halt_poll_allow_shrink = true;
module_param(guest_halt_poll_allow_shrink, bool, 0644);
MODULE_PARM_DESC(guest_halt_poll_allow_shrink, "let the limit shrink after long halts");

#define HALTPOLL_POLL	0
#define HALTPOLL_HALT	1

static int haltpoll_select(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			   bool *stop_tick)
{
	if (drv->state_count <= HALTPOLL_HALT) {
		pr_debug("there is no state to halt in: take state 0, keep the tick\n");
		*stop_tick = false;
		return HALTPOLL_POLL;
	}
	if (cpuidle_governor_latency_req(dev->cpu) == 0) {
		pr_debug("no exit latency is allowed: poll in state 0, keep the tick\n");
		*stop_tick = false;
		return HALTPOLL_POLL;
	}
	if (dev->poll_limit_ns == 0) {
		pr_debug("polling does not pay at present: halt in state 1, stop the tick\n");
		return HALTPOLL_HALT;
	}
	if (dev->last_state_idx == HALTPOLL_POLL && dev->poll_time_limit) {
		pr_debug("no wakeup in %llu ns of polling: halt in state 1, stop the tick\n",
			 dev->poll_limit_ns);
		return HALTPOLL_HALT;
	}
	pr_debug("a wakeup ended state %d: poll up to %llu ns in state 0, keep the tick\n",
		 dev->last_state_idx, dev->poll_limit_ns);
	*stop_tick = false;
	return HALTPOLL_POLL;
}

/* Let the limit learn from a halt: grow if polling could have covered it, else shrink. */
static void haltpoll_adjust(struct cpuidle_device *dev, u64 halted_ns)
{
	u64 old_ns = dev->poll_limit_ns;
	uint new_ns = (uint)old_ns;

	if (halted_ns > old_ns && halted_ns <= guest_halt_poll_ns) {
		new_ns = max(new_ns * guest_halt_poll_grow, guest_halt_poll_grow_start);
		dev->poll_limit_ns = min(new_ns, guest_halt_poll_ns);
	} else if (halted_ns > guest_halt_poll_ns && guest_halt_poll_allow_shrink) {
		new_ns = guest_halt_poll_shrink ? new_ns / guest_halt_poll_shrink : 0;
		dev->poll_limit_ns = new_ns < guest_halt_poll_grow_start ? 0 : new_ns;
	}
	pr_debug("halted for %llu ns, may poll %llu ns: the limit goes from %llu ns to %llu ns\n",
		 halted_ns, (u64)guest_halt_poll_ns, old_ns, dev->poll_limit_ns);
}

static void haltpoll_reflect(struct cpuidle_device *dev, int index)
{
	dev->last_state_idx = index;
	if (index != HALTPOLL_POLL)
		haltpoll_adjust(dev, dev->last_residency_ns);
}

static int haltpoll_enable_device(struct cpuidle_driver *drv __always_unused,
				  struct cpuidle_device *dev)
{
	dev->poll_limit_ns = 0;
	return 0;
}

static struct cpuidle_governor haltpoll_governor = {
	.name		= "haltpoll",
	.rating		= 9,
	.enable		= haltpoll_enable_device,
	.select		= haltpoll_select,
	.reflect	= haltpoll_reflect,
};

static int __init haltpoll_governor_init(void)
{
	return cpuidle_register_governor(&haltpoll_governor);
}
postcore_initcall(haltpoll_governor_init);
