/* Text of addresses and stacks (d-language.md 6.6, 6.7). */
#include "print/impl.h"

enum addr_form addr_form_of(enum datum_kind kind)
{
	switch (kind) {
	case DATUM_SYM:
	case DATUM_USYM: return ADDR_SYM;
	case DATUM_MOD:
	case DATUM_UMOD: return ADDR_MOD;
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_UADDR: return ADDR_FULL;
	}
	BUG("datum kind %d", (int)kind);
}

/* No symbol tables are read yet, so every address has the text of one that is in none of them. */
void addr_text(struct printer *p, struct out *o, uint64_t pid, uint64_t addr, enum addr_form form)
{
	struct spec s = {0, -1, -1};

	out_adds(o, "0x");
	out_unsigned(o, &s, addr, 16, false);
}

static uint64_t word_at(const struct datum *d, uint32_t i)
{
	uint64_t v;

	memcpy(&v, d->bytes + i * sizeof(v), sizeof(v));
	return v;
}

void addr_of_datum(const struct datum *d, uint64_t *ret_pid, uint64_t *ret_addr)
{
	bool has_pid = d->bytes && d->size >= 2 * sizeof(uint64_t);

	*ret_pid = has_pid ? word_at(d, 0) : 0;
	*ret_addr = has_pid ? word_at(d, 1) : datum_int(d);
}

/* kernel: PCs; user: pid, PCs. A zero ends them. */
void print_stack(struct printer *p, struct out *o, const struct datum *d, uint32_t indent)
{
	uint32_t nwords = d->bytes ? d->size / (uint32_t)sizeof(uint64_t) : 0;
	bool is_user = d->kind == DATUM_USTACK;
	uint64_t pid = is_user && nwords ? word_at(d, 0) : 0;

	out_addc(o, '\n');
	for (uint32_t i = is_user; i < nwords && word_at(d, i) != 0; i++) {
		out_pad(o, ' ', indent);
		addr_text(p, o, pid, word_at(d, i), ADDR_FULL);
		out_addc(o, '\n');
	}
}
