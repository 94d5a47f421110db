/* Text of addresses and stacks (d-language.md 6.6, 6.7). */
#include "print/impl.h"

#include "sym/sym.h"

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

static void out_hex(struct out *o, uint64_t v)
{
	struct spec s = {0, -1, -1};

	out_adds(o, "0x");
	out_unsigned(o, &s, v, 16, false);
}

/* Offset from where the object begins in memory. */
static void raw_text(struct printer *p, struct out *o, uint64_t pid, uint64_t addr,
		     const char *object)
{
	out_adds(o, object);
	out_addc(o, ':');
	out_hex(o, addr - syms_start(p->syms, pid, addr, true));
}

void addr_text(struct printer *p, struct out *o, uint64_t pid, uint64_t addr, enum addr_form form)
{
	struct sym_name n;

	if (!p->syms || !syms_find(p->syms, pid, addr, &n)) {
		out_hex(o, addr);
		return;
	}
	if (pid && p->opts->noresolve && form != ADDR_MOD) {
		raw_text(p, o, pid, addr, n.object);
		return;
	}
	out_adds(o, n.object);
	if (form == ADDR_MOD)
		return;
	out_addc(o, '`');
	if (!n.name) {
		out_hex(o, addr);
		return;
	}
	out_adds(o, n.name);
	if (form == ADDR_FULL && n.off) {
		out_addc(o, '+');
		out_hex(o, n.off);
	}
}

static uint64_t word_at(const char *bytes, uint32_t i)
{
	uint64_t v;

	memcpy(&v, bytes + i * sizeof(v), sizeof(v));
	return v;
}

void addr_of_datum(const struct datum *d, uint64_t *ret_pid, uint64_t *ret_addr)
{
	bool has_pid = d->bytes && d->size >= 2 * sizeof(uint64_t);

	*ret_pid = has_pid ? word_at(d->bytes, 0) : 0;
	*ret_addr = has_pid ? word_at(d->bytes, 1) : datum_int(d);
}

/* A frame; what is in a user stack instead of one when the walk could not go on. */
static void frame_text(struct printer *p, struct out *o, uint64_t pid, uint64_t pc)
{
	if (pid && pc == RT_USTACK_CUT)
		out_adds(o, "[cut]");
	else
		addr_text(p, o, pid, pc, ADDR_FULL);
}

/* kernel: PCs; user: pid, PCs. A zero ends them. */
void print_stack(struct printer *p, struct out *o, const struct datum *d, uint32_t indent)
{
	uint32_t n = d->bytes ? d->size / (uint32_t)sizeof(uint64_t) : 0;
	const char *pcs = d->bytes;
	uint64_t pid = 0;

	if (d->kind == DATUM_USTACK && n) {
		pid = word_at(pcs, 0);
		pcs += sizeof(pid);
		n--;
	} else {
		if (d->is_traced && p->syms)
			syms_trim(p->syms, &pcs, &n);
		n = d->frames ? MIN(n, d->frames) : n;
	}
	out_addc(o, '\n');
	for (uint32_t i = 0; i < n && word_at(pcs, i) != 0; i++) {
		out_pad(o, ' ', indent);
		frame_text(p, o, pid, word_at(pcs, i));
		out_addc(o, '\n');
	}
}
