/* SPDX-License-Identifier: MIT */
/*
 * TAP for unit tests: ok(), is_int(), is_str(), done_testing().
 *
 * A test program calls the checks and returns tap_done(). Checks print file and line on failure and
 * go on.
 */
#pragma once

#include "base/base.h"

static int tap_count, tap_failed;

__attribute__((unused))
PRINTF_LIKE(4, 5) static bool tap_ok(bool pass, const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	if (!pass) {
		printf("# failed at %s:%d\n", file, line);
		tap_failed++;
	}
	fflush(stdout);
	return pass;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
/* clang-format off */
#define is_int(got, want, name)                                                        \
	do {                                                                           \
		long long g_ = (long long)(got), w_ = (long long)(want);               \
		if (!tap_ok(g_ == w_, __FILE__, __LINE__, "%s", (name)))               \
			printf("# got %lld (0x%llx), want %lld (0x%llx)\n", g_, g_, w_, w_); \
	} while (0)
/* clang-format on */
/* clang-format off */
#define is_str(got, want, name)                                            \
	do {                                                               \
		const char *g_ = (got), *w_ = (want);                      \
		if (!tap_ok(strcmp(g_, w_) == 0, __FILE__, __LINE__, "%s", (name))) \
			printf("# got  '%s'\n# want '%s'\n", g_, w_);      \
	} while (0)
/* clang-format on */

/* How many times as slow as a real machine this one may be: an emulated one is (tests/run.py). */
__attribute__((unused)) static uint64_t tap_patience(void)
{
	const char *patience = getenv("PATIENCE");

	return patience ? MAX(strtoull(patience, NULL, 10), 1) : 1;
}

__attribute__((unused)) static int tap_done(void)
{
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}
