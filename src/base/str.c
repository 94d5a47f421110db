/* Text buffer and interning string table. */
#include "base/str.h"

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

static void strbuf_room(struct strbuf *b, size_t more)
{
	size_t want = b->len + more + 1;

	if (want <= b->cap)
		return;
	b->cap = MAX(want, b->cap ? b->cap * 2 : (size_t)64);
	b->data = xrealloc(b->data, b->cap);
}

void strbuf_add(struct strbuf *b, const char *s, size_t len)
{
	strbuf_room(b, len);
	if (len)
		memcpy(b->data + b->len, s, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void strbuf_adds(struct strbuf *b, const char *s)
{
	strbuf_add(b, s, strlen(s));
}

void strbuf_addc(struct strbuf *b, char c)
{
	strbuf_add(b, &c, 1);
}

void strbuf_vaddf(struct strbuf *b, const char *fmt, va_list ap)
{
	va_list again;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0)
		BUG("bad format '%s'", fmt);
	strbuf_room(b, (size_t)len);
	vsnprintf(b->data + b->len, (size_t)len + 1, fmt, again);
	b->len += (size_t)len;
	va_end(again);
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

uint64_t hash_bytes(const void *p, size_t len, uint64_t seed)
{
	const unsigned char *s = p;
	uint64_t h = seed ^ 0xcbf29ce484222325ull; /* FNV-1a, 64 bit, then a finaliser */

	for (size_t i = 0; i < len; i++)
		h = (h ^ s[i]) * 0x100000001b3ull;
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdull;
	return h ^ h >> 33;
}

struct strtab {
	struct strbuf bytes;
	uint32_t *slots; /* open addressing; offset + 1, 0 = empty */
	uint32_t nslots, used;
};

static uint32_t *strtab_slot(const struct strtab *t, const char *s, size_t len)
{
	uint32_t i = (uint32_t)hash_bytes(s, len, 0) & (t->nslots - 1);

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
