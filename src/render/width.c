/*
 * Columns of text on a terminal, whatever the locale is: scripts run under LC_ALL=C print UTF-8 all
 * the same.
 */
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

/* Decodes a character; its length, 1 when the byte begins none: it stands for itself. */
static size_t utf8_get(const char *text, size_t len, uint32_t *ret_ch)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t lead = (uint8_t)text[0];
	size_t n = lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	uint32_t ch = n == 1 ? lead : lead & (0x7fu >> n);

	*ret_ch = '?'; /* one column, as most terminals show it */
	if (n > len || lead >= 0xf8)
		return 1;
	for (size_t i = 1; i < n; i++) {
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 1;
		ch = ch << 6 | ((uint8_t)text[i] & 0x3f);
	}
	if (n > 1 && ch >= least[n])
		*ret_ch = ch;
	return n > 1 && ch < least[n] ? 1 : n;
}

/* Bytes before the first one that is not ASCII, of which each is a column. */
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
		size_t n = utf8_get(text + at, len - at, &ch), wide = columns_of(ch);

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
