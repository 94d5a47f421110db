/* SPDX-License-Identifier: MIT */
/* String subroutines of the interpreter. Semantics: top of interp_subr.c. */
#include "dif/interp_impl.h"

bool subr_text(struct dif_machine *m, uint64_t addr, int n, uint32_t *ret_len)
{
	if (addr && mem_load_text(m, SPACE_KERNEL, addr, m->text[n], m->strsize - 1, ret_len))
		return true;
	dif_fault(m, DIF_FAULT_BADADDR, addr);
	return false;
}

uint64_t subr_result(struct dif_machine *m, const char *text, size_t len)
{
	uint64_t addr = mem_alloc(m, m->strsize);
	char *host = mem_host(addr);

	if (!addr)
		return 0;
	len = MIN(len, (size_t)m->strsize - 1);
	memcpy(host, text, len);
	host[len] = '\0';
	return addr;
}

uint64_t subr_strlen(struct dif_machine *m, const uint64_t *v)
{
	uint32_t len;

	return subr_text(m, v[0], 0, &len) ? len : 0;
}

uint64_t subr_strjoin(struct dif_machine *m, const uint64_t *v)
{
	uint32_t a, b;

	if (!subr_text(m, v[0], 0, &a) || !subr_text(m, v[1], 1, &b))
		return 0;
	b = MIN(b, m->strsize - 1 - a);
	memcpy(m->text[0] + a, m->text[1], b);
	return subr_result(m, m->text[0], a + b);
}

uint64_t subr_substr(struct dif_machine *m, const uint64_t *v)
{
	int64_t i = (int64_t)v[1], len = (int64_t)v[2], n;
	uint32_t size;

	if (!subr_text(m, v[0], 0, &size))
		return 0;
	n = size;
	if (i < 0) {
		i += n;
		/* len > 0: then len + i does not overflow */
		if (i < 0 && len > 0 && len + i > 0) {
			len += i;
			i = 0;
		}
	}
	if (i < 0 || i >= n)
		return subr_result(m, "", 0);
	if (len < 0)
		len += n - i;
	len = MAX(0, MIN(len, n - i));
	return subr_result(m, m->text[0] + i, (size_t)len);
}

static bool text_matches(const struct dif_machine *m, int64_t pos, uint32_t len)
{
	return memcmp(m->text[0] + pos, m->text[1], len) == 0;
}

/* The first position of text[1] in text[0] that is not below start (0 .. n), or -1. */
static int64_t text_find(const struct dif_machine *m, int64_t start, uint32_t n, uint32_t len)
{
	for (int64_t p = start; p <= (int64_t)n - len; p++)
		if (text_matches(m, p, len))
			return p;
	return -1;
}

uint64_t subr_index(struct dif_machine *m, const uint64_t *v)
{
	int64_t start = (int64_t)v[2];
	uint32_t n, len;

	if (!subr_text(m, v[0], 0, &n) || !subr_text(m, v[1], 1, &len))
		return 0;
	return (uint64_t)text_find(m, MAX(0, MIN(start, (int64_t)n)), n, len);
}

uint64_t subr_rindex(struct dif_machine *m, const uint64_t *v)
{
	int64_t start = (int64_t)v[2];
	uint32_t n, len;

	if (!subr_text(m, v[0], 0, &n) || !subr_text(m, v[1], 1, &len))
		return 0;
	if (start < 0)
		return len ? UINT64_MAX : 0;
	for (int64_t p = MIN(start, (int64_t)n - len); p >= 0; p--)
		if (text_matches(m, p, len))
			return (uint64_t)p;
	return UINT64_MAX;
}

uint64_t subr_strstr(struct dif_machine *m, const uint64_t *v)
{
	uint32_t n, len;
	int64_t p;

	if (!subr_text(m, v[0], 0, &n) || !subr_text(m, v[1], 1, &len))
		return 0;
	p = text_find(m, 0, n, len);
	return p < 0 ? 0 : v[0] + (uint64_t)p;
}

uint64_t subr_strchr(struct dif_machine *m, const uint64_t *v)
{
	const char *found;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	found = memchr(m->text[0], (int)(v[1] & 0xff), n + 1u);
	return found ? v[0] + (uint64_t)(found - m->text[0]) : 0;
}

uint64_t subr_strrchr(struct dif_machine *m, const uint64_t *v)
{
	const char *found;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	found = memrchr(m->text[0], (int)(v[1] & 0xff), n + 1u);
	return found ? v[0] + (uint64_t)(found - m->text[0]) : 0;
}

uint64_t subr_strtok(struct dif_machine *m, const uint64_t *v)
{
	uint64_t rest = v[0] ? v[0] : m->tok_rest;
	uint32_t n, ndelims, begin, end;

	if (!rest)
		return dif_fault(m, DIF_FAULT_BADADDR, 0);
	if (!v[0] && rest == TOK_DONE)
		return 0;
	m->tok_rest = TOK_DONE;
	if (!subr_text(m, rest, 0, &n) || !subr_text(m, v[1], 1, &ndelims))
		return 0;
	begin = (uint32_t)strspn(m->text[0], m->text[1]);
	end = begin + (uint32_t)strcspn(m->text[0] + begin, m->text[1]);
	if (begin == n)
		return 0;
	if (end != n)
		m->tok_rest = rest + end + 1;
	return subr_result(m, m->text[0] + begin, end - begin);
}

/* A result string in which the characters from first to first + 25 have changed their case. */
static uint64_t case_change(struct dif_machine *m, uint64_t addr, char first)
{
	uint32_t n;

	if (!subr_text(m, addr, 0, &n))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (m->text[0][i] >= first && m->text[0][i] <= first + 25)
			m->text[0][i] ^= 'a' ^ 'A';
	return subr_result(m, m->text[0], n);
}

uint64_t subr_tolower(struct dif_machine *m, const uint64_t *v)
{
	return case_change(m, v[0], 'A');
}

uint64_t subr_toupper(struct dif_machine *m, const uint64_t *v)
{
	return case_change(m, v[0], 'a');
}

#define MEMSTR_MAX 4096

uint64_t subr_memstr(struct dif_machine *m, const uint64_t *v)
{
	uint32_t n = (uint32_t)MIN(v[2], (uint64_t)m->strsize);
	char *text = m->text[0];

	if (v[2] == 0)
		return 0;
	if (v[2] > MEMSTR_MAX)
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	if (!mem_load(m, SPACE_KERNEL, v[0], text, n))
		return dif_fault(m, DIF_FAULT_BADADDR, v[0]);
	for (uint32_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = (char)v[1];
	text[n - 1] = '\0';
	return subr_result(m, text, strlen(text));
}
