/* Strings of JSON: any bytes become valid text. */
#include "render/impl.h"

/*
 * Bytes of the UTF-8 character that s begins with; 0: it begins with none (also not one of a longer
 * form, or a surrogate).
 */
static size_t utf8_len(const unsigned char *s, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80	     ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;
	uint32_t ch;

	if (n <= 1)
		return n;
	if (n > len)
		return 0;
	ch = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		ch = ch << 6 | (s[i] & 0x3f);
	}
	return ch < least[n] || ch > 0x10ffff || ch >> 11 == 0x1b ? 0 : n;
}

static bool is_ordinary(unsigned char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

static void escape_add(struct out *o, unsigned char c)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (size_t i = 0; names[i]; i += 2)
		if ((unsigned char)names[i] == c) {
			out_addc(o, '\\');
			out_addc(o, names[i + 1]);
			return;
		}
	out_addf(o, "\\u%04x", c);
}

void json_string(struct out *o, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text;

	out_addc(o, '"');
	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0; i + n < len && is_ordinary(s[i + n]); n++)
			;
		out_add(o, text + i, n);
		if (n)
			continue;
		n = utf8_len(s + i, len - i);
		if (n > 1)
			out_add(o, text + i, n);
		else if (n == 1)
			escape_add(o, s[i]);
		else
			out_adds(o, "\\ufffd");
		n = MAX(n, (size_t)1);
	}
	out_addc(o, '"');
}
