/* SPDX-License-Identifier: MIT */
/* The tables of names that D has built in. */
#include "d/check/check_impl.h"

#define STABLE	 ATTR_STABLE
#define EVOLVING ATTR_EVOLVING
#define KERNEL                                                                                     \
	{                                                                                          \
		STAB_STABLE, STAB_PRIVATE, DEP_COMMON                                              \
	}

#define FLAGS_OF(fx) (((fx)&FX_WRITES_USER ? SUBR_DESTRUCTIVE : 0) | ((fx)&FX_OURS ? SUBR_OURS : 0))

/*
 * proto_get() parses prototypes: types as in D, "@" for one argument of any type, "..." for any
 * further arguments, "[type]" for an optional one, "type|type" for either of two. A version is that
 * of the D language in which the name first appeared.
 */
/* clang-format off */
const struct subr subrs[] = {
#define TEXT(...) #__VA_ARGS__
#define NONE ""
#define OPT(type, value) ", [" #type "]"
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, reference, attr, since, what, ...) \
	{ #name, SUBR_FUNC, #result "(" TEXT args optional ")", FLAGS_OF(fx), code, NULL, DATUM_INT, ATTR_##attr, \
	  since, what, NULL },
#define SUBR_FOREIGN(id, name, code, result, args, attr, since, what, why) \
	{ #name, SUBR_FUNC, #result "(" TEXT args ")", 0, code, NULL, DATUM_INT, ATTR_##attr, since, what, why },
#include "dif/subrs.def"

#define ACT_RECORD(id, name, proto, flags, holds, check, datum, shown_by, attr, since, what) \
	{ #name, SUBR_ACTION, proto, (flags) | SUBR_RECORDS, ACT_##id, act_check_##check, DATUM_##datum, \
	  ATTR_##attr, since, what, NULL },
#define ACT_ALIAS ACT_RECORD
#define ACT_PROBE(id, name, proto, flags, check, attr, since, what) \
	{ #name, SUBR_ACTION, proto, flags, ACT_##id, act_check_##check, DATUM_INT, ATTR_##attr, since, what, NULL },
#define ACT_FOREIGN(name, proto, flags, since, what, why) \
	{ #name, SUBR_ACTION, proto, flags, ACT_EXPR, act_check_proto, DATUM_INT, ATTR_STABLE, since, what, why },
#include "dif/acts.def"

#define AGGFUNC(id, name, proto, words, update, bucket, params, increment, since, what) \
	{ #name, SUBR_AGGFUNC, proto, 0, AGGFUNC_##id, NULL, DATUM_INT, ATTR_STABLE, since, what, NULL },
#include "dif/aggfuncs.def"
};
const uint32_t nsubrs = ARRAY_LEN(subrs);

/* clang-format off */
const struct subr helper_subrs[] = {
#define NONE ""
#define OPT(type, value) ", [" #type "]"
#define SUBR_HELPER(id, name, code, result, args, optional, addresses, what, ...) \
	{ #name, SUBR_FUNC, #result "(" TEXT args optional ")", 0, code, NULL, DATUM_INT, ATTR_EVOLVING, "1.0", what, NULL },
#include "dif/helper_subrs.def"
	{ "uframe", SUBR_ACTION, "void(@, ...)", 0, ACT_UFRAME, act_check_proto, DATUM_INT, ATTR_EVOLVING, "1.0",
	  "adds a frame of the language, whose text is made of the arguments", NULL },
	{ "unwind", SUBR_ACTION, "void(uint64_t, uint64_t, uint64_t)", 0, ACT_UNWIND, act_check_proto, DATUM_INT,
	  ATTR_EVOLVING, "1.0", "chooses the next frame: pc, sp, fp", NULL },
#define ACT_VALUE(id, name, proto, what) \
	{ #name, SUBR_ACTION, proto, 0, ACT_##id, act_check_proto, DATUM_INT, ATTR_EVOLVING, "1.0", what, NULL },
#include "dif/acts.def"
};
/* clang-format on */
const uint32_t nhelper_subrs = ARRAY_LEN(helper_subrs);

/* clang-format off */
const struct subr remains_subrs[] = {
#define SUBR_REMAINS(id, name, code, result, args, addresses, what) \
	{ #name, SUBR_FUNC, #result "(" TEXT args ")", SUBR_OURS, code, NULL, DATUM_INT, ATTR_EVOLVING, "1.0", what, NULL },
#include "dif/remains_subrs.def"
};
/* clang-format on */
const uint32_t nremains_subrs = ARRAY_LEN(remains_subrs);

/* clang-format off */
const struct builtin_var builtin_vars[] = {
#define BUILTIN(id, name, code, type, attr, since, helpers, what) {#name, code, type, attr, since, what},
#define BUILTIN_OTHER(...)
#include "dif/builtins.def"
};
const uint32_t nbuiltin_vars = ARRAY_LEN(builtin_vars);
/* clang-format on */

const struct subr *subr_find(const char *name)
{
	for (uint32_t i = 0; i < nsubrs; i++)
		if (strcmp(subrs[i].name, name) == 0)
			return &subrs[i];
	return NULL;
}
