/* SPDX-License-Identifier: MIT */
/* The compiler on machines for which it makes no code. */
#include "native/native.h"

bool native_takes(const struct unit *u, const struct layout *l, const char **ret_why)
{
	*ret_why = "there is no machine code for this processor";
	return false;
}

bool native_needs_clock(const struct unit *u, const struct layout *l)
{
	return true;
}

struct native_reads native_reads_of(const struct unit *u, uint32_t probe)
{
	return (struct native_reads){0};
}

enum native_operand native_operand_of(const struct usdt_operand *o)
{
	return NATIVE_OPERAND_FAR;
}

bool native_samples(const struct prog_clause *c)
{
	return false;
}

bool native_filter_is_true(const struct unit *u, uint32_t probe, const struct layout *l)
{
	return true;
}

bool native_filter_is_true_in(const struct unit *u, uint32_t probe, const struct native_target *t)
{
	return true;
}

struct native_reads native_relay_reads(const struct unit *u, uint32_t probe)
{
	return (struct native_reads){0};
}

struct err *native_filter_compile(const struct unit *u, const struct native_target *t,
				  const struct native_site *sites, uint32_t nsites,
				  struct native_code *ret)
{
	return err_new("there is no machine code for this processor");
}

const char *native_target_lack(const struct unit *u, uint32_t i, const struct native_target *t)
{
	return "there is no machine code for this processor";
}

struct err *native_compile(const struct unit *u, const struct native_target *t,
			   const struct native_site *sites, uint32_t nsites,
			   struct native_code *ret)
{
	return err_new("there is no machine code for this processor");
}

void native_code_deinit(struct native_code *code)
{
}
