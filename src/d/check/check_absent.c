/* SPDX-License-Identifier: MIT */
/*
 * Probes that other systems have, and Linux has not.
 *
 * A script that shows fifteen counters is of use with fourteen of them, so a description of such a
 * probe is a warning in a program that has others: the clause never runs. A program with nothing
 * else to wait for would wait for ever without saying why, so there it is the error that a
 * description is which matches nothing.
 */
#include "base/text.h"
#include "d/check/check_impl.h"

/* Whether the probe fires in every program: BEGIN, tick-1s and their like. */
static bool is_clockwork(const struct pspec *spec)
{
	static const char *const names[] = {"BEGIN", "END", "ERROR", "tick-", "profile-"};

	if (strcmp(spec->prov, "dtrace") == 0 || strcmp(spec->prov, "profile") == 0)
		return true;
	return !*spec->prov && text_begins(spec->name, names, ARRAY_LEN(names));
}

void absent_note_found(struct check *c, const struct pspec *spec)
{
	c->has_firing |= !is_clockwork(spec);
}

/* Whether the user declares the probe: what it is made of is missing by a mistake. */
static bool is_users_own(struct check *c, const struct pspec *spec)
{
	const struct declared_provider *pv = hashmap_finds(c->session->providers, spec->prov);
	const struct declared_probe *probe = pv ? hashmap_finds(pv->probes, spec->name) : NULL;

	return probe && probe->layer != LAYER_SYSTEM;
}

bool absent_note(struct check *c, const struct decl *d, const struct pspec *spec)
{
	const struct probe_desc desc = {spec->prov, spec->mod, spec->func, spec->name, 0, false, 0};
	const char *why = c->env->absent ? c->env->absent(c->env->ctx, &desc) : NULL;

	if (!why || is_users_own(c, spec))
		return false;
	list_push(c->arena, &c->absents, (struct absent_spec){d, spec, why});
	return true;
}

bool absent_has(const struct check *c, const struct pspec *spec)
{
	for (uint32_t i = 0; i < c->absents.len; i++)
		if (c->absents.data[i].spec == spec)
			return true;
	return false;
}

void check_absents(struct check *c)
{
	for (uint32_t i = 0; i < c->absents.len; i++) {
		const struct absent_spec *a = &c->absents.data[i];

		if (c->has_firing)
			diag_warn(c->diags, D_PDESC_NEVER, a->spec->span, "%s", a->why);
		else
			check_unmatched(c, a->d, a->spec);
	}
}
