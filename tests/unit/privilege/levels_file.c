/* SPDX-License-Identifier: MIT */
/* /etc/fathom/privileges: lines and their faults, files and folders that must not be trusted. */
#include "privilege/levels_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "privilege/privilege.h"
#include "tap.h"

/* Alice is in the groups developers and "domain users". */
static bool is_alice(void *ctx, const char *name)
{
	return strcmp(name, "alice") == 0;
}

static bool is_in(void *ctx, const char *group)
{
	return strcmp(group, "developers") == 0 || strcmp(group, "domain users") == 0;
}

static const struct levels_asker alice = {is_alice, is_in, NULL};

static void gives(const char *text, uint32_t levels, uint32_t nlines, uint32_t line)
{
	struct levels_found found;
	struct err *e = levels_parse(text, strlen(text), &alice, &found);

	ok(!e && found.levels == levels && found.nlines == nlines &&
		   (!nlines || found.lines[0] == line),
	   "0x%x by %u lines, the first is %u: %s", levels, nlines, line,
	   e ? err_text(e) : "understood");
	err_destroy(e);
}

/* The whole file is refused, and the message begins with `said` behind the name of the file. */
static void refuses_bytes(const char *text, size_t len, const char *said)
{
	struct levels_found found = {.levels = 99};
	struct err *e = levels_parse(text, len, &alice, &found);
	const char *text_of = e ? err_text(e) : "";

	ok(e && strncmp(text_of, LEVELS_PATH, strlen(LEVELS_PATH)) == 0 &&
		   strncmp(text_of + strlen(LEVELS_PATH), said, strlen(said)) == 0 &&
		   err_get_hint(e) && !found.levels,
	   "refused: %s", said);
	if (strncmp(text_of + MIN(strlen(LEVELS_PATH), strlen(text_of)), said, strlen(said)) != 0)
		printf("# got '%s'\n", text_of);
	err_destroy(e);
}

static void refuses(const char *text, const char *said)
{
	refuses_bytes(text, strlen(text), said);
}

static void lines_check(void)
{
	static char many[LEVELS_FILE_MAX];
	char name[LEVELS_NAME_MAX + 64] = "user ";

	gives("", 0, 0, 0);
	gives("# nothing\n\n \t\n#", 0, 0, 0);
	gives("user alice: dtrace_user", LEVEL_USER, 1, 1);
	gives("# one\n  user\talice :\tdtrace_user,dtrace_proc # hers\n", LEVEL_USER | LEVEL_PROC,
	      1, 2);
	gives("user bob: dtrace_kernel\nuser alice: dtrace_user", LEVEL_USER, 1, 2);
	gives("group developers: dtrace_proc proc_owner\nuser alice: dtrace_user\n",
	      LEVEL_USER | LEVEL_PROC | LEVEL_PROC_OWNER, 2, 1);
	gives("group domain users: dtrace_kernel\n", LEVEL_USER | LEVEL_PROC | LEVEL_KERNEL, 1, 1);
	gives("group alice: dtrace_kernel\nuser developers: dtrace_kernel\n", 0, 0, 0);
	gives("user alicex: dtrace_kernel\nuser alic: dtrace_kernel\n", 0, 0, 0);
	for (uint32_t i = 0; i < 100; i++)
		(void)snprintf(many + i * 24, 25, "user alice: dtrace_user\n");
	gives(many, LEVEL_USER, 100, 1);

	refuses("user alice: dtrace_usr", ":1: 'dtrace_usr' is no level");
	refuses("user alice: dtrace_user\nuser bob: all", ":2: 'all' is no level");
	refuses("alice: dtrace_user", ":1: 'alice' is neither 'user' nor 'group'");
	refuses("\n\nusers alice: dtrace_user", ":3: 'users' is neither 'user' nor 'group'");
	refuses("user alice dtrace_user", ":1: there is no ':' behind the name");
	refuses("user alice", ":1: there is no ':' behind the name");
	refuses("user alice: # dtrace_user", ":1: no level behind ':'");
	refuses("user : dtrace_user", ":1: there is no name");
	refuses("user: dtrace_user", ":1: there is no name");
	refuses("user alice: dtrace_user,", ":1: a level is missing behind ','");
	refuses("user alice: dtrace_user,,dtrace_proc", ":1: a level is missing before ','");
	refuses("user alice: proc_owner", ":1: 'proc_owner' allows nothing by itself");
	refuses("user alice: dtrace_user\r\n", ":1: 'dtrace_user?' is no level");
	refuses("user al\x1b[2Jice: dtrace_user", ":1: the name has a control character");
	refuses("us\x1b[2Jer alice: dtrace_user", ":1: 'us?[2Jer' is neither");
	refuses_bytes("user alice\0x: dtrace_user", 25, ":1: the name has a control character");
	refuses_bytes("user alice: dtrace_user\0", 24, ":1: 'dtrace_user' is no level");
	memset(name + 5, 'x', LEVELS_NAME_MAX);
	(void)snprintf(name + 5 + LEVELS_NAME_MAX, 32, ": dtrace_user");
	gives(name, 0, 0, 0);
	memset(name + 5, 'x', LEVELS_NAME_MAX + 1);
	(void)snprintf(name + 6 + LEVELS_NAME_MAX, 32, ": dtrace_user");
	refuses(name, ":1: the name is longer than");
}

static void quota_is(const char *text, enum quota_kind kind, uint64_t max, uint32_t line)
{
	struct levels_found found;
	struct err *e = levels_parse(text, strlen(text), &alice, &found);
	char shown[QUOTA_TEXT_MAX];

	ok(!e && found.quotas[kind].max == max && found.quotas[kind].line == line,
	   "%s by line %u: %s", quota_text(kind, max, shown), line, e ? err_text(e) : "understood");
	err_destroy(e);
}

static void quotas_check(void)
{
	uint64_t memory = quota_default(QUOTA_MEMORY).max;

	gives("user alice: dtrace_user sessions=1", LEVEL_USER, 1, 1);
	gives("user alice: sessions=1\ndefault: probes=7", 0, 0, 0);
	quota_is("user alice: dtrace_user", QUOTA_SESSIONS, 4, 0);
	quota_is("user alice: dtrace_user", QUOTA_MEMORY, memory, 0);
	quota_is("user alice: dtrace_user sessions=1", QUOTA_SESSIONS, 1, 1);
	quota_is("user bob: dtrace_user sessions=1", QUOTA_SESSIONS, 4, 0);
	quota_is("default: sessions=9", QUOTA_SESSIONS, 9, 1);
	/* a user's line says more than a group's, and that more than default */
	quota_is("user alice: probes=5\ngroup developers: probes=9\ndefault: probes=99",
		 QUOTA_PROBES, 5, 1);
	quota_is("default: probes=5\ngroup developers: probes=9\nuser alice: probes=3",
		 QUOTA_PROBES, 3, 3);
	quota_is("default: probes=99\ngroup developers: probes=9", QUOTA_PROBES, 9, 2);
	/* of lines of one kind the largest counts */
	quota_is("group developers: probes=9\ngroup domain users: probes=8", QUOTA_PROBES, 9, 1);
	quota_is("group developers: probes=8\ngroup domain users: probes=9", QUOTA_PROBES, 9, 2);
	quota_is("user alice: dtrace_user, memory=64m, cpu=5%", QUOTA_MEMORY, 64 << 20, 1);
	quota_is("user alice: memory=2g", QUOTA_MEMORY, 2ull << 30, 1);
	quota_is("user alice: memory=999999M", QUOTA_MEMORY, QUOTA_MEMORY_MAX, 1);
	quota_is("user alice: cpu=5%", QUOTA_CPU, 500, 1);
	quota_is("user alice: cpu=2.5%", QUOTA_CPU, 250, 1);
	quota_is("user alice: cpu=0.01%", QUOTA_CPU, 1, 1);
	quota_is("user alice: cpu=100%", QUOTA_CPU, QUOTA_CPU_MAX, 1);

	refuses("user alice: sessions=0", ":1: 'sessions=0' is no quota");
	refuses("user alice: sessions=10000", ":1: 'sessions=10000' is no quota");
	refuses("user alice: sessions=", ":1: 'sessions=' is no quota");
	refuses("user alice: sessions=-1", ":1: 'sessions=-1' is no quota");
	refuses("user alice: sessions=4x", ":1: 'sessions=4x' is no quota");
	refuses("user alice: probes=1000000", ":1: 'probes=1000000' is no quota");
	refuses("user alice: probes=99999999999999999999999", ":1: 'probes=9999");
	refuses("user alice: memory=64", ":1: 'memory=64' is no quota");
	refuses("user alice: memory=1000000m", ":1: 'memory=1000000m' is no quota");
	refuses("user alice: memory=18446744073709551615g", ":1: 'memory=184467");
	refuses("user alice: memory=0m", ":1: 'memory=0m' is no quota");
	refuses("user alice: cpu=5", ":1: 'cpu=5' is no quota");
	refuses("user alice: cpu=0%", ":1: 'cpu=0%' is no quota");
	refuses("user alice: cpu=100.01%", ":1: 'cpu=100.01%' is no quota");
	refuses("user alice: cpu=1.234%", ":1: 'cpu=1.234%' is no quota");
	refuses("user alice: cpu=1.%", ":1: 'cpu=1.%' is no quota");
	refuses("user alice: disk=1", ":1: 'disk' is no quota");
	refuses("user alice: =1", ":1: '' is no quota");
	refuses("user alice: probes=1 probes=2", ":1: 'probes' is there twice");
	refuses("default: dtrace_user", ":1: 'dtrace_user' behind 'default'");
	refuses("default alice: probes=1", ":1: 'alice' behind 'default'");
	refuses("default:", ":1: no level behind ':'");
	refuses("user alice: proc_owner sessions=1", ":1: 'proc_owner' allows nothing");
}

/* The names by which sessions tell each other what they have taken. */
static void names_check(void)
{
	static const char *const bad[] = {"",	    "dtrace", "q",	     "q1m",
					  "q1m2",   "q1m2px", "q01m2p",	     "q-1m2p",
					  " q1m2p", "q1m 2p", "q1234567m1p", "q+1m2p"};
	uint64_t memory = 0, probes = 0;

	ok(quota_name_parse("q999999m999999p", &memory, &probes) && memory == QUOTA_MEMORY_MAX &&
		   probes == QUOTA_PROBES_MAX,
	   "the longest name of a session is understood");
	for (uint32_t i = 0; i < ARRAY_LEN(bad); i++)
		ok(!quota_name_parse(bad[i], &memory, &probes), "'%s' is no name of a session",
		   bad[i]);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char folder[] = "/tmp/levels.XXXXXX";

static void file_make(const char *text, size_t len, mode_t mode)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/privileges", folder);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len || fchmod(fd, mode) != 0)
		printf("# cannot make %s\n", path);
	if (fd >= 0)
		(void)close(fd);
}

static void read_is(uint32_t levels, const char *said, const char *name)
{
	struct levels_found found;
	struct err *e = levels_read(folder, "privileges", &alice, &found);

	ok(said ? e && strstr(err_text(e), said) && !found.levels : !e && found.levels == levels,
	   "%s", name);
	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
}

static void files_check(void)
{
	static const char line[] = "user alice: dtrace_user\n";
	static char large[LEVELS_FILE_MAX + 1];
	const size_t len = sizeof(line) - 1;
	char path[64];
	int lock;

	if (!mkdtemp(folder) || chmod(folder, 0755) != 0) {
		ok(false, "a folder");
		return;
	}
	(void)snprintf(path, sizeof(path), "%s/privileges", folder);
	read_is(0, NULL, "no file gives no level");
	file_make(line, len, 0644);
	read_is(LEVEL_USER, NULL, "a file of root");
	file_make(line, len, 0664);
	read_is(0, "must be root's", "a group can change it");
	file_make(line, len, 0646);
	read_is(0, "must be root's", "everybody can change it");
	file_make(line, len, 0644);
	lock = chown(path, 45101, 0);
	read_is(0, "must be root's", "a user can change it");
	file_make(line, len, 0644);
	lock |= chmod(folder, 0777);
	read_is(0, "must be root's", "everybody can replace it");
	lock |= chmod(folder, 0755);
	memset(large, '#', sizeof(large));
	file_make(large, sizeof(large), 0644);
	read_is(0, "longer than", "a long file");
	file_make(large, sizeof(large) - 1, 0644);
	read_is(0, NULL, "a file of the largest size");
	(void)unlink(path);
	lock |= symlink("/etc/passwd", path);
	read_is(0, "cannot read", "a symbolic link");
	(void)unlink(path);
	lock |= mkfifo(path, 0644);
	read_is(0, "must be root's", "a fifo does not block");
	(void)unlink(path);
	lock |= mkdir(path, 0755);
	read_is(0, "must be root's", "a folder");
	lock |= rmdir(path) | rmdir(folder);
	ok(lock == 0, "the files could be made");
	read_is(0, NULL, "no folder gives no level");
}

int main(void)
{
	lines_check();
	quotas_check();
	names_check();
	if (geteuid() == 0)
		files_check();
	else
		printf("# not root: files are left out\n");
	return tap_done();
}
