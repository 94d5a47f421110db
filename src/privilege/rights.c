/* SPDX-License-Identifier: MIT */
/* Who calls, where the rights of this process come from, and the hardening of the process. */
#include "privilege/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "base/str.h"
#include "base/text.h"
#include "kernel/capabilities.h"
#include "kernel/confine.h"

/* What tracing takes. */
#define NEEDED (capability_bit(CAP_BPF) | capability_bit(CAP_PERFMON))

/* ---- users and groups ------------------------------------------------------------------------ */

/* Entries of the user and group databases may have any length: a group has all its members. */
#define ENTRY_MAX ((size_t)1 << 20)

struct asker {
	uid_t uid;
	const gid_t *groups; /* with the real group */
	uint32_t ngroups;
	int sys; /* why a name could not be looked up; 0 */
};

/* Whether the text is a number, which stands for the id itself. */
static bool number_parse(const char *text, uint32_t *ret)
{
	uint64_t n = 0;

	if (!*text)
		return false;
	for (const char *p = text; *p; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (uint64_t)(*p - '0');
		if (n >= UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)n;
	return true;
}

/* The user of this name; `uid` is asked for where the name is NULL. 0, ENOENT, or another errno. */
static int user_look(const char *name, uid_t *uid, char *ret_name, size_t size)
{
	int sys = ERANGE;

	for (size_t room = 4096; sys == ERANGE && room <= ENTRY_MAX; room *= 4) {
		CLEANUP(free) char *buf = xcalloc(1, room);
		struct passwd pw, *found = NULL;

		sys = name ? getpwnam_r(name, &pw, buf, room, &found)
			   : getpwuid_r(*uid, &pw, buf, room, &found);
		if (sys)
			continue;
		if (!found)
			return ENOENT;
		*uid = found->pw_uid;
		if (ret_name)
			(void)snprintf(ret_name, size, "%s", found->pw_name);
	}
	return sys;
}

static int group_look(const char *name, gid_t *ret)
{
	int sys = ERANGE;

	for (size_t room = 4096; sys == ERANGE && room <= ENTRY_MAX; room *= 4) {
		CLEANUP(free) char *buf = xcalloc(1, room);
		struct group gr, *found = NULL;

		sys = getgrnam_r(name, &gr, buf, room, &found);
		if (sys)
			continue;
		if (!found)
			return ENOENT;
		*ret = found->gr_gid;
	}
	return sys;
}

static void failure_note(struct asker *a, int sys)
{
	if (sys != ENOENT && sys != ESRCH)
		a->sys = sys;
}

static bool asker_is_user(void *ctx, const char *name)
{
	struct asker *a = ctx;
	uid_t uid;
	int sys;

	if (number_parse(name, &uid))
		return uid == a->uid;
	sys = user_look(name, &uid, NULL, 0);
	if (sys)
		failure_note(a, sys);
	return !sys && uid == a->uid;
}

static bool asker_is_member(void *ctx, const char *group)
{
	struct asker *a = ctx;
	gid_t gid;

	if (!number_parse(group, &gid)) {
		int sys = group_look(group, &gid);

		if (sys) {
			failure_note(a, sys);
			return false;
		}
	}
	for (uint32_t i = 0; i < a->ngroups; i++)
		if (a->groups[i] == gid)
			return true;
	return false;
}

/* The groups of the process, with its real one; the caller frees them. NULL with errno. */
static gid_t *groups_read(uint32_t *ret_n)
{
	int n = getgroups(0, NULL);
	gid_t *groups;

	if (n < 0)
		return NULL;
	groups = xcalloc((size_t)n + 1, sizeof(*groups));
	n = n ? getgroups(n, groups) : 0;
	if (n < 0) {
		free(groups);
		return NULL;
	}
	groups[n] = getgid();
	*ret_n = (uint32_t)n + 1;
	return groups;
}

/* ---- where the rights come from -------------------------------------------------------------- */

/*
 * Process state on purpose: capabilities are the process's. Once those that were given are kept,
 * the inheritable set, which told where they came from, is empty. It is written once, before there
 * are other threads.
 */
static bool are_given_kept;

static enum rights_origin origin_find(const struct capability_sets *sets)
{
	uint64_t inherited = sets->inheritable & sets->permitted;
	bool is_secure = getauxval(AT_SECURE) != 0;

	if (are_given_kept)
		return RIGHTS_PROCESS;
	if (geteuid() != 0 && (inherited & NEEDED) != NEEDED && is_secure && sets->permitted)
		return RIGHTS_FILE;
	if (userns_is_inner()) /* to the kernel, capabilities of such a namespace are none */
		return RIGHTS_NONE;
	if (geteuid() == 0)
		return RIGHTS_ROOT;
	if ((inherited & NEEDED) == NEEDED)
		return RIGHTS_PROCESS;
	return (sets->effective & NEEDED) == NEEDED ||
			       (sets->effective & capability_bit(CAP_SYS_ADMIN))
		       ? RIGHTS_PROCESS
		       : RIGHTS_NONE;
}

/* The user must be the one who has called, and no other. */
static struct err *caller_check(void)
{
	uid_t real, effective, saved;

	if (getresuid(&real, &effective, &saved) != 0)
		return err_sys(errno, "cannot ask for the user");
	if (real != effective || real != saved)
		return err_hint(err_new("user %u calls with the rights of user %u, and levels are "
					"given to one user",
					real, effective),
				"call it without the set-user-id program");
	if (!userns_is_initial())
		return err_hint(err_new("levels do not hold in a user namespace"),
				"call it outside of the namespace or container");
	return NULL;
}

static struct err *levels_find(struct rights *r)
{
	struct asker a = {.uid = r->privileges.uid};
	const struct levels_asker asker = {asker_is_user, asker_is_member, &a};
	CLEANUP(free) gid_t *groups = groups_read(&a.ngroups);
	struct err *e;

	if (!groups)
		return err_sys(errno, "cannot ask for the groups of %s", r->user);
	a.groups = groups;
	e = levels_read(LEVELS_FOLDER, LEVELS_FILE, &asker, &r->found);
	if (e)
		return e;
	if (!r->found.levels && a.sys)
		return err_sys(a.sys, "%s has no level in %s as far as names could be looked up",
			       r->user, LEVELS_PATH);
	r->privileges.levels = r->found.levels;
	return NULL;
}

struct err *rights_find(struct rights *ret)
{
	struct capability_sets sets;
	struct rights r = {.privileges = {.uid = getuid(), .gid = getgid()}};
	uid_t uid = getuid();
	struct err *e;

	/* where a filter forbids the question, the kernel decides, as it always has */
	r.origin = capabilities_read(&sets) ? origin_find(&sets) : RIGHTS_PROCESS;
	if (user_look(NULL, &uid, r.user, sizeof(r.user)) != 0)
		(void)snprintf(r.user, sizeof(r.user), "user %u", uid);
	(void)text_clean(r.user);
	*ret = r;
	switch (r.origin) {
	case RIGHTS_ROOT:
	case RIGHTS_PROCESS: ret->privileges = PRIVILEGES_ALL; return NULL;
	case RIGHTS_NONE:
		/* a line about them has no effect, and is only told */
		err_destroy(levels_find(ret));
		ret->privileges.levels = 0;
		return NULL;
	case RIGHTS_FILE: break;
	}
	e = caller_check();
	return e ? e : levels_find(ret);
}

/* ---- taking them ----------------------------------------------------------------------------- */

/*
 * What the caller can set for a process, and the kernel keeps in execve(). Limits of resources, the
 * umask, timers and ignored signals can only end the process or make calls fail, as the user may do
 * by kill(2) as well. SIGCHLD must not be ignored, though, because then the ends of children are
 * not reported; and blocked signals would keep the user from ending a session. A session that
 * adopts orphans would have keepers of other sessions among its children, which count as its own
 * (kernel/quota.c).
 */
static struct err *process_harden(void)
{
	sigset_t none;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		return err_sys(errno, "cannot keep others from reading this process");
	(void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	(void)signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	return NULL;
}

static struct err *none_err(const struct rights *r)
{
	return err_hint(err_new("%s has no level: no line of %s is about this user or a group",
				r->user, LEVELS_PATH),
			"ask root for one: fathom-privileges(5)");
}

/* Of a file with other capabilities than the two. */
/* Which of the commands that may have capabilities this one is. */
static const char *command_file(void)
{
	return strcmp(program_invocation_short_name, "memprof") == 0 ? "/usr/sbin/memprof"
								     : "/usr/sbin/dtrace";
}

static struct err *hold_err(int sys)
{
	return err_hint(err_sys(sys, "the capabilities of the file of this command are not "
				     "cap_bpf and cap_perfmon"),
			"setcap cap_bpf,cap_perfmon=ip %s: fathom-privileges(5)", command_file());
}

static struct err *levels_take(struct rights *r)
{
	struct err *e = capabilities_hold(NEEDED) ? NULL : hold_err(errno);

	if (!e)
		e = process_harden();
	if (!e)
		e = rights_find(r);
	if (!e && !r->privileges.levels)
		e = none_err(r);
	return e ? e : quota_begin(r->found.quotas, r->user, LEVELS_PATH);
}

/* The user has levels, and the file of the command gives this process nothing. */
static struct err *lost_err(const struct rights *r)
{
	return err_hint(err_new("%s has a level by %s:%u, but this process has not the "
				"capabilities of the command's file",
				r->user, LEVELS_PATH, r->found.lines[0]),
			"root sets them: setcap cap_bpf,cap_perfmon=ip %s; they do not count under "
			"a tracer, with no_new_privs, or on a mount with nosuid",
			command_file());
}

/*
 * Makes those effective that were given and are not, because the file has capabilities, too: its
 * execve() has emptied the ambient set.
 */
static struct err *given_keep(const struct capability_sets *sets)
{
	if ((sets->effective & NEEDED) == NEEDED ||
	    (sets->effective & capability_bit(CAP_SYS_ADMIN)))
		return NULL;
	if (!capabilities_keep(sets->permitted & sets->inheritable))
		return err_sys(errno, "cannot use the capabilities that were given");
	are_given_kept = true;
	return NULL;
}

struct err *rights_take(bool is_tracing, struct rights *ret)
{
	struct capability_sets sets;
	bool is_known = capabilities_read(&sets);
	enum rights_origin origin = is_known ? origin_find(&sets) : RIGHTS_PROCESS;
	struct err *e = NULL;

	*ret = (struct rights){.origin = origin, .privileges = PRIVILEGES_ALL};
	switch (origin) {
	case RIGHTS_NONE:
		if (!is_tracing)
			break;
		e = rights_find(ret);
		if (!e && ret->found.levels)
			e = lost_err(ret);
		ret->privileges = PRIVILEGES_ALL; /* the kernel refuses */
		break;
	case RIGHTS_ROOT: break;
	case RIGHTS_PROCESS: e = is_known ? given_keep(&sets) : NULL; break;
	case RIGHTS_FILE:
		if (is_tracing)
			e = levels_take(ret);
		if (!is_tracing || e)
			capabilities_give_up();
		break;
	}
	return e;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* The lines that gave levels: ":3, 7 and others". */
static void lines_add(struct strbuf *b, const struct levels_found *f)
{
	for (uint32_t i = 0; i < MIN(f->nlines, LEVELS_LINES_MAX); i++)
		strbuf_addf(b, "%s%u", i ? ", " : ":", f->lines[i]);
	if (f->nlines > LEVELS_LINES_MAX)
		strbuf_adds(b, " and others");
}

/* All quotas, and where those that are no defaults come from. */
static void quotas_add(struct strbuf *b, const struct quota quotas[QUOTA_NKINDS])
{
	char text[QUOTA_TEXT_MAX];

	strbuf_adds(b, "\nyour sessions share: ");
	for (uint32_t i = 0; i < QUOTA_NKINDS; i++) {
		strbuf_addf(b, "%s%s", i ? ", " : "",
			    quota_text((enum quota_kind)i, quotas[i].max, text));
		if (quotas[i].line)
			strbuf_addf(b, " (line %u)", quotas[i].line);
	}
}

/* Root of a container has the capabilities that the container was given. */
static const char *root_text(void)
{
	struct capability_sets sets;
	uint64_t lacking = 0;

	if (capabilities_read(&sets) && !(sets.permitted & capability_bit(CAP_SYS_ADMIN)))
		lacking = NEEDED & ~sets.permitted;
	if (!lacking)
		return "all levels (as root)";
	return lacking == NEEDED ? "no level (this root lacks CAP_BPF and CAP_PERFMON)"
	       : lacking == capability_bit(CAP_BPF) ? "no level (this root lacks CAP_BPF)"
						    : "no level (this root lacks CAP_PERFMON)";
}

const char *rights_text(const struct rights *r, char *buf, size_t size)
{
	char words[LEVELS_TEXT_MAX];
	struct strbuf b = {0};

	strbuf_addf(&b, "you are %s: ", r->user);
	switch (r->origin) {
	case RIGHTS_ROOT: strbuf_adds(&b, root_text()); break;
	case RIGHTS_PROCESS:
		strbuf_adds(&b, "all levels (by capabilities that this process was given)");
		break;
	case RIGHTS_NONE:
		if (r->found.levels) {
			strbuf_addf(&b, "no level (%s", LEVELS_PATH);
			lines_add(&b, &r->found);
			strbuf_adds(&b, " gives one, and this process has not the capabilities of "
					"the command's file)");
		} else {
			strbuf_adds(&b, userns_is_inner() ? "no level (in a user namespace, whose "
							    "capabilities hold there only)"
							  : "no level (neither root, nor CAP_BPF "
							    "and CAP_PERFMON)");
		}
		break;
	case RIGHTS_FILE:
		if (!r->privileges.levels) {
			strbuf_addf(&b, "no level (none in %s)", LEVELS_PATH);
			break;
		}
		strbuf_addf(&b, "%s (by %s", levels_text(r->privileges.levels, words), LEVELS_PATH);
		lines_add(&b, &r->found);
		strbuf_addc(&b, ')');
		quotas_add(&b, r->found.quotas);
		break;
	}
	(void)snprintf(buf, size, "%s", strbuf_text(&b));
	strbuf_deinit(&b);
	return buf;
}
