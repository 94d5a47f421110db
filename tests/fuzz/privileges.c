/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: /etc/fathom/privileges. The input is the file; users and groups are ours if their
 * names begin with 'a'. Whatever the file says, a refusal has a reason and gives nothing, and
 * levels come with the lines that gave them.
 */
#include "privilege/levels_file.h"
#include "privilege/privilege.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_ours(void *ctx, const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > LEVELS_NAME_MAX)
		BUG("a name of %zu bytes", len);
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] < ' ')
			BUG("a control character in a name");
	return name[0] == 'a';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct levels_asker asker = {is_ours, is_ours, NULL};
	struct levels_found found;
	struct err *e = levels_parse((const char *)data, size, &asker, &found);

	if (e && (!*err_text(e) || !err_get_hint(e) || found.levels))
		BUG("refused without a reason, or not wholly");
	if ((found.levels & ~(uint32_t)LEVELS_ALL) || (found.levels != 0) != (found.nlines != 0))
		BUG("levels 0x%x by %u lines", found.levels, found.nlines);
	for (uint32_t i = 1; i < MIN(found.nlines, LEVELS_LINES_MAX); i++)
		if (found.lines[i] <= found.lines[i - 1])
			BUG("lines are not in order");
	for (uint32_t i = 0; i < QUOTA_NKINDS; i++) {
		static const uint64_t most[QUOTA_NKINDS] = {QUOTA_SESSIONS_MAX, QUOTA_MEMORY_MAX,
							    QUOTA_PROBES_MAX, QUOTA_CPU_MAX};
		const struct quota *q = &found.quotas[i];

		if (e ? q->max != 0 || q->line : q->max == 0 || q->max > most[i])
			BUG("quota %u is %llu by line %u", i, (unsigned long long)q->max, q->line);
	}
	err_destroy(e);
	return 0;
}
