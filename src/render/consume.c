/* SPDX-License-Identifier: MIT */
/*
 * Walks over the actions of a record, in their order, and passes data that is to be shown to the
 * renderer (d-language.md 5.2).
 */
#include "render/impl.h"

/* ---- around records ------------------------------------------------------------------------ */

/* Reports an action that failed, like a fault; it ends neither the record nor the run. */
void printer_fault(struct printer *p, struct err *e)
{
	if (p->hooks.fault)
		p->hooks.fault(p->hooks.ctx, p->rec->clause, p->rec->probe, err_text(e));
	err_destroy(e);
}

struct err *printer_snap(struct printer *p)
{
	if (p->is_snapped || !p->hooks.snap)
		return NULL;
	p->is_snapped = true;
	return p->hooks.snap(p->hooks.ctx);
}

/* ---- data ---------------------------------------------------------------------------------- */

struct err *act_trace(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		      const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (!e)
		p->render->value(p, &d);
	return e;
}

/* The third argument of tracemem(), if given, is the number of bytes to show. */
struct err *act_tracemem(struct printer *p, const struct prog_act *act, const struct act_layout *al,
			 const struct fmt *fmt)
{
	struct datum d, dyn;
	struct err *e = act_datum(p, al, 0, &d);
	uint32_t size;

	if (e)
		return e;
	size = d.bytes ? d.size : 0;
	if (al->nfields > 1) {
		e = act_datum(p, al, 1, &dyn);
		if (e)
			return e;
		if ((int64_t)datum_int(&dyn) >= 0 && datum_int(&dyn) < size)
			size = (uint32_t)datum_int(&dyn);
	}
	d.size = size;
	p->render->memory(p, "tracemem", &d);
	return NULL;
}

struct err *act_pcap(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		     const struct fmt *fmt)
{
	return print_packet(p, act, al);
}

struct err *act_print(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		      const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (e)
		return e;
	if (d.kind == DATUM_STACK || d.kind == DATUM_USTACK) /* it was a value */
		p->render->value(p, &d);
	else
		p->render->typed(p, act->shape, &d);
	return NULL;
}

struct err *act_printf(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		       const struct fmt *fmt)
{
	return p->render->message(p, al, fmt);
}

struct err *act_printa(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		       const struct fmt *fmt)
{
	return print_printa(p, act, fmt);
}

/* ---- table --------------------------------------------------------------------------------- */

static act_func *const act_funcs[] = {
#define ACT_RECORD(id, name, proto, flags, holds, check, datum, shown_by, ...)                     \
	[ACT_##id] = act_##shown_by,
#include "dif/acts.def"
};

struct err *print_act(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		      const struct fmt *fmt)
{
	if ((size_t)act->kind >= ARRAY_LEN(act_funcs) || !act_funcs[act->kind])
		BUG("action %d records nothing", (int)act->kind);
	return act_funcs[act->kind](p, act, al, fmt);
}
