/* SPDX-License-Identifier: MIT */
/*
 * The interpreter's variables: globals, thread-locals, clause-locals and associative arrays.
 *
 * All of them are entries of hash maps. The key of a variable is its scope, id, thread (0 unless
 * thread-local), its size if it is by reference (so that DIFOs that disagree about a type do not
 * share storage), and for arrays the bytes of the tuple, where a reference stands behind its
 * length.
 */
#include "dif/interp_impl.h"

struct slot {
	uint64_t value; /* by value */
	uint8_t *data;	/* by reference: storage of size bytes, a region of the machine */
	uint32_t size;
	bool is_null;  /* a static string that holds NULL */
	uint32_t cost; /* its part of dyn_used; 0 for static variables */
};

static bool var_is_dynamic(const struct dif_var *var)
{
	return var->kind == DIF_VAR_ARRAY || var->scope == DIF_SCOPE_THREAD;
}

static struct hashmap *map_of(struct dif_machine *m, const struct dif_var *var)
{
	return var->scope == DIF_SCOPE_LOCAL ? m->locals : m->vars;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool key_add_string(struct dif_machine *m, uint64_t addr)
{
	uint32_t len;

	if (!dif_machine_text(m, addr, m->text[0], &len)) {
		dif_fault(m, DIF_FAULT_BADADDR, addr);
		return false;
	}
	strbuf_add(&m->key, (const char *)&len, sizeof(len));
	strbuf_add(&m->key, m->text[0], len);
	return true;
}

static bool key_add_bytes(struct dif_machine *m, const struct tuple_elem *e)
{
	CLEANUP(free) uint8_t *data = NULL;

	if (e->size > DIF_MAX_STATIC) {
		dif_fault(m, DIF_FAULT_BADSIZE, e->size);
		return false;
	}
	data = xmalloc(e->size + 1);
	if (e->size && !mem_load(m, SPACE_KERNEL, e->value, data, e->size)) {
		dif_fault(m, DIF_FAULT_BADADDR, e->value);
		return false;
	}
	strbuf_add(&m->key, (const char *)&e->size, sizeof(e->size));
	strbuf_add(&m->key, (const char *)data, e->size);
	return true;
}

static bool key_add_elem(struct dif_machine *m, const struct tuple_elem *e)
{
	if (e->is_ref)
		return e->is_string ? key_add_string(m, e->value) : key_add_bytes(m, e);
	strbuf_add(&m->key, (const char *)&e->value, sizeof(e->value));
	return true;
}

/* Builds m->key; false after a fault. */
static bool key_build(struct dif_machine *m, const struct dif_var *var)
{
	uint64_t thread = var->scope == DIF_SCOPE_THREAD ? m->thread : 0;
	uint32_t ref_size = dif_type_is_byref(&var->type) ? var->type.size : 0;

	strbuf_clear(&m->key);
	strbuf_addc(&m->key, (char)var->scope);
	strbuf_add(&m->key, (const char *)&var->id, sizeof(var->id));
	strbuf_add(&m->key, (const char *)&thread, sizeof(thread));
	strbuf_add(&m->key, (const char *)&ref_size, sizeof(ref_size));
	for (uint32_t i = 0; var->kind == DIF_VAR_ARRAY && i < m->ntuple; i++)
		if (!key_add_elem(m, &m->tuple[i]))
			return false;
	return true;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void slot_destroy(struct dif_machine *m, struct slot *s)
{
	m->dyn_used -= s->cost;
	if (s->data)
		mem_remove_region(m, s->data);
	free(s->data);
	free(s);
}

/* Makes a zeroed variable with the key m->key; NULL, and a drop, when there is no room. */
static struct slot *slot_create(struct dif_machine *m, const struct dif_var *var)
{
	uint32_t cost = var_is_dynamic(var) ? (uint32_t)(m->key.len + var->type.size + 16) : 0;
	struct slot *s;

	if (cost > m->dyn_max - m->dyn_used) {
		m->drops++;
		return NULL;
	}
	m->dyn_used += cost;
	s = xcalloc(1, sizeof(*s));
	s->cost = cost;
	if (dif_type_is_byref(&var->type)) {
		s->size = var->type.size;
		s->data = xcalloc(1, s->size);
		mem_add_region(m, s->data, s->size, true);
	}
	hashmap_set(map_of(m, var), m->key.data, m->key.len, s);
	return s;
}

/* The variable with the key m->key; a static by-reference variable is made when first used. */
static struct slot *slot_find(struct dif_machine *m, const struct dif_var *var)
{
	struct slot *s = hashmap_find(map_of(m, var), m->key.data, m->key.len);

	if (!s && !var_is_dynamic(var) && dif_type_is_byref(&var->type))
		s = slot_create(m, var);
	return s;
}

static void slot_remove(struct dif_machine *m, const struct dif_var *var)
{
	struct slot *s = hashmap_find(map_of(m, var), m->key.data, m->key.len);

	if (!s)
		return;
	hashmap_remove(map_of(m, var), m->key.data, m->key.len);
	slot_destroy(m, s);
}

/* ---- access ---------------------------------------------------------------------------------- */

/* The low t->size bytes of v, extended to 64 bits. */
static uint64_t value_of_type(const struct dif_type *t, uint64_t v)
{
	uint32_t shift = 64 - 8 * MIN(t->size, 8u);

	if (t->size == 0 || shift == 0)
		return v;
	return t->is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
}

/* A copy of what a by-reference variable is to hold, padded with zeros. NULL after a fault. */
static uint8_t *copy_referred(struct dif_machine *m, const struct dif_type *t, uint64_t addr)
{
	enum space space = t->flags & DIF_TF_BYUREF ? SPACE_USER : SPACE_KERNEL;
	uint8_t *copy = xcalloc(1, t->size);
	uint32_t len;
	bool good;

	if (t->kind == DIF_KIND_STRING)
		good = mem_load_text(m, space, addr, (char *)copy, t->size - 1, &len);
	else
		good = mem_load(m, space, addr, copy, t->size);
	if (good)
		return copy;
	free(copy);
	dif_fault(m, DIF_FAULT_BADADDR, addr);
	return NULL;
}

static void store_value(struct dif_machine *m, const struct dif_var *var, uint64_t value)
{
	struct slot *s;

	value = value_of_type(&var->type, value);
	if (!value && var_is_dynamic(var)) {
		slot_remove(m, var);
		return;
	}
	s = slot_find(m, var);
	if (!s)
		s = slot_create(m, var);
	if (s)
		s->value = value;
}

static void store_referred(struct dif_machine *m, const struct dif_var *var, uint64_t addr)
{
	CLEANUP(free) uint8_t *copy = copy_referred(m, &var->type, addr);
	struct slot *s;

	if (!copy)
		return;
	s = slot_find(m, var);
	if (!s)
		s = slot_create(m, var);
	if (!s)
		return;
	memcpy(s->data, copy, s->size);
	s->is_null = false;
}

static void store_null(struct dif_machine *m, const struct dif_var *var)
{
	struct slot *s = slot_find(m, var);

	if (!s)
		return;
	if (var_is_dynamic(var)) {
		slot_remove(m, var);
		return;
	}
	memset(s->data, 0, s->size);
	s->is_null = var->type.kind == DIF_KIND_STRING;
}

void var_store(struct dif_machine *m, const struct dif_var *var, uint64_t value)
{
	if (!key_build(m, var))
		return;
	if (!dif_type_is_byref(&var->type))
		store_value(m, var, value);
	else if (value)
		store_referred(m, var, value);
	else
		store_null(m, var);
}

uint64_t var_load(struct dif_machine *m, const struct dif_var *var)
{
	struct slot *s;

	if (!key_build(m, var))
		return 0;
	s = slot_find(m, var);
	if (!s || s->is_null)
		return 0;
	return s->data ? mem_addr(s->data) : value_of_type(&var->type, s->value);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void slots_destroy(struct dif_machine *m, struct hashmap *map)
{
	size_t pos = 0, len;
	const void *key;
	struct slot *s;

	while ((s = hashmap_next(map, &pos, &key, &len)))
		slot_destroy(m, s);
	hashmap_destroy(map);
}

void vars_init(struct dif_machine *m)
{
	m->vars = hashmap_create();
	m->locals = hashmap_create();
}

void vars_deinit(struct dif_machine *m)
{
	slots_destroy(m, m->vars);
	slots_destroy(m, m->locals);
	strbuf_deinit(&m->key);
}

void vars_forget_locals(struct dif_machine *m)
{
	if (!hashmap_count(m->locals))
		return;
	slots_destroy(m, m->locals);
	m->locals = hashmap_create();
}
