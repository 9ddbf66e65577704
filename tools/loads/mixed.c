// SPDX-License-Identifier: GPL-2.0-only
/*
 * A mixed load for one CPU whose idle periods reach from 20 us to 50 ms.
 *
 *     mixed [SECONDS [CPU]]
 *
 * Threads of CPU: 60 Hz frames in two stages with a wait between; a server that answers requests and reads a disk
 * block for some; a 10 ms "audio" timer; a sleeper whose sleeps are log-uniform. A client on another CPU sends the requests
 * in bursts, so that the server is woken by interrupts that no timer announces. Six phases of equal length mix them,
 * see `phases`. What is random comes from fixed seeds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define US 1000ull
#define MS 1000000ull

enum { FRAMES = 1, REQUESTS = 2, AUDIO = 4, SLEEPS = 8, DENSE = 16 };

static const unsigned int phases[] = {
	FRAMES | AUDIO,				/* a video */
	REQUESTS,				/* a quiet server */
	REQUESTS | DENSE | AUDIO,		/* a busy one */
	SLEEPS,					/* timers of all lengths */
	FRAMES | REQUESTS | AUDIO | SLEEPS,	/* everything */
	AUDIO | REQUESTS,			/* music, and the net now and then */
};
#define PHASES (sizeof(phases) / sizeof(phases[0]))

static uint64_t start_ns, phase_ns;
static int main_cpu, other_cpu;
static int sockets[2];
static int disk = -1;
static unsigned int frames, requests, reads, sleeps;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	struct timespec t = { .tv_sec = ns / 1000000000ull, .tv_nsec = ns % 1000000000ull };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void work(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		;
}

/* The phase's parts, or 0 after the last. Sleeps through the phases in which nothing of `parts` is on. */
static unsigned int wait_for(unsigned int parts)
{
	for (;;) {
		uint64_t phase = (now_ns() - start_ns) / phase_ns;

		if (phase >= PHASES)
			return 0;
		if (phases[phase] & parts)
			return phases[phase];
		sleep_until(start_ns + (phase + 1) * phase_ns);
	}
}

static uint64_t between(unsigned short *seed, uint64_t low, uint64_t high)
{
	return low + (uint64_t)(erand48(seed) * (high - low));
}

static uint64_t loguniform(unsigned short *seed, double low, double high)
{
	return (uint64_t)(low * pow(high / low, erand48(seed)));
}

static uint64_t exponential(unsigned short *seed, double mean)
{
	return (uint64_t)(-mean * log(1 - erand48(seed)));
}

static void begin(const char *name, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("mixed: cannot stay on the CPU");
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_setname_np(pthread_self(), name);
}

static void *frame_thread(void *arg)
{
	unsigned short seed[3] = { 0x330e, 1, 0 };
	uint64_t next;

	begin("frames", main_cpu);
	while (wait_for(FRAMES)) {
		next = now_ns() + 16667 * US;
		work(between(seed, 200 * US, 900 * US));
		sleep_until(now_ns() + loguniform(seed, 150 * US, 5000 * US));	/* the other processor draws */
		work(++frames % 20 ? between(seed, 300 * US, 2500 * US) : 9000 * US);
		sleep_until(next);
	}
	return arg;
}

static void *audio_thread(void *arg)
{
	unsigned short seed[3] = { 0x330e, 2, 0 };
	uint64_t next = now_ns();

	begin("audio", main_cpu);
	while (wait_for(AUDIO)) {
		uint64_t now = now_ns();

		next = next + 10 * MS > now ? next + 10 * MS : now + 10 * MS;
		work(between(seed, 30 * US, 300 * US));
		sleep_until(next);
	}
	return arg;
}

static void *sleep_thread(void *arg)
{
	unsigned short seed[3] = { 0x330e, 3, 0 };

	begin("sleeps", main_cpu);
	while (wait_for(SLEEPS)) {
		/* Mostly a driver that tries again, now and then something slow. */
		double longest = erand48(seed) < 0.7 ? 3 * MS : 50 * MS;

		work(between(seed, 5 * US, 60 * US));
		sleep_until(now_ns() + loguniform(seed, 25 * US, longest));
		sleeps++;
	}
	return arg;
}

static void *server_thread(void *arg)
{
	unsigned short seed[3] = { 0x330e, 4, 0 };
	void *block;
	char c;

	begin("server", main_cpu);
	if (posix_memalign(&block, 4096, 4096))
		return arg;
	while (read(sockets[0], &c, 1) == 1 && c) {
		work(between(seed, 8 * US, 70 * US));
		if (disk >= 0 && requests % 4 == 0 &&
		    pread(disk, block, 4096, (nrand48(seed) % 1024) * 4096) == 4096) {
			reads++;
			work(20 * US);
		}
		requests++;
		if (write(sockets[0], "r", 1) != 1)
			break;
	}
	free(block);
	return arg;
}

static void *client_thread(void *arg)
{
	unsigned short seed[3] = { 0x330e, 5, 0 };
	unsigned int parts;
	char c;

	begin("client", other_cpu);
	while ((parts = wait_for(REQUESTS))) {
		int n = 1 + nrand48(seed) % (parts & DENSE ? 50 : 12);

		while (n--) {
			sleep_until(now_ns() + 15 * US + exponential(seed, parts & DENSE ? 200 * US : 600 * US));
			if (write(sockets[1], "q", 1) != 1 || read(sockets[1], &c, 1) != 1)
				return arg;
		}
		sleep_until(now_ns() + loguniform(seed, 1 * MS, parts & DENSE ? 15 * MS : 50 * MS));
	}
	if (write(sockets[1], "", 1) != 1)
		perror("mixed: client");
	return arg;
}

/* A file whose blocks come from the device each time. Without one the load has no disk. */
static int open_disk(void)
{
	char name[] = "/var/tmp/mixed-XXXXXX", block[4096];
	int fd = mkstemp(name), i, direct = -1;

	if (fd >= 0) {
		memset(block, 0x5a, sizeof(block));
		for (i = 0; i < 1024; i++)
			if (write(fd, block, sizeof(block)) != sizeof(block))
				break;
		if (i == 1024 && !fsync(fd))
			direct = open(name, O_RDONLY | O_DIRECT);
		unlink(name);
		close(fd);
	}
	if (direct < 0)
		fprintf(stderr, "mixed: no disk blocks in this load: %s\n", strerror(errno));
	return direct;
}

int main(int argc, char **argv)
{
	void *(*const threads[])(void *) = {
		frame_thread, audio_thread, sleep_thread, server_thread, client_thread
	};
	pthread_t ids[sizeof(threads) / sizeof(threads[0])];
	double seconds = argc > 1 ? atof(argv[1]) : 6;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i;

	main_cpu = argc > 2 ? atoi(argv[2]) : 0;
	other_cpu = main_cpu ? 0 : cpus > 1;
	if (seconds <= 0 || main_cpu < 0 || main_cpu >= cpus) {
		fprintf(stderr, "usage: mixed [SECONDS [CPU]]\n");
		return 2;
	}
	disk = open_disk();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) {
		perror("mixed: socketpair");
		return 2;
	}
	phase_ns = (uint64_t)(seconds * 1e9) / PHASES;
	start_ns = now_ns();
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (pthread_create(&ids[i], NULL, threads[i], NULL)) {
			fprintf(stderr, "mixed: cannot start a thread\n");
			return 2;
		}
	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		pthread_join(ids[i], NULL);
	printf("%u frames, %u requests, %u disk reads, %u sleeps\n", frames, requests, reads, sleeps);
	return 0;
}
