/* SPDX-License-Identifier: MIT */
/*
 * Rows of aggregations as stacks of frames, for the forms of output that draw or list stacks.
 *
 * Keys that are no stacks are the outermost frames, in their order. User frames follow them, and
 * kernel frames those, whichever of the two keys is first. A frame has the name of its function,
 * without an offset; an annotation of a ustack helper is a frame above the one that it belongs to,
 * with the function before the place in the source.
 */
#pragma once

#include "base/hashmap.h"
#include "picture/flame.h"
#include "render/impl.h"

struct frames {
	struct flame_page *page;
	struct printer *p;
	struct hashmap *cache; /* struct position without texts -> 1 + name */
	VEC(uint32_t) names;   /* of the row, outermost first */
	VEC(uint32_t) stack;   /* of a key, innermost first */
	struct strbuf text;
	bool is_folded; /* names have no semicolons */
};

void frames_init(struct frames *f, struct printer *p, struct flame_page *page);
void frames_deinit(struct frames *f);
/* Forgets names of addresses: processes may have changed since. */
void frames_refresh(struct frames *f);
/* Fills f->names. */
void frames_of_row(struct frames *f, const struct agg_elem *e);

bool agg_has_stacks(const struct prog_agg *agg);

/* What a row adds to a picture in which values are added up. */
enum weight_kind {
	WEIGHT_NONE, /* the least and greatest values cannot be added */
	WEIGHT_VALUE,
	WEIGHT_SUM,    /* avg(), stddev(): the sum of the values */
	WEIGHT_NUMBER, /* histograms: the number of values */
};
enum weight_kind weight_kind_of(const struct prog_agg *agg);
int64_t weight_of_row(const struct agg_view *v, const struct agg_elem *e);
/* The words for a weight, and its unit (option unit; else told by the aggregation's name). */
const char *weight_text(const struct prog_agg *agg);
const char *weight_unit(const struct printer *p, const struct prog_agg *agg);
/* The unit of the values that an aggregation is given. */
const char *value_unit(const struct printer *p, const struct prog_agg *agg);

/* Adds the text of a key that is no stack, as a label: without padding, safe for a terminal. */
void key_label(struct printer *p, struct strbuf *o, const struct agg_key *k);
/* Adds the innermost frame of a stack, as a label. */
void stack_label(struct printer *p, struct strbuf *o, const struct agg_key *k);
/* Adds the keys that are no stacks, separated by ", "; returns how many. */
uint32_t keys_label(struct printer *p, struct strbuf *o, const struct agg_elem *e);
