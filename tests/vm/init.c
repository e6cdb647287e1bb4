// SPDX-License-Identifier: GPL-2.0-only
/*
 * Process 1 of the test machines, for QEMU (as /init of an initramfs) and User Mode Linux (init=).
 *
 * It makes the host's root visible read-only, gives it fresh /proc, /sys, /dev, /run and /tmp,
 * loads the modules, runs one command, passes its output to the host, and as the very last act
 * writes the result file. Without that file the host takes the run as failed, whatever else was
 * printed.
 *
 * Control folder (/run/cmx in the guest): conf (key=value lines), argv and env (NUL-separated) come
 * from the host; result and out/ go back.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CTL "/run/cmx"
#define MAX_ARGS 4096
#define STREAMS 2

static const char *stage = "start";
static char *conf;

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void kmsg(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int fd;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	strcat(line, "\n");
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/dev/console", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		/* dprintf() would seek first, which kmsg refuses. */
		if (write(fd, line, strlen(line)) < 0)
			perror("kmsg");
		close(fd);
	}
}

static void fail(const char *what)
{
	kmsg("cmx-vm: error: %s: %s: %s", stage, what, strerror(errno));
	power_off();
}

/* Make a folder and its parents. */
static void make_path(const char *path, mode_t mode)
{
	char buf[4096];
	char *p;

	snprintf(buf, sizeof(buf), "%s", path);
	for (p = buf + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(buf, 0755);
		*p = '/';
	}
	mkdir(buf, mode);
}

static void mount_at(const char *src, const char *dir, const char *type, unsigned long flags,
		     const char *opts)
{
	if (mount(src, dir, type, flags, opts))
		fail(dir);
}

static void mount_optional(const char *src, const char *dir, const char *type)
{
	if (mount(src, dir, type, 0, NULL) && errno != ENODEV && errno != EBUSY && errno != ENOENT)
		fail(dir);
}

/* Whole file, NUL-terminated; @size without that NUL. */
static char *read_file(const char *path, size_t *size)
{
	size_t len = 0, room = 65536;
	char *buf = malloc(room);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0 || !buf)
		fail(path);
	while ((n = read(fd, buf + len, room - len - 1)) > 0) {
		len += n;
		if (len + 1 == room)
			buf = realloc(buf, room *= 2);
		if (!buf)
			fail(path);
	}
	if (n < 0)
		fail(path);
	close(fd);
	buf[len] = '\0';
	if (size)
		*size = len;
	return buf;
}

/* Value of @key in the conf file, or NULL. The first match wins. */
static char *conf_get(const char *key)
{
	size_t len = strlen(key);
	char *line = conf, *end;

	while (line && *line) {
		end = strchrnul(line, '\n');
		if (!strncmp(line, key, len) && line[len] == '=')
			return strndup(line + len + 1, end - line - len - 1);
		line = *end ? end + 1 : end;
	}
	return NULL;
}

static bool conf_is(const char *key, const char *value)
{
	char *got = conf_get(key);
	bool same = got && !strcmp(got, value);

	free(got);
	return same;
}

static char **split_nul(char *buf, size_t size)
{
	char **list = calloc(MAX_ARGS + 1, sizeof(*list));
	size_t n = 0, at = 0;

	if (!list)
		fail("memory");
	while (at < size && n < MAX_ARGS) {
		list[n++] = buf + at;
		at += strlen(buf + at) + 1;
	}
	return list;
}

static void load_module(const char *path, const char *args)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(path);
	if (syscall(SYS_finit_module, fd, args, 0) && errno != EEXIST)
		fail(path);
	close(fd);
}

/* Modules the root file system and the driver need come with the initramfs, in loading order. */
static void load_listed(const char *list)
{
	char *names, *name, *save = NULL;

	if (access(list, R_OK))
		return;
	names = read_file(list, NULL);
	for (name = strtok_r(names, "\n", &save); name; name = strtok_r(NULL, "\n", &save))
		load_module(name, "");
	free(names);
}

/* QEMU: leave the initramfs for the host's root, shared over 9p. */
static void enter_host_root(void)
{
	const char *opts = "trans=virtio,version=9p2000.L,msize=512000,cache=loose,access=any";

	stage = "host root";
	load_listed("/modules/order");
	make_path("/host", 0755);
	mount_at("cmxroot", "/host", "9p", MS_RDONLY, opts);
	if (chdir("/host") || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		fail("switch root");
}

static void mount_control(const char *hostfs_path)
{
	make_path(CTL, 0755);
	if (hostfs_path)
		mount_at("none", CTL, "hostfs", 0, hostfs_path);
	else
		mount_at("cmxctl", CTL, "9p", 0,
			 "trans=virtio,version=9p2000.L,msize=512000,cache=none,access=any");
}

static void mount_kernel_fs(void)
{
	stage = "mounts";
	mount_at("proc", "/proc", "proc", 0, NULL);
	mount_at("sysfs", "/sys", "sysfs", 0, NULL);
	mount_at("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	make_path("/dev/pts", 0755);
	mount_at("devpts", "/dev/pts", "devpts", 0, "ptmxmode=0666,mode=0620");
	make_path("/dev/shm", 01777);
	mount_at("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777");
	mount_optional("debugfs", "/sys/kernel/debug", "debugfs");
	mount_optional("tracefs", "/sys/kernel/tracing", "tracefs");
	mount_optional("cgroup2", "/sys/fs/cgroup", "cgroup2");
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
}

/* A tmpfs on /tmp hides what the host has there; a project tree in it must stay visible. */
static void mount_tmp(void)
{
	char *tree = conf_get("tree");
	bool inside = tree && !strncmp(tree, "/tmp/", 5);

	stage = "tmp";
	if (inside) {
		make_path("/run/tree", 0755);
		mount_at(tree, "/run/tree", NULL, MS_BIND, NULL);
	}
	mount_at("tmpfs", "/tmp", "tmpfs", 0, "mode=1777");
	if (inside) {
		make_path(tree, 0755);
		mount_at("/run/tree", tree, NULL, MS_MOVE, NULL);
	}
	mount_at("tmpfs", "/var/tmp", "tmpfs", 0, "mode=1777");
	free(tree);
}

static void loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		ioctl(fd, SIOCSIFFLAGS, &ifr);
		close(fd);
	}
}

/* What udev's rules do on a real machine: let unprivileged users open the devices. */
static void open_device_modes(void)
{
	char path[64];
	int i;

	for (i = 0; i < 256; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		if (chmod(path, 0666))
			break;
	}
}

static void load_driver(void)
{
	char *module = conf_get("module"), *args = conf_get("module_args");

	stage = "insmod";
	if (module) {
		load_module(module, args ? args : "");
		open_device_modes();
	}
	free(module);
	free(args);
}

/* Find the virtio port that carries the given name. */
static int open_virtio_port(const char *name)
{
	char path[96], got[32];
	int fd, bus, port;
	ssize_t n;

	for (bus = 0; bus < 8; bus++) {
		for (port = 0; port < 8; port++) {
			snprintf(path, sizeof(path), "/sys/class/virtio-ports/vport%dp%d/name", bus,
				 port);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd < 0)
				continue;
			n = read(fd, got, sizeof(got) - 1);
			close(fd);
			if (n < 1 || strncmp(got, name, strlen(name)))
				continue;
			snprintf(path, sizeof(path), "/dev/vport%dp%d", bus, port);
			return open(path, O_WRONLY | O_CLOEXEC);
		}
	}
	errno = ENOENT;
	return -1;
}

static void raw_tty(int fd)
{
	struct termios t;

	if (!tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		tcsetattr(fd, TCSANOW, &t);
	}
}

/* The host's end of the command's stdout (0) or stderr (1). */
static int open_stream(int which, bool uml)
{
	static const char * const ports[STREAMS] = { "cmx.out", "cmx.err" };
	static const char * const lines[STREAMS] = { "/dev/ttyS0", "/dev/ttyS1" };
	int fd, tries;

	if (uml) {
		fd = open(lines[which], O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0)
			raw_tty(fd);
	} else {
		/* Ports appear shortly after their driver. */
		for (tries = 0; tries < 500; tries++) {
			fd = open_virtio_port(ports[which]);
			if (fd >= 0)
				break;
			usleep(10000);
		}
	}
	if (fd < 0)
		fail(ports[which]);
	return fd;
}

static void write_all(int fd, const char *buf, size_t len)
{
	ssize_t n;

	while (len) {
		n = write(fd, buf, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		buf += n;
		len -= n;
	}
}

static void attach_terminal(void)
{
	char *tty = conf_get("tty"), *rows = conf_get("rows"), *cols = conf_get("cols");
	struct winsize size = {
		.ws_row = rows ? atoi(rows) : 24,
		.ws_col = cols ? atoi(cols) : 80,
	};
	int fd = open(tty, O_RDWR);

	if (fd < 0)
		fail(tty);
	ioctl(fd, TIOCSCTTY, 1);
	ioctl(fd, TIOCSWINSZ, &size);
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	if (fd > 2)
		close(fd);
}

static void run_child(int out, int err)
{
	size_t argv_size, env_size;
	char *argv_buf = read_file(CTL "/argv", &argv_size);
	char *env_buf = read_file(CTL "/env", &env_size);
	char **argv = split_nul(argv_buf, argv_size);
	char *cwd = conf_get("cwd");

	environ = split_nul(env_buf, env_size);
	setsid();
	if (out < 0) {
		attach_terminal();
	} else {
		dup2(open("/dev/null", O_RDONLY), 0);
		dup2(out, 1);
		dup2(err, 2);
	}
	if (!cwd || chdir(cwd))
		if (chdir("/"))
			_exit(126);
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Copy both streams to the host until the command has ended; returns its wait status. */
static int pump(pid_t child, struct pollfd *in, const int *to)
{
	bool ended = false, moved;
	static char buf[65536];
	int status = 0, i;
	ssize_t n;
	pid_t pid;

	for (;;) {
		poll(in, STREAMS, ended ? 0 : 50);
		moved = false;
		for (i = 0; i < STREAMS; i++) {
			if (!(in[i].revents & POLLIN))
				continue;
			n = read(in[i].fd, buf, sizeof(buf));
			if (n > 0)
				write_all(to[i], buf, n);
			moved |= n > 0;
		}
		for (i = 0; i < STREAMS; i++)
			if ((in[i].revents & POLLHUP) && !(in[i].revents & POLLIN))
				in[i].fd = -1;
		if (ended && !moved)
			return status;
		while ((pid = waitpid(-1, &i, WNOHANG)) > 0) {
			if (pid != child)
				continue;
			status = i;
			ended = true;
			/* Whatever it left behind would write into the next thing. */
			kill(-1, SIGKILL);
		}
	}
}

static int run_piped(bool uml)
{
	struct pollfd in[STREAMS];
	int to[STREAMS], p[STREAMS][2], i, status;
	pid_t child;

	for (i = 0; i < STREAMS; i++) {
		to[i] = open_stream(i, uml);
		if (pipe2(p[i], O_CLOEXEC))
			fail("pipe");
		in[i] = (struct pollfd){ .fd = p[i][0], .events = POLLIN };
	}
	child = fork();
	if (child < 0)
		fail("fork");
	if (!child)
		run_child(p[0][1], p[1][1]);
	for (i = 0; i < STREAMS; i++)
		close(p[i][1]);
	status = pump(child, in, to);
	for (i = 0; i < STREAMS; i++)
		if (uml)
			tcdrain(to[i]);
	return status;
}

static int run_terminal(void)
{
	int status = 0, s;
	pid_t child = fork(), pid;

	if (child < 0)
		fail("fork");
	if (!child)
		run_child(-1, -1);
	while ((pid = wait(&s)) > 0) {
		if (pid != child)
			continue;
		status = s;
		kill(-1, SIGKILL);
	}
	return status;
}

static void kmemleak_do(const char *what)
{
	int fd = open("/sys/kernel/debug/kmemleak", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		fail("kmemleak");
	close(fd);
}

/* Two scans: the first marks, and only objects older than five seconds count. */
static void scan_leaks(bool report)
{
	char *text, *line, *next;

	sleep(6);
	kmemleak_do("scan");
	if (!report) {
		kmemleak_do("clear");
		return;
	}
	sleep(1);
	kmemleak_do("scan");
	text = read_file("/sys/kernel/debug/kmemleak", NULL);
	for (next = text; (line = strsep(&next, "\n"));)
		if (*line)
			kmsg("cmx-vm: kmemleak: %s", line);
	free(text);
}

static void write_result(int status)
{
	char *nonce = conf_get("nonce");
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	int fd = open(CTL "/result", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		fail("result");
	dprintf(fd, "%s %d\n", nonce, code);
	fsync(fd);
	close(fd);
	kmsg("cmx-vm: command ended with status %d", code);
}

/* Value of "name=" on the kernel command line, which the kernel also puts in the environment. */
static const char *uml_control_path(void)
{
	return getenv("cmx_ctl");
}

int main(void)
{
	const char *ctl = uml_control_path();
	bool leaks;
	int status;

	umask(0022);
	sethostname("cmx", 3);
	if (!ctl)
		enter_host_root();
	mount_kernel_fs();
	mount_at("tmpfs", "/run", "tmpfs", 0, "mode=0755");
	mount_control(ctl);
	conf = read_file(CTL "/conf", NULL);
	mount_tmp();
	loopback_up();
	load_driver();
	leaks = conf_is("kmemleak", "1");
	if (leaks)
		scan_leaks(false);
	stage = "command";
	kmsg("cmx-vm: ready");
	status = conf_is("interactive", "1") ? run_terminal() : run_piped(ctl);
	if (leaks)
		scan_leaks(true);
	write_result(status);
	power_off();
}
