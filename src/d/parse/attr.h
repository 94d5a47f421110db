/* SPDX-License-Identifier: MIT */
/*
 * Stability attributes of names: parses, prints and compares them.
 *
 * An attribute is a triple: name stability, data stability, dependency class. Of two attributes the
 * least is taken component by component. The attributes of a provider stand with the provider
 * (struct provider, or pragmas behind its declaration in D).
 *
 * Facts    d-language.md 11.
 */
#pragma once

#include "d/parse/ident.h"

enum stability {
	STAB_INTERNAL,
	STAB_PRIVATE,
	STAB_OBSOLETE,
	STAB_EXTERNAL,
	STAB_UNSTABLE,
	STAB_EVOLVING,
	STAB_STABLE,
	STAB_STANDARD,
};

enum depclass { DEP_UNKNOWN, DEP_CPU, DEP_PLATFORM, DEP_GROUP, DEP_ISA, DEP_COMMON };

#define ATTR_STABLE                                                                                \
	{                                                                                          \
		STAB_STABLE, STAB_STABLE, DEP_COMMON                                               \
	}
#define ATTR_EVOLVING                                                                              \
	{                                                                                          \
		STAB_EVOLVING, STAB_EVOLVING, DEP_COMMON                                           \
	}
#define ATTR_UNSTABLE                                                                              \
	{                                                                                          \
		STAB_UNSTABLE, STAB_UNSTABLE, DEP_COMMON                                           \
	}
#define ATTR_MAX                                                                                   \
	{                                                                                          \
		STAB_STANDARD, STAB_STANDARD, DEP_COMMON                                           \
	}

/* The five parts of a provider that have attributes. */
enum provider_part { PART_PROVIDER, PART_MODULE, PART_FUNCTION, PART_NAME, PART_ARGS, NPARTS };

const char *stability_name(uint8_t level);
const char *depclass_name(uint8_t class);
/*
 * Parses "Name/Data/Class"; components that are missing at the end get the highest value. False for
 * an unknown word.
 */
bool attr_parse(const char *text, struct attr *ret);
void attr_print(struct attr a, struct strbuf *out);
struct attr attr_min(struct attr a, struct attr b);
/* True when any component of a lies below that of limit. */
bool attr_is_below(struct attr a, struct attr limit);
/* The attributes of a provider that declares none. */
extern const struct attr attr_provider_default[NPARTS];
/* The part called "provider", "module", "function", "name" or "args"; false when there is none. */
bool provider_part_parse(const char *word, enum provider_part *ret);
/* Converts "M.m[.u]" to major << 24 | minor << 12 | micro; false when malformed or too large. */
bool version_parse(const char *text, uint32_t *ret);
