// SPDX-License-Identifier: GPL-2.0-only
/*
 * The idle counters of every CPU, read so that a trace can be held against them.
 *
 *     counters > FILE
 *
 * A CPU's counters are read on that CPU: while it reads it is not idle, so they stand still, and the time at which
 * they were read is a time between two idle stays of the trace. Lines are as "grep -r ." prints them, PATH:VALUE below
 * /sys/devices/system/cpu, and cpuN/at_ns:TIME on CLOCK_MONOTONIC.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CPUS "/sys/devices/system/cpu"

static const char *const files[] = {
	"name", "latency", "residency", "disable", "usage", "time", "above", "below", "rejected",
};

static char text[1 << 20];
static size_t used;

static void add(const char *path)
{
	char line[256];
	FILE *file = fopen(path, "r");

	if (!file)
		return;
	if (fgets(line, sizeof(line), file))
		used += snprintf(text + used, sizeof(text) - used, "%s:%.*s\n", path,
				 (int)strcspn(line, "\n"), line);
	fclose(file);
}

int main(void)
{
	int nr = sysconf(_SC_NPROCESSORS_CONF);
	int cpu, state;
	size_t i;

	if (chdir(CPUS)) {
		perror("counters: " CPUS);
		return 1;
	}
	for (cpu = 0; cpu < nr; cpu++) {
		struct timespec t;
		char path[128];
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set))
			continue;	/* offline */
		clock_gettime(CLOCK_MONOTONIC, &t);
		used += snprintf(text + used, sizeof(text) - used, "cpu%d/at_ns:%llu\n", cpu,
				 t.tv_sec * 1000000000ull + t.tv_nsec);
		for (state = 0; state < 16; state++) {
			snprintf(path, sizeof(path), "cpu%d/cpuidle/state%d", cpu, state);
			if (access(path, F_OK))
				break;
			for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
				snprintf(path, sizeof(path), "cpu%d/cpuidle/state%d/%s", cpu, state, files[i]);
				add(path);
			}
		}
		snprintf(path, sizeof(path), "cpu%d/cpu_capacity", cpu);
		add(path);
	}
	/* Written at the end: a pipe or a file system may sleep. */
	return fwrite(text, 1, used, stdout) != used;
}
