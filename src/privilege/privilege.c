/* SPDX-License-Identifier: MIT */
#include "privilege/privilege.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

static const struct {
	enum privilege_level level;
	const char *word;
} words[] = {
	{LEVEL_USER, "dtrace_user"},
	{LEVEL_PROC, "dtrace_proc"},
	{LEVEL_KERNEL, "dtrace_kernel"},
	{LEVEL_PROC_OWNER, "proc_owner"},
};

uint32_t level_parse(const char *word, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == len && memcmp(words[i].word, word, len) == 0)
			return words[i].level;
	return 0;
}

const char *level_word(enum privilege_level level)
{
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (words[i].level == level)
			return words[i].word;
	return "none";
}

const char *levels_text(uint32_t levels, char buf[LEVELS_TEXT_MAX])
{
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (levels & words[i].level)
			len += (size_t)snprintf(buf + len, LEVELS_TEXT_MAX - len, "%s%s",
						len ? ", " : "", words[i].word);
	if (len == 0)
		snprintf(buf, LEVELS_TEXT_MAX, "none");
	return buf;
}

/* ---- narrowing ------------------------------------------------------------------------------- */

#define USER_NAME_MAX 256

static struct err *levels_parse(const char *text, uint32_t *ret)
{
	*ret = 0;
	for (const char *end;; text = end + 1) {
		size_t len = strcspn(text, ",");
		uint32_t level = level_parse(text, len);

		end = text + len;
		if (!level)
			return err_hint(err_new("'%.*s' is no level of privilege",
						(int)MIN(len, (size_t)LEVELS_TEXT_MAX), text),
					"levels are dtrace_user, dtrace_proc, dtrace_kernel and "
					"proc_owner, with commas between them");
		*ret |= level;
		if (!*end)
			break;
	}
	if (*ret & LEVEL_KERNEL)
		*ret |= LEVEL_USER | LEVEL_PROC;
	return NULL;
}

/* The primary group of a user; that of an unknown number is the same number. */
static struct err *user_group(uint32_t uid, uint32_t *ret)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	int sys = getpwuid_r(uid, &pw, buf, sizeof(buf), &found);

	if (sys && sys != ENOENT && sys != ESRCH)
		return err_sys(sys, "cannot look up the group of user %u", uid);
	*ret = found ? found->pw_gid : uid;
	return NULL;
}

/* name: of a user, or its number. */
static struct err *user_find(const char *name, uint32_t *ret, uint32_t *ret_gid)
{
	struct passwd pw, *found = NULL;
	unsigned long long number;
	char buf[4096], *end;

	errno = 0;
	number = strtoull(name, &end, 10);
	if (*name >= '0' && *name <= '9' && !*end) {
		if (errno || number >= UINT32_MAX)
			return err_new("%s is no number of a user", name);
		*ret = (uint32_t)number;
		return user_group(*ret, ret_gid);
	}
	if (getpwnam_r(name, &pw, buf, sizeof(buf), &found) || !found)
		return err_hint(err_new("there is no user '%s'", name),
				"give the number of a user that has no name here");
	*ret = pw.pw_uid;
	*ret_gid = pw.pw_gid;
	return NULL;
}

struct err *privileges_narrow(struct privileges *p, const char *text)
{
	const char *colon = strchr(text, ':');
	bool is_anybody = p->levels & LEVEL_PROC_OWNER;
	uint32_t uid = is_anybody ? getuid() : p->uid;
	uint32_t gid = is_anybody ? getgid() : p->gid, levels;
	struct err *e = NULL;

	if (colon) {
		char name[USER_NAME_MAX];

		if ((size_t)(colon - text) >= sizeof(name))
			return err_new("the name of a user has at most %d characters",
				       USER_NAME_MAX - 1);
		(void)snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
		e = user_find(name, &uid, &gid);
	}
	if (!e)
		e = levels_parse(colon ? colon + 1 : text, &levels);
	if (e)
		return e;
	if (!is_anybody && uid != p->uid)
		return err_hint(err_new("this session is about processes of user %u, not of user "
					"%u",
					p->uid, uid),
				"option privileges only takes away");
	p->levels &= levels;
	if (is_anybody) {
		p->uid = uid;
		p->gid = gid;
	}
	return NULL;
}

/* ---- processes ------------------------------------------------------------------------------- */

#define PROC_PATH_MAX 64

/*
 * Whether real, effective and saved ids are the user's and the group's, and the process has no
 * capabilities, by which it could do more than the user; root's processes have them all.
 */
static bool ids_are(pid_t pid, uint32_t uid, uint32_t gid)
{
	char path[PROC_PATH_MAX], line[256];
	unsigned int u[4], g[4];
	unsigned long long caps = 1;
	bool has_uids = false, has_gids = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2], &u[3]) == 4)
			has_uids = true;
		if (sscanf(line, "Gid: %u %u %u %u", &g[0], &g[1], &g[2], &g[3]) == 4)
			has_gids = true;
		(void)sscanf(line, "CapPrm: %llx", &caps);
	}
	if (f)
		(void)fclose(f);
	return has_uids && has_gids && (!uid || !caps) && u[0] == uid && u[1] == uid &&
	       u[2] == uid && g[0] == gid && g[1] == gid && g[2] == gid;
}

/* The kernel gives the files of a process that may not be dumped to root. */
static bool is_dumpable(pid_t pid, uint32_t uid)
{
	char path[PROC_PATH_MAX];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return stat(path, &st) == 0 && st.st_uid == uid;
}

static bool is_in_our_userns(pid_t pid)
{
	char path[PROC_PATH_MAX];
	struct stat own, st;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	return stat("/proc/self/ns/user", &own) == 0 && stat(path, &st) == 0 &&
	       own.st_dev == st.st_dev && own.st_ino == st.st_ino;
}

bool privileges_own_process(const struct privileges *p, pid_t pid)
{
	return !privileges_lack(p, LEVEL_PROC_OWNER) ||
	       (is_dumpable(pid, p->uid) && ids_are(pid, p->uid, p->gid) && is_in_our_userns(pid));
}

struct err *privileges_check_process(const struct privileges *p, pid_t pid)
{
	if (privileges_own_process(p, pid))
		return NULL;
	return err_hint(err_new("process %d is not one of user %u: it needs proc_owner", (int)pid,
				p->uid),
			"a process with other ids, or that may not be dumped, as after the "
			"execution of a set-user-id program, is not the user's");
}
