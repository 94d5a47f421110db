/* SPDX-License-Identifier: MIT */
/* Opens and reads what the capturer has written. */
#include "crash/input.h"

#include <ctype.h>
#include <fcntl.h>

#include "crash/format.h"
#include "crash/store.h"

static const char *const names[] = {
	[CRASH_IN_CAPTURE] = CRASH_FILE_CAPTURE,
	[CRASH_IN_CORE] = CRASH_FILE_CORE,
	[CRASH_IN_LOG] = CRASH_FILE_LOG,
	[CRASH_IN_CMDLINE] = "cmdline",
	[CRASH_IN_ENVIRON] = "environ",
	[CRASH_IN_FD] = CRASH_PROC_FD,
	[CRASH_IN_LIMITS] = "limits",
	[CRASH_IN_MAPS] = "maps",
	[CRASH_IN_OOM] = "oom_score",
	[CRASH_IN_STAT] = "stat",
	[CRASH_IN_STATUS] = "status",
	[CRASH_IN_TASK] = CRASH_PROC_TASK,
};

void crash_input_open(int dir, struct crash_input *ret)
{
	CLEANUP(fd)
	int proc = openat(dir, CRASH_FILE_PROC, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*ret = (struct crash_input){0};
	for (uint32_t i = 0; i < CRASH_IN_FILES; i++) {
		bool is_of_entry = i <= CRASH_IN_LOG;

		ret->fds[i] = is_of_entry || proc >= 0
				      ? crash_file_open(is_of_entry ? dir : proc, names[i])
				      : -1;
	}
}

void crash_input_begin(struct crash_input *in)
{
	struct strbuf text = {0};

	(void)crash_input_text(in, CRASH_IN_CAPTURE, PAIRS_TEXT_MAX, &text); /* all that is there */
	pairs_parse(strbuf_text(&text), text.len, &in->capture);
	strbuf_deinit(&text);
}

void crash_input_close(struct crash_input *in)
{
	for (uint32_t i = 0; i < CRASH_IN_FILES; i++)
		cleanup_fd(&in->fds[i]);
	pairs_deinit(&in->capture);
}

bool crash_input_text(const struct crash_input *in, enum crash_file which, size_t max,
		      struct strbuf *out)
{
	size_t at = 0;
	ssize_t n = 1;

	if (in->fds[which] < 0)
		return false;
	while (at < max) {
		size_t size = MIN(max - at, (size_t)65536);

		n = pread(in->fds[which], strbuf_room(out, size), size, (off_t)at);
		if (n <= 0)
			break;
		strbuf_wrote(out, (size_t)n);
		at += (size_t)n;
	}
	return n == 0;
}

const char *crash_input_get(const struct crash_input *in, const char *key)
{
	const char *value = pairs_find(&in->capture, key);

	return value ? value : "";
}

int64_t crash_input_int(const struct crash_input *in, const char *key, int64_t missing)
{
	return pairs_int(&in->capture, key, missing);
}

static int digit_of(char c)
{
	if (!isxdigit((unsigned char)c))
		return -1;
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

void crash_field_add(struct strbuf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool is_escape = len - i >= 4 && text[i] == '\\' && text[i + 1] == 'x' &&
				 digit_of(text[i + 2]) >= 0 && digit_of(text[i + 3]) >= 0;

		strbuf_addc(out,
			    is_escape ? (char)(digit_of(text[i + 2]) * 16 + digit_of(text[i + 3]))
				      : text[i]);
		i += is_escape ? 3 : 0;
	}
}
