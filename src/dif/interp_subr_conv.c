/* SPDX-License-Identifier: MIT */
/* Subroutines that convert: numbers, network addresses. Semantics: top of interp_subr.c. */
#include "dif/interp_impl.h"

#define DIF_AF_INET  2 /* Linux: include/linux/socket.h */
#define DIF_AF_INET6 10

/* ---- numbers --------------------------------------------------------------------------------- */

static bool is_base(uint64_t base)
{
	return base >= 2 && base <= 36;
}

uint64_t subr_lltostr(struct dif_machine *m, const uint64_t *v)
{
	uint64_t value = v[0], base = v[1];
	bool is_negative = base == 10 && (int64_t)value < 0;
	char text[72], *p = text + sizeof(text);

	if (!is_base(base))
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	if (is_negative)
		value = 0 - value;
	do {
		*--p = "0123456789abcdefghijklmnopqrstuvwxyz"[value % base];
		value /= base;
	} while (value);
	if (base == 16)
		*--p = 'x';
	if (base == 16 || (base == 8 && *p != '0'))
		*--p = '0';
	if (is_negative)
		*--p = '-';
	return subr_result(m, p, (size_t)(text + sizeof(text) - p));
}

static uint64_t digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (uint64_t)(c - '0');
	if (c >= 'a' && c <= 'z')
		return (uint64_t)(c - 'a' + 10);
	if (c >= 'A' && c <= 'Z')
		return (uint64_t)(c - 'A' + 10);
	return UINT64_MAX;
}

uint64_t subr_strtoll(struct dif_machine *m, const uint64_t *v)
{
	uint64_t base = v[1], value = 0;
	const char *s = m->text[0];
	bool is_negative;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	if (!is_base(base))
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	s += strspn(s, " \t\n\v\f\r");
	is_negative = *s == '-';
	if (*s == '-' || *s == '+')
		s++;
	if (base == 16 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (; digit_value(*s) < base; s++)
		value = value * base + digit_value(*s);
	return is_negative ? 0 - value : value;
}

/* ---- network addresses ----------------------------------------------------------------------- */

/* A result string: the address behind prefix. text has room for every prefix. */
static uint64_t result_ipv4(struct dif_machine *m, const char *prefix, const uint8_t *ip)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "%s%u.%u.%u.%u", prefix, ip[0], ip[1], ip[2], ip[3]);

	return subr_result(m, text, (size_t)len);
}

uint64_t subr_inet_ntoa(struct dif_machine *m, const uint64_t *v)
{
	uint8_t ip[4];

	if (!mem_load(m, SPACE_KERNEL, v[0], ip, sizeof(ip)))
		return dif_fault(m, DIF_FAULT_BADADDR, v[0]);
	return result_ipv4(m, "", ip);
}

static bool is_zero(const uint8_t *p, size_t len)
{
	while (len && !*p)
		p++, len--;
	return !len;
}

static bool is_v4mapped(const uint8_t *ip)
{
	return is_zero(ip, 10) && ip[10] == 0xff && ip[11] == 0xff;
}

/* A v4-compatible address is neither the unspecified address nor the loopback address. */
static bool is_v4compat(const uint8_t *ip)
{
	return is_zero(ip, 12) && !(is_zero(ip + 12, 3) && ip[15] <= 1);
}

static uint32_t ipv6_group(const uint8_t *ip, int i)
{
	return (uint32_t)ip[2 * i] << 8 | ip[2 * i + 1];
}

/* Finds the longest run of zero groups; of several, the first one. */
static void zero_run_find(const uint8_t *ip, int *ret_start, int *ret_len)
{
	*ret_start = *ret_len = 0;
	for (int i = 0; i < 8;) {
		int len = 0;

		while (i + len < 8 && !ipv6_group(ip, i + len))
			len++;
		if (len > *ret_len) {
			*ret_start = i;
			*ret_len = len;
		}
		i += len + 1;
	}
}

static uint64_t result_ipv6(struct dif_machine *m, const uint8_t *ip, bool strict)
{
	struct strbuf text = {0};
	int run, run_len;
	uint64_t addr;

	zero_run_find(ip, &run, &run_len);
	if (run_len < (strict ? 2 : 1)) {
		run = 8;
		run_len = 0;
	}
	for (int i = 0; i < 8;) {
		if (i == run) {
			strbuf_adds(&text, "::");
			i += run_len;
			continue;
		}
		strbuf_addf(&text, "%s%x", i && i != run + run_len ? ":" : "", ipv6_group(ip, i));
		i++;
	}
	addr = subr_result(m, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
	return addr;
}

static uint64_t ipv6_to_text(struct dif_machine *m, uint64_t addr, bool strict, const char *mapped,
			     const char *compat)
{
	uint8_t ip[16];

	if (!mem_load(m, SPACE_KERNEL, addr, ip, sizeof(ip)))
		return dif_fault(m, DIF_FAULT_BADADDR, addr);
	if (is_v4mapped(ip))
		return result_ipv4(m, mapped, ip + 12);
	if (is_v4compat(ip))
		return result_ipv4(m, compat, ip + 12);
	return result_ipv6(m, ip, strict);
}

uint64_t subr_inet_ntoa6(struct dif_machine *m, const uint64_t *v)
{
	return ipv6_to_text(m, v[0], v[1] != 0, "", "");
}

/* Linux include/uapi/linux/if_arp.h */
static const struct {
	uint64_t type;
	uint32_t len;
} link_types[] = {{1, 6}, {32, 20}};

uint64_t subr_link_ntop(struct dif_machine *m, const uint64_t *v)
{
	uint8_t bytes[20];
	char text[3 * sizeof(bytes) + 1] = "";
	uint32_t len = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(link_types); i++)
		if (link_types[i].type == v[0])
			len = link_types[i].len;
	if (!len)
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	if (!mem_load(m, SPACE_KERNEL, v[1], bytes, len))
		return dif_fault(m, DIF_FAULT_BADADDR, v[1]);
	for (uint32_t i = 0; i < len; i++)
		(void)snprintf(text + 3 * i, 4, "%02x:", bytes[i]);
	return subr_result(m, text, 3 * len - 1);
}

uint64_t subr_inet_ntop(struct dif_machine *m, const uint64_t *v)
{
	if (v[0] == DIF_AF_INET)
		return subr_inet_ntoa(m, &v[1]);
	if (v[0] == DIF_AF_INET6)
		return ipv6_to_text(m, v[1], true, "::ffff:", "::");
	return dif_fault(m, DIF_FAULT_ILLOP, 0);
}
