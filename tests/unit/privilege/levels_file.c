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
	gives("group domain users: dtrace_kernel\n", LEVEL_KERNEL, 1, 1);
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
	if (geteuid() == 0)
		files_check();
	else
		printf("# not root: files are left out\n");
	return tap_done();
}
