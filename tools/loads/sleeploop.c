// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sleeps and nothing else: log-uniform between two bounds, a little work between.
 *
 *     sleeploop SECONDS [MIN_US [MAX_US [SEED]]]
 *
 * Timer slack is 1 ns, so that a timer is where the program put it.
 */
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 2;
	double min_us = argc > 2 ? atof(argv[2]) : 20;
	double max_us = argc > 3 ? atof(argv[3]) : 20000;
	unsigned short seed[3] = { 0x330e, argc > 4 ? atoi(argv[4]) : 1, 0 };
	uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
	unsigned int count = 0;

	if (seconds <= 0 || min_us <= 0 || max_us < min_us) {
		fprintf(stderr, "usage: sleeploop SECONDS [MIN_US [MAX_US [SEED]]]\n");
		return 2;
	}
	prctl(PR_SET_TIMERSLACK, 1);
	while (now_ns() < end) {
		double us = min_us * pow(max_us / min_us, erand48(seed));
		struct timespec t = { .tv_sec = us / 1e6, .tv_nsec = (long)(us * 1000) % 1000000000 };
		uint64_t busy = now_ns() + 5000 + (uint64_t)(erand48(seed) * 45000);

		while (now_ns() < busy)
			;
		nanosleep(&t, NULL);
		count++;
	}
	printf("%u sleeps\n", count);
	return 0;
}
