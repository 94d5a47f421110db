/* SPDX-License-Identifier: MIT */
/* Merges stacks to trees of frames (flame.h). */
#include "picture/flame_impl.h"

#include "base/text.h"

#define NAME_MAX_BYTES 400
#define NODES_MAX      6000000u /* 144 MB */

/* ---- tables -------------------------------------------------------------------------------- */

static uint32_t *pair_slot(const struct pair_table *t, uint64_t hash)
{
	return &t->slots[hash & (t->cap - 1)];
}

static uint32_t *slot_next(const struct pair_table *t, uint32_t *slot)
{
	return slot + 1 == t->slots + t->cap ? t->slots : slot + 1;
}

/* Makes room for one more entry; hash_of(ctx, i) is the hash of entry i. */
static void pair_reserve(struct pair_table *t, uint64_t (*hash_of)(const void *ctx, uint32_t i),
			 const void *ctx)
{
	uint32_t cap = t->cap ? t->cap * 2 : 1024;

	if (t->len * 2 < t->cap)
		return;
	free(t->slots);
	t->slots = xcalloc(cap, sizeof(*t->slots));
	t->cap = cap;
	for (uint32_t i = 0; i < t->len; i++) {
		uint32_t *slot = pair_slot(t, hash_of(ctx, i));

		while (*slot)
			slot = slot_next(t, slot);
		*slot = i + 1;
	}
}

static uint64_t text_hash(const void *ctx, uint32_t i)
{
	const struct flame_page *f = ctx;
	const struct flame_text *t = &f->names.data[i];

	return hash_bytes(f->texts.data + t->off, t->len);
}

static uint64_t child_hash(uint32_t parent, uint32_t name)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15ull;

	return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull >> 20;
}

/* Entry i of the table is node i + 1: the root is nobody's child. */
static uint64_t node_hash(const void *ctx, uint32_t i)
{
	const struct flame_node *n = &((const struct flame_tree *)ctx)->nodes.data[i + 1];

	return child_hash(n->parent, n->name);
}

/* ---- names --------------------------------------------------------------------------------- */

/* Cuts a text behind whole characters. */
static size_t name_fit(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = utf8_get(text + at, len - at, NULL);

		n = n ? n : 1;
		if (at + n > NAME_MAX_BYTES)
			break;
		at += n;
	}
	return at;
}

/* Appends kind and text, cut, to the block of texts, where the caller keeps or forgets them. */
static struct flame_text text_append(struct flame_page *f, enum frame_kind kind, const char *text,
				     size_t len)
{
	size_t off = f->texts.len, fit = name_fit(text, len);

	strbuf_addc(&f->texts, (char)kind);
	strbuf_add(&f->texts, text, fit);
	if (fit < len)
		strbuf_adds(&f->texts, "\xe2\x80\xa6");
	return (struct flame_text){.off = (uint32_t)off, .len = (uint32_t)(f->texts.len - off)};
}

/* Returns the slot of a name, which is free if the name is new. */
static uint32_t *name_slot(struct flame_page *f, const struct flame_text *t)
{
	const char *text = f->texts.data + t->off;
	uint32_t *slot;

	pair_reserve(&f->by_text, text_hash, f);
	slot = pair_slot(&f->by_text, hash_bytes(text, t->len));
	for (; *slot; slot = slot_next(&f->by_text, slot)) {
		const struct flame_text *known = &f->names.data[*slot - 1];

		if (known->len == t->len && memcmp(f->texts.data + known->off, text, t->len) == 0)
			break;
	}
	return slot;
}

uint32_t flame_name(struct flame_page *f, enum frame_kind kind, const char *text, size_t len)
{
	struct flame_text t = text_append(f, kind, text, len);
	uint32_t *slot = name_slot(f, &t);

	if (*slot) {
		f->texts.len = t.off;
		return *slot - 1;
	}
	vec_push(&f->names, t);
	*slot = ++f->by_text.len;
	return f->names.len - 1;
}

const char *flame_name_text(const struct flame_page *f, uint32_t name, size_t *ret_len)
{
	*ret_len = f->names.data[name].len - 1;
	return f->texts.data + f->names.data[name].off + 1;
}

uint32_t flame_name_any(struct flame_page *f, const char *text, size_t len)
{
	static const enum frame_kind kinds[] = {FRAME_NATIVE, FRAME_KERNEL, FRAME_LANGUAGE,
						FRAME_KEY, FRAME_CUT};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct flame_text t = text_append(f, kinds[i], text, len);
		uint32_t *slot = name_slot(f, &t);

		f->texts.len = t.off;
		if (*slot)
			return *slot - 1;
	}
	return flame_name(f, FRAME_NATIVE, text, len);
}

/* ---- trees --------------------------------------------------------------------------------- */

static void tree_init(struct flame_tree *t, uint32_t root)
{
	*t = (struct flame_tree){0};
	vec_push(&t->nodes, (struct flame_node){NO_NODE, root, 0, 0});
}

static void tree_deinit(struct flame_tree *t)
{
	vec_deinit(&t->nodes);
	free(t->children.slots);
	*t = (struct flame_tree){0};
}

/* Returns the child of a node, made if there is none; NO_NODE: the tree has no room. */
static uint32_t child_get(struct flame_tree *t, uint32_t parent, uint32_t name)
{
	uint32_t *slot;

	pair_reserve(&t->children, node_hash, t);
	slot = pair_slot(&t->children, child_hash(parent, name));
	for (; *slot; slot = slot_next(&t->children, slot)) {
		const struct flame_node *n = &t->nodes.data[*slot];

		if (n->parent == parent && n->name == name)
			return *slot;
	}
	if (t->nodes.len >= NODES_MAX)
		return NO_NODE;
	vec_push(&t->nodes, (struct flame_node){parent, name, 0, 0});
	*slot = ++t->children.len;
	return t->nodes.len - 1;
}

void flame_add(struct flame_page *f, const uint32_t *names, uint32_t n, int64_t value,
	       bool is_before)
{
	struct flame_tree *t = &f->tree;
	uint32_t at = 0, next;
	int64_t *sum;

	for (uint32_t i = 0; i < n; i++, at = next) {
		next = child_get(t, at, names[i]);
		if (next == NO_NODE) {
			t->nlost += n - i;
			break;
		}
	}
	t->has_before |= is_before;
	sum = is_before ? &t->nodes.data[at].before : &t->nodes.data[at].self;
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

/* ---- sets ---------------------------------------------------------------------------------- */

void flame_set_begin(struct flame_page *f, const struct flame_set_info *info)
{
	f->info = *info;
	f->info.title = f->title = xstrdup(info->title);
	f->in_set = true;
	tree_init(&f->tree, flame_name(f, FRAME_KEY, "all", 3));
}

void flame_set_end(struct flame_page *f)
{
	if (f->tree.nlost)
		page_note(&f->set_notes, true,
			  "%llu frame%s at the ends of stacks left out: this graph has more than "
			  "%u different frames.",
			  (unsigned long long)f->tree.nlost, PLURAL(f->tree.nlost), NODES_MAX);
	flame_encode(f);
	tree_deinit(&f->tree);
	page_notes_deinit(&f->set_notes);
	f->set_notes = (struct page_notes){0};
	free(f->title);
	f->title = NULL;
	f->in_set = false;
}

struct page_notes *flame_notes(struct flame_page *f)
{
	return f->in_set ? &f->set_notes : &f->notes;
}

struct page_notes *flame_page_notes(struct flame_page *f)
{
	return &f->notes;
}

uint32_t flame_nsets(const struct flame_page *f)
{
	return f->nsets;
}

/* ---- pages --------------------------------------------------------------------------------- */

struct flame_page *flame_create(const struct flame_opts *o)
{
	struct flame_page *f = xcalloc(1, sizeof(*f));

	f->opts = *o;
	if (!f->opts.max_bytes)
		f->opts.max_bytes = 4500000;
	page_facts_init(&f->facts);
	return f;
}

void flame_destroy(struct flame_page *f)
{
	if (!f)
		return;
	tree_deinit(&f->tree);
	strbuf_deinit(&f->texts);
	vec_deinit(&f->names);
	free(f->by_text.slots);
	page_notes_deinit(&f->notes);
	page_notes_deinit(&f->set_notes);
	free(f->title);
	strbuf_deinit(&f->out_names);
	strbuf_deinit(&f->out_sets);
	strbuf_deinit(&f->still);
	free(f);
}
