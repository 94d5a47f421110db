/* SPDX-License-Identifier: MIT */
/* Words of levels to bits and back; whose processes a session may ask about. */
#include <unistd.h>

#include "privilege/privilege.h"
#include "tap.h"

static uint32_t level_of(const char *word)
{
	return level_parse(word, strlen(word));
}

/* Whether the text is taken, and what is left then. */
static void narrow(struct privileges p, const char *text, bool is_good, uint32_t levels,
		   uint32_t uid)
{
	struct privileges before = p;
	struct err *e = privileges_narrow(&p, text);

	if (!is_good) {
		ok(e && p.levels == before.levels && p.uid == before.uid, "'%s' is refused", text);
		ok(e && *err_text(e), "with a message: %s", e ? err_text(e) : "");
	} else {
		ok(!e && p.levels == levels && p.uid == uid, "'%s' leaves %x of %u", text, p.levels,
		   p.uid);
	}
	err_destroy(e);
}

static void narrowing(void)
{
	struct privileges all = PRIVILEGES_ALL;
	struct privileges alice = {.levels = LEVEL_USER | LEVEL_PROC, .uid = 1000};
	struct privileges alice_kernel = {.levels = LEVELS_ALL & ~LEVEL_PROC_OWNER, .uid = 1000};

	narrow(all, "dtrace_user", true, LEVEL_USER, getuid());
	narrow(all, "1000:dtrace_user,dtrace_proc", true, LEVEL_USER | LEVEL_PROC, 1000);
	narrow(all, "root:dtrace_kernel", true, LEVEL_USER | LEVEL_PROC | LEVEL_KERNEL, 0);
	narrow(all, "1000:proc_owner,dtrace_user", true, LEVEL_USER | LEVEL_PROC_OWNER, 1000);
	narrow(alice, "dtrace_user", true, LEVEL_USER, 1000);
	narrow(alice, "dtrace_kernel,proc_owner", true, LEVEL_USER | LEVEL_PROC, 1000);
	narrow(alice, "1000:dtrace_user", true, LEVEL_USER, 1000);
	narrow(alice_kernel, "dtrace_proc", true, LEVEL_PROC, 1000);
	narrow(alice, "1001:dtrace_user", false, 0, 0);
	narrow(alice, "0:dtrace_user", false, 0, 0);
	narrow(all, "", false, 0, 0);
	narrow(all, "1000:", false, 0, 0);
	narrow(all, "1000:dtrace_user,", false, 0, 0);
	narrow(all, "1000:dtrace", false, 0, 0);
	narrow(all, "1000000000000:dtrace_user", false, 0, 0);
	narrow(all, "4294967295:dtrace_user", false, 0, 0);
	narrow(all, "-1:dtrace_user", false, 0, 0);
	narrow(all, "no such user:dtrace_user", false, 0, 0);
	ok(!privileges_lack(NULL, LEVELS_ALL), "without privileges nothing is missing");
	ok(privileges_lack(&alice, LEVEL_KERNEL) && !privileges_lack(&alice, LEVEL_USER),
	   "what is missing");
	ok(privileges_own_process(&all, 1) && privileges_own_process(NULL, 1), "with proc_owner");
	ok(!privileges_own_process(&alice, 1), "process 1 is not alice's");
}

int main(void)
{
	char text[LEVELS_TEXT_MAX];
	struct privileges alice = {.levels = LEVEL_USER | LEVEL_PROC, .uid = 1000};
	struct privileges all = PRIVILEGES_ALL;

	is_int(level_of("dtrace_user"), LEVEL_USER, "dtrace_user");
	is_int(level_of("dtrace_proc"), LEVEL_PROC, "dtrace_proc");
	is_int(level_of("dtrace_kernel"), LEVEL_KERNEL, "dtrace_kernel");
	is_int(level_of("proc_owner"), LEVEL_PROC_OWNER, "proc_owner");
	is_int(level_of("dtrace_users"), 0, "a longer word is none");
	is_int(level_of("dtrace_use"), 0, "a shorter word is none");
	is_int(level_of(""), 0, "the empty word is none");
	is_str(levels_text(LEVELS_ALL, text), "dtrace_user, dtrace_proc, dtrace_kernel, proc_owner",
	       "all words");
	is_str(levels_text(0, text), "none", "no level");
	is_str(level_word(LEVEL_KERNEL), "dtrace_kernel", "the word of a level");
	ok(privileges_have(&alice, LEVEL_USER | LEVEL_PROC), "both levels are there");
	ok(!privileges_have(&alice, LEVEL_USER | LEVEL_KERNEL), "one of two is missing");
	ok(privileges_own(&alice, 1000) && !privileges_own(&alice, 0), "the own processes only");
	ok(privileges_own(&all, 0) && privileges_own(&all, 1000), "with proc_owner, everybody's");
	narrowing();
	return tap_done();
}
