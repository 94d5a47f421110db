/* SPDX-License-Identifier: MIT */
#include "privilege/privilege.h"

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
