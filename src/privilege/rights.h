/* SPDX-License-Identifier: MIT */
/*
 * Where the rights of this process come from, and what its user may trace.
 *
 *     root          everything that the kernel lets root do
 *     the process   whoever started it gave it CAP_BPF and CAP_PERFMON (AmbientCapabilities= of
 *                   systemd, setpriv): everything that these allow, as the kernel sees it
 *     its file      CAP_BPF and CAP_PERFMON are capabilities of the command's file, so everybody
 *                   has them who can execute it: the levels that /etc/fathom/privileges gives the
 *                   user, and no session without
 *     none          no session that traces
 *
 * The kernel tells the second from the third. execve() of a file with capabilities puts them in the
 * permitted set, empties the ambient set and sets AT_SECURE. It keeps the inheritable set, into
 * which nobody can bring a capability but who has it: where CAP_BPF and CAP_PERFMON are inheritable
 * they were given by whoever started the process, also when the file has some of its own.
 *
 * A process whose rights come from its file is hardened by rights_take(). The kernel has already
 * seen to most of it, because execve() raised its capabilities: nobody but root can trace it, read
 * its memory or have its core file; LD_* and their like are gone from the environment (ld.so(8)),
 * and so are a personality and a signal at the end of the parent that the caller has set; a tracer
 * that was there before keeps the process from getting the capabilities at all.
 *
 * Threads  rights_take() comes before the first other thread.
 * Facts    Linux security/commoncap.c, cap_bprm_creds_from_file(); fs/exec.c, begin_new_exec();
 *          kernel/cred.c, commit_creds(). capabilities(7), getauxval(3).
 */
#pragma once

#include "privilege/levels_file.h"
#include "privilege/privilege.h"

enum rights_origin { RIGHTS_NONE, RIGHTS_ROOT, RIGHTS_PROCESS, RIGHTS_FILE };

struct rights {
	enum rights_origin origin;
	char user[LEVELS_NAME_MAX + 1]; /* the user's name, or the number; safe to print */
	struct privileges privileges;	/* RIGHTS_NONE and RIGHTS_FILE without levels: no levels */
	struct levels_found found;	/* the lines about them; RIGHTS_NONE: without effect */
};

/*
 * Finds out, and changes nothing. It fails where the file of levels cannot be trusted or
 * understood, or where the user is not certain: in a user namespace, or behind a set-user-id
 * program. On errors *ret has the origin and the name, and no levels.
 */
MUST_CHECK struct err *rights_find(struct rights *ret);
/*
 * The same at the beginning of a session. Capabilities of the file are given up if the session does
 * not trace or the user has no levels; then the session may do what this user can, or the error
 * says what is missing. Else they are held (kernel/capabilities.h), and the quotas of the user hold
 * for this process (kernel/quota.h). Those that the process was given are effective from then on,
 * whether the session traces or not, and rights_find() says later on as well that they were given.
 */
MUST_CHECK struct err *rights_take(bool is_tracing, struct rights *ret);
/*
 * For people, without a line feed at the end: "you are alice: dtrace_user (by FILE:3)". Whoever has
 * levels gets a second line, with the quotas.
 */
const char *rights_text(const struct rights *r, char *buf, size_t size);
