/* SPDX-License-Identifier: MIT */
/* Text buffer and interning string table. */
#include "base/str.h"

#include <sys/auxv.h>

void strbuf_deinit(struct strbuf *b)
{
	free(b->data);
	*b = (struct strbuf){0};
}

void strbuf_clear(struct strbuf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void strbuf_grow(struct strbuf *b, size_t more)
{
	size_t want = b->len + more + 1;

	b->cap = MAX(want, b->cap ? b->cap * 2 : (size_t)64);
	b->data = xrealloc(b->data, b->cap);
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list again;
	char *to = strbuf_room(b, 64);
	size_t room = b->cap - b->len;
	int len;

	va_copy(again, ap);
	len = vsnprintf(to, room, fmt, ap);
	if (len < 0)
		BUG("bad format '%s'", fmt);
	if ((size_t)len >= room)
		(void)vsnprintf(strbuf_room(b, (size_t)len), (size_t)len + 1, fmt, again);
	va_end(again);
	strbuf_wrote(b, (size_t)len);
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(b, fmt, ap);
	va_end(ap);
}

const char *strbuf_text(const struct strbuf *b)
{
	return b->data ? b->data : "";
}

/* ---- hashing -------------------------------------------------------------------------------- */

struct sip {
	uint64_t v0, v1, v2, v3;
};

/* Inlined, because the state is then in registers: programs of the D library hash 30,000 names. */
#define INLINED inline __attribute__((always_inline))

static INLINED uint64_t rotate_left(uint64_t x, int n)
{
	return x << n | x >> (64 - n);
}

static INLINED void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v1 = rotate_left(s->v1, 13) ^ s->v0;
	s->v0 = rotate_left(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = rotate_left(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = rotate_left(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = rotate_left(s->v1, 17) ^ s->v2;
	s->v2 = rotate_left(s->v2, 32);
}

static INLINED void sip_word(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	s->v0 ^= word;
}

/* The len % 8 bytes at the end, the first of them as the lowest one. */
static INLINED uint64_t last_bytes(const unsigned char *p, size_t len)
{
	uint64_t word = 0;
	size_t n = len % 8;

	if (n && len >= 8) {
		memcpy(&word, p + len - 8, 8);
		return word >> (64 - 8 * n);
	}
	for (size_t i = 0; i < n; i++)
		word |= (uint64_t)p[i] << (8 * i);
	return word;
}

/*
 * This is SipHash-1-3, keyed with the 16 random bytes that the kernel gives each process
 * (AT_RANDOM, getauxval(3)).
 */
uint64_t hash_bytes(const void *p, size_t len)
{
	static const uint64_t no_key[2];
	static const void *_Atomic random; /* looking it up takes as long as hashing a word */
	const void *secret = random;
	const unsigned char *at = p, *end = at + len - len % 8;
	uint64_t key[2], word;
	struct sip s;

	if (!secret) {
		secret = (const void *)getauxval(AT_RANDOM);
		secret = secret ? secret : no_key;
		random = secret;
	}
	memcpy(key, secret, sizeof(key));
	s = (struct sip){key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
			 key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573};
	for (; at < end; at += 8) {
		memcpy(&word, at, 8);
		sip_word(&s, word);
	}
	sip_word(&s, (uint64_t)len << 56 | last_bytes(p, len));
	s.v2 ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* ---- interned strings ----------------------------------------------------------------------- */

struct strtab {
	struct strbuf bytes;
	uint32_t *slots; /* open addressing; offset + 1, 0 = empty */
	uint32_t nslots, used;
};

static uint32_t *strtab_slot(const struct strtab *t, const char *s, size_t len)
{
	uint32_t i = (uint32_t)hash_bytes(s, len) & (t->nslots - 1);

	for (;; i = (i + 1) & (t->nslots - 1)) {
		const char *have;

		if (!t->slots[i])
			return &t->slots[i];
		have = t->bytes.data + t->slots[i] - 1;
		if (strncmp(have, s, len) == 0 && have[len] == '\0')
			return &t->slots[i];
	}
}

struct strtab *strtab_create(void)
{
	struct strtab *t = xcalloc(1, sizeof(*t));

	t->nslots = 64;
	t->slots = xcalloc(t->nslots, sizeof(*t->slots));
	strtab_adds(t, "");
	return t;
}

void strtab_destroy(struct strtab *t)
{
	if (!t)
		return;
	strbuf_deinit(&t->bytes);
	free(t->slots);
	free(t);
}

static void strtab_rehash(struct strtab *t)
{
	uint32_t *old = t->slots, nold = t->nslots;

	t->nslots *= 2;
	t->slots = xcalloc(t->nslots, sizeof(*t->slots));
	for (uint32_t i = 0; i < nold; i++)
		if (old[i]) {
			const char *s = t->bytes.data + old[i] - 1;

			*strtab_slot(t, s, strlen(s)) = old[i];
		}
	free(old);
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t len)
{
	uint32_t *slot;

	len = strnlen(s, len); /* an embedded NUL ends a D string */
	slot = strtab_slot(t, s, len);
	if (*slot)
		return *slot - 1;
	*slot = (uint32_t)t->bytes.len + 1;
	strbuf_add(&t->bytes, s, len);
	strbuf_addc(&t->bytes, '\0');
	if (++t->used * 4 > t->nslots * 3) {
		uint32_t off = *slot - 1;

		strtab_rehash(t);
		return off;
	}
	return *slot - 1;
}

uint32_t strtab_adds(struct strtab *t, const char *s)
{
	return strtab_add(t, s, strlen(s));
}

uint32_t strtab_add_block(struct strtab *t, const void *data, size_t len)
{
	uint32_t off = (uint32_t)t->bytes.len;

	strbuf_add(&t->bytes, data, len);
	strbuf_addc(&t->bytes, '\0');
	return off;
}

bool strtab_find(const struct strtab *t, const char *s, size_t len, uint32_t *ret_off)
{
	uint32_t *slot = strtab_slot(t, s, len);

	if (*slot)
		*ret_off = *slot - 1;
	return *slot != 0;
}

const char *strtab_get(const struct strtab *t, uint32_t off)
{
	assert(off < t->bytes.len);
	return t->bytes.data + off;
}

const char *strtab_data(const struct strtab *t)
{
	return t->bytes.data;
}

size_t strtab_size(const struct strtab *t)
{
	return t->bytes.len;
}
