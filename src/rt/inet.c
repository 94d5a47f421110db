/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: subroutines that convert network addresses to text.
 */
#include "rt/rt.h"

#define AF_INET	 2
#define AF_INET6 10

/* The longest text, "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", is shorter. */
#define TEXT_SIZE 64

#define LINK_ETHER 6  /* bytes of an Ethernet address */
#define LINK_MAX   20 /* bytes of an InfiniBand address, which is the longest */
/* Linux include/uapi/linux/if_arp.h */
#define ARPHRD_ETHER	  1
#define ARPHRD_INFINIBAND 32

struct inet_work {
	u8 addr[16] __attribute__((aligned(8)));
	u8 link[LINK_MAX + 4];
	u16 group[8];	 /* host order */
	u64 min_run;	 /* the least number of zero groups that become "::" */
	u64 run;	 /* number of zero groups up to the present one */
	u64 best, nbest; /* the first group and the length of the longest run */
	u64 len;
	char text[TEXT_SIZE + 8];
};

INLINE char hex_digit(u32 d)
{
	return d < 10 ? '0' + d : 'a' - 10 + d;
}

INLINE void char_put(struct inet_work *w, char c)
{
	u64 n = w->len;

	if (n >= TEXT_SIZE)
		return;
	w->text[n] = c;
	w->len = n + 1;
}

/* Writes the number v, at most 255, and a '.' to the four bytes at to; returns how many count. */
INLINE u64 byte_write(char *to, u32 v)
{
	u32 tens = v * 205 >> 11, hundreds = v * 41 >> 12; /* v / 10, v / 100 */
	u32 text = ('0' + hundreds) | ('0' + tens - hundreds * 10) << 8 |
		   ('0' + v - tens * 10) << 16 | (u32)'.' << 24;
	u32 no_tens = v - 10, no_hundreds = v - 100;

	/* 1 without such a digit; a branch instead would double the paths of the verifier */
	OPAQUE(no_tens);
	OPAQUE(no_hundreds);
	no_tens = (no_tens >> 31) + (no_hundreds >> 31);
	*(u32 *)to = text >> no_tens * 8;
	return 4 - no_tens;
}

#define V4_SIZE 16 /* bytes that v4_write() writes at most */

/* Writes an IPv4 address, the first byte of which is the lowest one of v; returns the length. */
INLINE u64 v4_write(char *to, u32 v)
{
	u64 n = byte_write(to, v & 255);

	n += byte_write(to + n, v >> 8 & 255);
	n += byte_write(to + n, v >> 16 & 255);
	n += byte_write(to + n, v >> 24);
	return n - 1;
}

INLINE void put_v4(struct inet_work *w, u32 v)
{
	u64 n = w->len;

	if (n <= TEXT_SIZE - V4_SIZE)
		w->len = n + v4_write(w->text + n, v);
}

INLINE void put_digit(struct inet_work *w, u32 d)
{
	char_put(w, hex_digit(d));
}

INLINE void put_hex(struct inet_work *w, u32 v)
{
	if (v >> 12)
		put_digit(w, v >> 12 & 15);
	if (v >> 8)
		put_digit(w, v >> 8 & 15);
	if (v >> 4)
		put_digit(w, v >> 4 & 15);
	put_digit(w, v & 15);
}

static long run_step(u64 i, void *ctx)
{
	struct inet_work *w = WORK(((struct loop *)ctx)->p, struct inet_work);
	u64 run = w->group[i & 7] ? 0 : w->run + 1;

	w->run = run;
	if (run > w->nbest && run >= w->min_run) {
		w->nbest = run;
		w->best = i + 1 - run;
	}
	return 0;
}

/*
 * Writes a group with the ':' that separates it from the group before. A run of zero groups writes
 * one ':' at its begin; the second one of "::" is written by the group behind the run, or by the
 * run itself if it is the last.
 */
static long group_step(u64 i, void *ctx)
{
	struct inet_work *w = WORK(((struct loop *)ctx)->p, struct inet_work);
	u64 best = w->best;

	if (i - best < w->nbest) {
		if (i == best)
			char_put(w, ':');
		if (i == 7)
			char_put(w, ':');
		return 0;
	}
	if (i)
		char_put(w, ':');
	put_hex(w, w->group[i & 7]);
	return 0;
}

/*
 * Writes the eight groups; the longest run of zero groups becomes "::" if it has at least min_run
 * of them.
 */
INLINE void put_v6(char *p, u64 min_run)
{
	struct inet_work *w = WORK(p, struct inet_work);

	w->min_run = min_run;
	w->run = w->best = w->nbest = 0;
	loop_run(8, run_step, p);
	loop_run(8, group_step, p);
}

/* Copies the text to a new string in scratch memory and returns its address; 0 after a fault. */
INLINE u64 text_result(struct rt_mach *m, char *p, struct inet_work *w)
{
	u64 top, n = w->len;

	if (!scratch_top(m, &top) || !string_take(m, top))
		return 0;
	if (n > cfg.strsize - 1)
		n = cfg.strsize - 1;
	OPAQUE(n);
	if (n > TEXT_SIZE)
		return 0;
	bpf_probe_read_kernel(p + top, n, (u64)w->text);
	p[top + n] = 0;
	return m->scratch + top;
}

/*
 * Writes the text where it stays. With a strsize below V4_SIZE its end is written behind the memory
 * of the string, or to the text area that follows scratch memory: both are free.
 */
INLINE u64 v4_text(struct rt_mach *m, u64 addr)
{
	char *p = slot_of(m);
	u64 top, n;
	u32 v;

	if (!p || !may_read(m, addr, 4))
		return 0;
	if (bpf_probe_read_kernel(&v, 4, addr))
		return fault(m, FAULT_BADADDR, addr);
	if (!scratch_top(m, &top) || !string_take(m, top))
		return 0;
	n = v4_write(p + top, v);
	if (n > cfg.strsize - 1)
		n = cfg.strsize - 1;
	OPAQUE(n);
	if (n < V4_SIZE)
		p[top + n] = 0;
	return m->scratch + top;
}

/*
 * Returns the text of an IPv6 address. If it contains an IPv4 address (::ffff:1.2.3.4, ::1.2.3.4),
 * its last four bytes are written in decimal, and the part before them only if with_prefix is set.
 */
INLINE u64 v6_text(struct rt_mach *m, u64 addr, u64 min_run, int with_prefix)
{
	struct inet_work *w;
	u64 first;
	u32 middle, last;
	char *p = slot_of(m);

	if (!p)
		return 0;
	w = WORK(p, struct inet_work);
	if (!may_read(m, addr, 16))
		return 0;
	if (bpf_probe_read_kernel(w->addr, 16, addr))
		return fault(m, FAULT_BADADDR, addr);
	w->len = 0;
	first = *(u64 *)w->addr;
	middle = __builtin_bswap32(*(u32 *)(w->addr + 8));
	last = __builtin_bswap32(*(u32 *)(w->addr + 12));
	if (first == 0 && (middle == 0xffff || (middle == 0 && last > 1))) {
		if (with_prefix) {
			char_put(w, ':');
			char_put(w, ':');
			if (middle) {
				put_hex(w, 0xffff);
				char_put(w, ':');
			}
		}
		put_v4(w, *(u32 *)(w->addr + 12));
		return text_result(m, p, w);
	}
#pragma clang loop unroll(full)
	for (u32 i = 0; i < 8; i++)
		w->group[i] = __builtin_bswap16(((u16 *)w->addr)[i]);
	put_v6(p, min_run);
	return text_result(m, p, w);
}

static long link_step(u64 i, void *ctx)
{
	struct inet_work *w = WORK(((struct loop *)ctx)->p, struct inet_work);
	u32 v = i < LINK_MAX ? w->link[i] : 0;

	if (i)
		char_put(w, ':');
	char_put(w, hex_digit(v >> 4));
	char_put(w, hex_digit(v & 15));
	return 0;
}

u64 rt_sub_link_ntop(struct rt_mach *m, u64 type, u64 addr)
{
	struct inet_work *w;
	char *p;
	u32 n;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	if (type != ARPHRD_ETHER && type != ARPHRD_INFINIBAND)
		return fault(m, FAULT_ILLOP, 0);
	n = type == ARPHRD_ETHER ? LINK_ETHER : LINK_MAX;
	w = WORK(p, struct inet_work);
	if (!may_read(m, addr, n))
		return 0;
	if (bpf_probe_read_kernel(w->link, n, addr))
		return fault(m, FAULT_BADADDR, addr);
	w->len = 0;
	loop_run(n, link_step, p);
	return text_result(m, p, w);
}

u64 rt_sub_inet_ntoa(struct rt_mach *m, u64 addr)
{
	if (!m)
		return 0;
	return v4_text(m, addr);
}

u64 rt_sub_inet_ntoa6(struct rt_mach *m, u64 addr, u64 is_strict)
{
	if (!m)
		return 0;
	return v6_text(m, addr, is_strict ? 2 : 1, 0);
}

u64 rt_sub_inet_ntop(struct rt_mach *m, u64 family, u64 addr)
{
	if (!m)
		return 0;
	if (family == AF_INET)
		return v4_text(m, addr);
	if (family == AF_INET6)
		return v6_text(m, addr, 2, 1);
	return fault(m, FAULT_ILLOP, 0);
}
