/* SPDX-License-Identifier: MIT */
/*
 * Writes down what it is, in lines "name=value", as /proc and the socket interface have it, then
 * calls getppid() once: whoami FILE. What a script sees at that call can be compared with the file.
 *
 * Descriptors: 20 /etc/passwd at offset 5, 21 /dev/shm/... for appending, 22 a pipe, 23 the client
 * and 24 the server of a TCP connection, 25 an IPv6 UDP socket connected to itself.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static void must(int good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static int move_to(int fd, int want)
{
	must(fd >= 0 && dup2(fd, want) == want, "dup2");
	close(fd);
	return want;
}

static void *wait_forever(void *arg)
{
	pause();
	return arg;
}

static void be_somebody(void)
{
	pthread_t t[2];
	cpu_set_t cpus;
	int p[2];

	must(prctl(PR_SET_NAME, "some body") == 0, "prctl");
	must(setpriority(PRIO_PROCESS, 0, 3) == 0, "setpriority");
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	must(sched_setaffinity(0, sizeof(cpus), &cpus) == 0, "sched_setaffinity");
	must(chdir("/dev/shm") == 0, "chdir");
	for (int i = 0; i < 2; i++)
		must(pthread_create(&t[i], NULL, wait_forever, NULL) == 0, "pthread_create");
	move_to(open("/etc/passwd", O_RDONLY), 20);
	must(lseek(20, 5, SEEK_SET) == 5, "lseek");
	move_to(open("/dev/shm/whoami.tmp", O_WRONLY | O_CREAT | O_APPEND, 0600), 21);
	must(pipe(p) == 0, "pipe");
	move_to(p[0], 22);
}

static void show_status(FILE *out)
{
	static const char *const wanted[] = {"VmSize", "VmRSS", "Threads"};
	FILE *fp = fopen("/proc/self/status", "r");
	char line[256];
	long val;

	while (fp && fgets(line, sizeof(line), fp))
		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
			if (strncmp(line, wanted[i], strlen(wanted[i])) == 0 &&
			    sscanf(line, "%*s %ld", &val) == 1)
				fprintf(out, "%s=%ld\n", wanted[i], val);
	if (fp)
		fclose(fp);
}

static long boot_time(void)
{
	FILE *fp = fopen("/proc/stat", "r");
	char line[4096];
	long btime = 0;

	while (fp && fgets(line, sizeof(line), fp))
		(void)sscanf(line, "btime %ld", &btime);
	if (fp)
		fclose(fp);
	return btime;
}

static void show_stat(FILE *out)
{
	char line[1024] = "";
	unsigned long long start = 0;
	long ppid = 0, tty = 0, prio = 0;
	FILE *fp = fopen("/proc/self/stat", "r");
	const char *p;

	must(fp && fgets(line, sizeof(line), fp), "/proc/self/stat");
	fclose(fp);
	p = strrchr(line, ')'); /* fields 4, 7, 18 and 22; p is behind field 2 */
	must(sscanf(p,
		    ") %*c %ld %*d %*d %ld %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %ld %*d %*d %*d %llu",
		    &ppid, &tty, &prio, &start) == 4,
	     "fields");
	fprintf(out, "ppid=%ld\n", ppid);
	fprintf(out, "tty=%ld\n", tty == 0 ? -1 : (tty >> 8 & 0xfff) << 20 | (tty & 0xff));
	fprintf(out, "pri=%ld\n", 100 + prio);
	fprintf(out, "start=%lld\n", boot_time() + (long long)start / sysconf(_SC_CLK_TCK));
}

static void show_ids(FILE *out, int argc, char **argv, char **envp)
{
	fprintf(out, "pid=%d\npgid=%d\nsid=%d\n", getpid(), getpgrp(), getsid(0));
	fprintf(out, "ids=%d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
	fprintf(out, "argc=%d\nargv=%lx\nenvp=%lx\n", argc, (unsigned long)argv,
		(unsigned long)envp);
}

static void show_link(FILE *out, const char *name, const char *path)
{
	char text[PATH_MAX];
	ssize_t n = readlink(path, text, sizeof(text));

	must(n > 0, path);
	fprintf(out, "%s=%.*s\n", name, (int)n, text);
}

static void sock_pair(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in6 b = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0), c = socket(AF_INET, SOCK_STREAM, 0), u;
	struct tcp_info info;

	must(s >= 0 && bind(s, (struct sockaddr *)&a, len) == 0 && listen(s, 1) == 0, "listen");
	must(getsockname(s, (struct sockaddr *)&a, &len) == 0, "getsockname");
	must(connect(c, (struct sockaddr *)&a, len) == 0, "connect");
	move_to(c, 23);
	move_to(accept(s, NULL, NULL), 24);
	must(write(23, "hello", 5) == 5 && read(24, &a, 5) == 5, "hello");
	do { /* its acknowledgement changes what is known of the connection */
		len = sizeof(info);
		must(getsockopt(23, IPPROTO_TCP, TCP_INFO, &info, &len) == 0, "TCP_INFO");
	} while (info.tcpi_unacked);
	u = move_to(socket(AF_INET6, SOCK_DGRAM, 0), 25);
	len = sizeof(b);
	must(bind(u, (struct sockaddr *)&b, len) == 0, "bind to ::1");
	must(getsockname(u, (struct sockaddr *)&b, &len) == 0, "getsockname");
	must(connect(u, (struct sockaddr *)&b, len) == 0, "connect");
}

static unsigned port_of(int fd, int (*get)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);

	must(get(fd, (struct sockaddr *)&a, &len) == 0, "name of a socket");
	return ntohs(a.sin6_port); /* where sin_port is */
}

static void show_tcp(FILE *out, int fd)
{
	struct tcp_info i = {0};
	socklen_t len = sizeof(i);
	uint64_t cookie = 0;

	must(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) == 0, "TCP_INFO");
	len = sizeof(cookie);
	must(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len) == 0, "SO_COOKIE");
	fprintf(out, "tcp=127.0.0.1:%u 127.0.0.1:%u state %d mss %u\n", port_of(fd, getsockname),
		port_of(fd, getpeername), i.tcpi_state, i.tcpi_snd_mss);
	fprintf(out, "window=%u %u cwnd %u\n", i.tcpi_snd_wscale, i.tcpi_rcv_wscale,
		i.tcpi_snd_cwnd * i.tcpi_snd_mss);
	fprintf(out, "rtt=%u %u rto %u\n", i.tcpi_rtt, i.tcpi_rttvar, i.tcpi_rto / 1000);
	fprintf(out, "cookie=%llu\n", (unsigned long long)cookie);
}

int main(int argc, char **argv)
{
	extern char **environ;
	FILE *out = argc > 1 ? fopen(argv[1], "w") : NULL;

	must(out != NULL, "file to write");
	be_somebody();
	sock_pair();
	show_ids(out, argc, argv, environ);
	show_stat(out);
	show_link(out, "cwd", "/proc/self/cwd");
	show_link(out, "root", "/proc/self/root");
	show_link(out, "exe", "/proc/self/exe");
	show_tcp(out, 23);
	fprintf(out, "udp=::1:%u\n", port_of(25, getsockname));
	show_status(out);
	must(fclose(out) == 0, "write");
	syscall(SYS_getppid);
	unlink("/dev/shm/whoami.tmp");
	_exit(0);
}
