// SPDX-License-Identifier: GPL-2.0-only
/*
 * peak_memory COMMAND [ARGUMENT...]: runs it and prints on stderr, in bytes, its largest resident
 * set and by how much the machine's available memory fell while it ran. Its exit status.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t available(void)
{
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");
	uint64_t kib = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "MemAvailable: %lu kB", &kib) == 1)
			break;
	}
	if (f)
		fclose(f);
	return kib * 1024;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 10000000 };
	uint64_t before = available(), least = before, now;
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2 || !before)
		return 125;
	pid = fork();
	if (!pid) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	while (pid > 0 && !wait4(pid, &status, WNOHANG, &usage)) {
		now = available();
		least = now < least ? now : least;
		nanosleep(&pause, NULL);
	}
	if (pid < 0 || !WIFEXITED(status))
		return 125;
	fprintf(stderr, "resident %llu\nmachine %llu\n",
		(unsigned long long)usage.ru_maxrss * 1024, (unsigned long long)(before - least));
	return WEXITSTATUS(status);
}
