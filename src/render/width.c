/* SPDX-License-Identifier: MIT */
/*
 * Columns of UTF-8 text on a terminal. The locale does not matter: scripts that run under LC_ALL=C
 * print UTF-8, too.
 */
#include "base/text.h"
#include "render/out.h"

static const struct range {
	uint32_t first, last, columns;
} ranges[] = {
#define RANGE(first, last, columns) {first, last, columns},
#include "render/width.def"
#undef RANGE
};

static uint32_t columns_of(uint32_t ch)
{
	size_t low = 0, high = ARRAY_LEN(ranges);

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ch > ranges[mid].last)
			low = mid + 1;
		else
			high = mid;
	}
	return low < ARRAY_LEN(ranges) && ch >= ranges[low].first ? ranges[low].columns : 1;
}

/*
 * The length of a character; 1 when the byte begins none, or is ASCII: then it takes one column, as
 * most terminals show it.
 */
static size_t char_get(const char *text, size_t len, uint32_t *ret_ch)
{
	size_t n = utf8_get(text, len, ret_ch);

	if (n > 1)
		return n;
	*ret_ch = '?';
	return 1;
}

/* The number of bytes before the first one that is not ASCII; each of them is a column. */
static size_t ascii_len(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && !((uint8_t)text[i] & 0x80))
		i++;
	return i;
}

size_t text_fit(const char *text, size_t len, size_t max, size_t *ret_columns)
{
	size_t at = ascii_len(text, MIN(len, max)), columns = at;

	while (at < len) {
		uint32_t ch;
		size_t n = char_get(text + at, len - at, &ch), wide = columns_of(ch);

		if (columns + wide > max)
			break;
		columns += wide;
		at += n;
	}
	*ret_columns = columns;
	return at;
}

size_t text_columns(const char *text, size_t len)
{
	size_t columns;

	(void)text_fit(text, len, SIZE_MAX, &columns);
	return columns;
}
