// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small loads for a guest, whose idle periods are known in advance.
 *
 *     load timer SECONDS [THREADS]      sleeps of 20 us to 50 ms, log-uniform
 *     load frames SECONDS [THREADS]     60 Hz: work, a wait for the second stage, work
 *     load pingpong SECONDS [THREADS]   two tasks that wake each other, with pauses between rounds
 *
 * THREADS (4) of them, on CPU 0 and the following ones. What is random comes from fixed seeds. At the end each thread
 * says how often it ran and how late its timers were.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define US 1000ull
#define MS 1000000ull
#define THREADS_MAX 64
#define FRAME_NS 16666667ull

struct thread {
	pthread_t id;
	unsigned int nr;
	unsigned short seed[3];
	unsigned int rounds;
	uint64_t late_ns, latest_ns;
};

static uint64_t end_ns;
static int nr_cpus;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void sleep_until(struct thread *thread, uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000ull, .tv_nsec = ns % 1000000000ull };
	uint64_t late;

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
	late = now_ns() - ns;
	thread->late_ns += late;
	if (late > thread->latest_ns)
		thread->latest_ns = late;
}

/* Looking at the clock costs an emulator more than the work between; yielding lets its other CPUs go on. */
static void work(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end) {
		for (int rounds = 400; rounds; rounds--)
			__asm__ volatile("" ::: "memory");
#ifdef __aarch64__
		__asm__ volatile("yield");
#endif
	}
}

static uint64_t between(struct thread *thread, uint64_t low, uint64_t high)
{
	return low + (uint64_t)(erand48(thread->seed) * (high - low));
}

static uint64_t loguniform(struct thread *thread, double low, double high)
{
	return (uint64_t)(low * pow(high / low, erand48(thread->seed)));
}

static void begin(const char *name, unsigned int nr, unsigned int cpu)
{
	char comm[16];
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % nr_cpus, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("load: cannot stay on the CPU");
	prctl(PR_SET_TIMERSLACK, 1);
	snprintf(comm, sizeof(comm), "%s%u", name, nr);
	pthread_setname_np(pthread_self(), comm);
}

static void *timer_thread(void *arg)
{
	struct thread *thread = arg;

	begin("timer", thread->nr, thread->nr);
	while (now_ns() < end_ns) {
		sleep_until(thread, now_ns() + loguniform(thread, 20 * US, 50 * MS));
		work(between(thread, 5 * US, 60 * US));
		thread->rounds++;
	}
	return NULL;
}

static void *frames_thread(void *arg)
{
	struct thread *thread = arg;
	uint64_t next = now_ns();

	begin("frames", thread->nr, thread->nr);
	while (now_ns() < end_ns) {
		work(between(thread, 300 * US, 2 * MS));
		sleep_until(thread, now_ns() + between(thread, 200 * US, 3 * MS));
		work(between(thread, 100 * US, 700 * US));
		next += FRAME_NS;
		sleep_until(thread, next);
		thread->rounds++;
	}
	return NULL;
}

static struct pair {
	int there[2], back[2];
} pairs[THREADS_MAX];

static void *pong_thread(void *arg)
{
	struct thread *thread = arg;
	char byte;

	begin("pong", thread->nr, thread->nr + 1);
	while (read(pairs[thread->nr].there[0], &byte, 1) == 1) {
		if (write(pairs[thread->nr].back[1], &byte, 1) != 1)
			break;
	}
	return NULL;
}

static void *ping_thread(void *arg)
{
	struct thread *thread = arg;
	struct pair *pair = &pairs[thread->nr];
	unsigned int i;
	pthread_t pong;
	char byte = 0;

	begin("ping", thread->nr, thread->nr);
	if (pipe(pair->there) || pipe(pair->back) ||
	    pthread_create(&pong, NULL, pong_thread, thread)) {
		perror("load: no partner");
		exit(1);
	}
	while (now_ns() < end_ns) {
		for (i = between(thread, 1, 20); i; i--) {
			work(between(thread, 2 * US, 40 * US));
			if (write(pair->there[1], &byte, 1) != 1 || read(pair->back[0], &byte, 1) != 1)
				break;
			thread->rounds++;
		}
		sleep_until(thread, now_ns() + loguniform(thread, 100 * US, 20 * MS));
	}
	close(pair->there[1]);
	pthread_join(pong, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*run)(void *);
	} loads[] = {
		{ "timer", timer_thread },
		{ "frames", frames_thread },
		{ "pingpong", ping_thread },
	};
	static struct thread threads[THREADS_MAX];
	unsigned int nr = argc > 3 ? atoi(argv[3]) : 4;
	unsigned int i, load;

	for (load = 0; load < 3; load++) {
		if (argc > 2 && !strcmp(argv[1], loads[load].name))
			break;
	}
	if (load == 3 || atoi(argv[2]) <= 0 || !nr || nr > THREADS_MAX) {
		fprintf(stderr, "usage: load timer|frames|pingpong SECONDS [THREADS]\n");
		return 2;
	}

	nr_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	end_ns = now_ns() + atoi(argv[2]) * 1000 * MS;
	for (i = 0; i < nr; i++) {
		threads[i].nr = i;
		threads[i].seed[0] = 0x330e;
		threads[i].seed[1] = i;
		if (pthread_create(&threads[i].id, NULL, loads[load].run, &threads[i])) {
			perror("load: no thread");
			return 1;
		}
	}
	for (i = 0; i < nr; i++) {
		pthread_join(threads[i].id, NULL);
		printf("%s%u rounds %u late_mean_ns %llu late_max_ns %llu\n", argv[1], i, threads[i].rounds,
		       (unsigned long long)(threads[i].rounds ? threads[i].late_ns / threads[i].rounds : 0),
		       (unsigned long long)threads[i].latest_ns);
	}
	return 0;
}
