/* SPDX-License-Identifier: MIT */
/* Words of levels to bits and back; whose processes a session may ask about. */
#include "privilege/privilege.h"
#include "tap.h"

static uint32_t level_of(const char *word)
{
	return level_parse(word, strlen(word));
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
	return tap_done();
}
