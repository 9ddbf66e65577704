// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does each governor choose in the kernel what the same file chooses in user
 * space?
 *
 * A generator of 64-bit numbers makes up 5000 situations one after the other,
 * each following from what the governor chose in the one before, on four tables
 * of idle states (docs/reference/governor-behaviour.md, section 15). All that
 * was chosen goes into one hash. What the hash must be is in
 * decisions-expected.h, which idlewise writes from its own runs.
 */
#include <kunit/test.h>
#include <linux/bits.h>
#include <linux/cpuidle.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "decisions-expected.h"
#include "idlewise.h"

#define STEPS		5000
#define NEVER_NS	(2000LL * NSEC_PER_SEC)

struct table {
	const char *name;
	int states;
	s64 exit_latency_ns[CPUIDLE_STATE_MAX];
	s64 target_residency_ns[CPUIDLE_STATE_MAX];
	bool polling;
	unsigned int capacity;
};

static const struct table tables[] = {
	{ "A", 4, { 0, 2000, 33000, 133000 }, { 0, 2000, 60000, 600000 }, true, 1024 },
	{ "B", 3, { 1000, 150000, 1200000 }, { 1000, 900000, 6000000 }, false, 400 },
	{ "C", 2, { 1000, 150000 }, { 1000, 900000 }, false, 1024 },
	{ "D", 6, { 0, 1000, 10000, 70000, 200000, 900000 },
	  { 0, 1000, 20000, 100000, 800000, 6000000 }, true, 1024 },
};

struct world {
	u64 random;
	struct iw_told answers;
	struct cpuidle_driver drv;
	struct cpuidle_device dev;
	u64 hash;
};

static u64 draw(struct world *world)
{
	world->random = world->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return world->random >> 33;
}

static u64 remainder_of(u64 number, u64 by)
{
	u64 rest;

	div64_u64_rem(number, by, &rest);
	return rest;
}

static void set_up(struct world *world, const struct table *table)
{
	int i;

	memset(world, 0, sizeof(*world));
	world->random = 42;
	world->hash = 0xcbf29ce484222325ULL;
	world->dev.cpu = raw_smp_processor_id();
	world->drv.state_count = table->states;
	world->answers.capacity = table->capacity;
	world->answers.clock_ns = 1000;
	for (i = 0; i < table->states; i++) {
		struct cpuidle_state *state = &world->drv.states[i];

		state->exit_latency_ns = table->exit_latency_ns[i];
		state->exit_latency = div_s64(state->exit_latency_ns, NSEC_PER_USEC);
		state->target_residency_ns = table->target_residency_ns[i];
		state->target_residency = div_s64(state->target_residency_ns, NSEC_PER_USEC);
		state->flags = !i && table->polling ? CPUIDLE_FLAG_POLLING : 0;
	}
}

/* The situation before a choice. */
static void meet(struct world *world, int k)
{
	struct iw_told *answers = &world->answers;
	u64 a = remainder_of(draw(world), 100);
	u64 b = remainder_of(draw(world), 100);
	u64 x = draw(world);
	u64 tick, util;
	int i;

	answers->latency_limit_ns = a < 80 ? NEVER_NS : a < 90 ? 30000 : a < 96 ? 8000 : 0;
	answers->sleep_length_ns = remainder_of(x, b < 30 ? 20000 :
						   b < 60 ? 500000 :
						   b < 85 ? 12000000 : 800000000);
	if (k % 64 == 63)
		answers->sleep_length_ns = S64_MAX - answers->clock_ns;
	if (remainder_of(draw(world), 100) < 30)
		answers->tick_stopped = false;
	tick = remainder_of(draw(world), 4000000);
	answers->delta_tick_ns = answers->tick_stopped ? answers->sleep_length_ns :
				 min_t(s64, answers->sleep_length_ns, tick);
	answers->iowait = k % 7 == 0;
	util = draw(world);
	answers->util = remainder_of(util, 100) < 50 ? 0 : remainder_of(util, 400);
	for (i = 0; i < world->drv.state_count; i++)
		world->dev.states_usage[i].disable = 0;
	if (k % 500 >= 200 && k % 500 < 250)
		world->dev.states_usage[1].disable = CPUIDLE_STATE_DISABLED_BY_USER;
	if (k % 500 >= 400 && k % 500 < 425)
		world->dev.states_usage[0].disable = CPUIDLE_STATE_DISABLED_BY_USER;
	answers->random = (u32)(draw(world) * 2);
}

/* The stay after it. */
static void stay(struct world *world, const struct iw_hooks *governor, int k, int state)
{
	struct iw_told *answers = &world->answers;
	s64 sleep_length_ns = answers->sleep_length_ns;
	u64 c = remainder_of(draw(world), 100);
	u64 v = draw(world);
	int mode = k / 128 % 3;
	bool rejected = k % 97 == 96;
	u64 length;

	if (mode == 0)
		length = c < 85 ? sleep_length_ns + remainder_of(v, 3000) :
				  remainder_of(v, 12000000);
	else if (mode == 1)
		length = remainder_of(v, c < 85 ? clamp(sleep_length_ns, 1, 400000) : 12000000);
	else
		length = remainder_of(v, c < 30 ? 20000 : c < 60 ? 500000 : 12000000);
	if (length > 1000000000000000ULL)
		length = 200000000;
	answers->got_tick = remainder_of(draw(world), 100) < 15;
	world->dev.poll_time_limit = remainder_of(draw(world), 100) < 30 &&
				     world->drv.states[state].flags & CPUIDLE_FLAG_POLLING;
	if (rejected)
		length = 0;
	answers->clock_ns += length + 500 + remainder_of(draw(world), 3000);
	world->dev.last_residency_ns = length;
	if (!rejected && governor->registered->reflect)
		governor->registered->reflect(&world->dev, state);
	answers->clock_ns += 1000 + remainder_of(draw(world), 1000000);
}

static u64 decide(struct kunit *test, struct world *world, const struct iw_hooks *governor)
{
	struct cpuidle_governor *registered = governor->registered;
	int k;

	migrate_disable();
	world->dev.cpu = raw_smp_processor_id();
	iw_answer_with(&world->answers);
	registered->enable(&world->drv, &world->dev);
	for (k = 0; k < STEPS; k++) {
		bool stop_tick = true;
		bool asked;
		int state;

		meet(world, k);
		preempt_disable();
		state = registered->select(&world->drv, &world->dev, &stop_tick);
		asked = iw_last_asked() & IW_SLEEP_LENGTH;
		preempt_enable();
		if (state < 0 || state >= world->drv.state_count) {
			KUNIT_FAIL(test, "%s chose state %d at step %d", registered->name, state,
				   k);
			break;
		}
		world->hash ^= 4 * state + 2 * stop_tick + asked;
		world->hash *= 0x100000001b3ULL;
		if (stop_tick)
			world->answers.tick_stopped = true;
		stay(world, governor, k, state);
	}
	if (registered->disable)
		registered->disable(&world->drv, &world->dev);
	iw_answer_with(NULL);
	migrate_enable();
	return world->hash;
}

static void same_choices_as_in_user_space(struct kunit *test)
{
	const struct iw_expected *expected = test->param_value;
	struct world *world = kunit_kzalloc(test, sizeof(*world), GFP_KERNEL);
	const struct iw_hooks *governor = iw_find(expected->governor);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, world);
	KUNIT_ASSERT_NOT_NULL(test, governor);
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		set_up(world, &tables[i]);
		KUNIT_EXPECT_EQ_MSG(test, decide(test, world, governor), expected->hash[i],
				    "%s on table %s", expected->governor, tables[i].name);
	}
}

static void names_fit(struct kunit *test)
{
	const struct iw_expected *expected = test->param_value;
	const struct iw_hooks *governor = iw_find(expected->governor);

	KUNIT_ASSERT_NOT_NULL(test, governor);
	KUNIT_EXPECT_LT(test, strlen(governor->registered->name), CPUIDLE_NAME_LEN);
	KUNIT_EXPECT_NE(test, governor->registered->rating, 0);
}

static void name_of(const struct iw_expected *expected, char *name)
{
	strscpy(name, expected->governor, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(governors, iw_all_expected, name_of);

static struct kunit_case idlewise_cases[] = {
	KUNIT_CASE_PARAM(names_fit, governors_gen_params),
	KUNIT_CASE_PARAM(same_choices_as_in_user_space, governors_gen_params),
	{ }
};

static struct kunit_suite idlewise_suite = {
	.name = "idlewise-governors",
	.test_cases = idlewise_cases,
};
kunit_test_suite(idlewise_suite);
