// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU's ring buffer to its last page: what trace_pipe_raw has now, without waiting for more.
 *
 *     pages TRACE_PIPE_RAW > FILE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char page[65536];
	ssize_t got;
	int from;

	if (argc != 2) {
		fprintf(stderr, "usage: pages TRACE_PIPE_RAW > FILE\n");
		return 2;
	}
	from = open(argv[1], O_RDONLY | O_NONBLOCK);
	if (from < 0) {
		perror(argv[1]);
		return 1;
	}
	while ((got = read(from, page, sizeof(page))) > 0) {
		if (write(STDOUT_FILENO, page, got) != got) {
			perror("pages: cannot write");
			return 1;
		}
	}
	if (got < 0 && errno != EAGAIN) {
		perror(argv[1]);
		return 1;
	}
	return 0;
}
