/* SPDX-License-Identifier: MIT */
/*
 * Names of clones: where their suffixes begin, which symbol a name stands for among all that have
 * it, and which of them are the code of one function.
 */
#include "image/clone.h"

#include "tap.h"

#define MAX_LIST 8

/*
 * What is known of a symbol: with '+' other files see it, with '=' it is no function, a digit is
 * the number of its source file.
 */
static struct clone symbol_make(const char *text, uint64_t addr)
{
	struct clone c = {.is_func = text[0] != '=', .is_global = text[0] == '+'};

	if (text[0] >= '0' && text[0] <= '9')
		c.file = (uint32_t)(text[0] - '0');
	text += c.file || c.is_global || !c.is_func;
	(void)clone_parse(text, strlen(text), &c);
	c.sym = (struct object_symbol){.addr = addr, .size = 16};
	return c;
}

/* Splits "run run.cold@30" into symbols of the addresses 10, 20, ..., or those that are given. */
static uint32_t list_make(const char *text, struct clone *v)
{
	CLEANUP(free) char *copy = xstrdup(text);
	char *save = NULL;
	uint32_t n = 0;

	for (char *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
		char *at = strchr(p, '@');
		uint64_t addr = at ? strtoull(at + 1, NULL, 10) : 10ull * (n + 1);

		if (at)
			*at = '\0';
		v[n++] = symbol_make(p, addr);
	}
	return n;
}

static void parse_check(const char *name, int len, enum clone_kind kind, bool has_owner)
{
	struct clone c;

	is_int((int)clone_parse(name, strlen(name), &c), len, name);
	ok(c.kind == kind && (c.owner != 0) == has_owner && (c.suffix != 0) == (name[len] != '\0'),
	   "its kind");
}

static void choose_check(const char *symbols, int want)
{
	struct clone v[MAX_LIST];
	struct object_symbol s = {0};
	int got = clone_choose(v, list_make(symbols, v), &s) ? (int)s.addr : -1;

	ok(got == want && s.is_ambiguous == (want == 0), "%s: %d", symbols, got);
}

static void pieces_check(const char *symbols, const char *want)
{
	struct clone v[MAX_LIST];
	uint32_t n = clone_pieces(v, list_make(symbols, v));
	char got[128] = "";

	for (uint32_t i = 0; n != UINT32_MAX && i < n; i++)
		(void)snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%d", i ? " " : "",
			       (int)v[i].sym.addr);
	is_str(n == UINT32_MAX ? "ambiguous" : got, want, symbols);
}

int main(void)
{
	parse_check("run", 3, CLONE_ITSELF, false);
	parse_check("run.cold", 3, CLONE_PART, false);
	parse_check("run.cold.3", 3, CLONE_PART, false);
	parse_check("run.part.0", 3, CLONE_PART, false);
	parse_check("run.constprop.0", 3, CLONE_COPY, false);
	parse_check("run.isra.12.constprop.0", 3, CLONE_COPY, false);
	parse_check("run.lto_priv.0", 3, CLONE_ITSELF, true);
	parse_check("run.lto_priv.0.isra.0.cold", 3, CLONE_PART, true);
	parse_check("run.llvm.1234567890", 3, CLONE_ITSELF, true);
	parse_check("run.localalias", 3, CLONE_ITSELF, false);
	parse_check("names.0", 7, CLONE_ITSELF, false);
	parse_check("names.0.lto_priv.2", 7, CLONE_ITSELF, true);
	parse_check("run.part", 8, CLONE_ITSELF, false);
	parse_check("run.part.", 9, CLONE_ITSELF, false);
	parse_check("run.part.x", 10, CLONE_ITSELF, false);
	parse_check("run.coldly", 10, CLONE_ITSELF, false);
	parse_check("run.cold.x", 10, CLONE_ITSELF, false);
	parse_check("run.cold.", 9, CLONE_ITSELF, false);
	parse_check(".cold", 5, CLONE_ITSELF, false);
	parse_check("run..cold", 4, CLONE_PART, false);

	choose_check("run", 10);
	choose_check("run run.cold run.constprop.0", 10);
	choose_check("run.cold run.constprop.0 run", 30);
	choose_check("run.lto_priv.0", 10);
	choose_check("=run.lto_priv.0", 10);
	choose_check("run.constprop.0", 10);
	choose_check("run.isra.0.cold run.isra.0", 20);
	choose_check("run.cold", -1);
	choose_check("run run", 0);
	choose_check("run run@10", 10);
	choose_check("run +run", 20);
	choose_check("+run +run", 10);
	choose_check("run run.lto_priv.0", 0);
	choose_check("+run run.lto_priv.0", 10);
	choose_check("run.lto_priv.0 run.lto_priv.1", 0);
	choose_check("run.lto_priv.0 run.lto_priv.0.constprop.0", 10);
	choose_check("run.lto_priv.0 run.lto_priv.1.constprop.0", 0);
	choose_check("run.constprop.0 run.constprop.1", 0);
	choose_check("run run.localalias@10", 10);
	choose_check("run run.isra.0", 0);
	choose_check("run run.isra.0.cold", 0);
	choose_check("run run.constprop.0.isra.0", 10);
	choose_check("1run 1run.constprop.0", 10);
	choose_check("1run 2run.constprop.0", 0);
	choose_check("1run 2run.cold", 0);
	choose_check("run 2run.cold", 10);

	pieces_check("run", "10");
	pieces_check("run.cold run", "20 10");
	pieces_check("+run run@10 run.cold", "10 30");
	pieces_check("run.part.0 run.constprop.0 run.cold run", "40 10 20 30");
	pieces_check("run.constprop.0 run.constprop.1 run.constprop.1.cold", "10 20 30");
	pieces_check("run.isra.0 run.isra.0.cold run.part.0 run.part.0.cold", "10 20 30 40");
	pieces_check("run.lto_priv.3 run.lto_priv.3.cold", "10 20");
	pieces_check("run run.cold run", "ambiguous");
	pieces_check("run run.cold run.cold", "ambiguous");
	pieces_check("run.lto_priv.0 run.lto_priv.1", "ambiguous");
	pieces_check("run run.lto_priv.0.cold", "ambiguous");
	pieces_check("+run run.cold run.lto_priv.0 run.lto_priv.0.cold", "10 20");
	pieces_check("+run run run.cold", "ambiguous");
	pieces_check("1run.isra.0 1run.isra.0.cold 2run", "ambiguous");
	pieces_check("1run 1run.part.0 2run.part.0", "ambiguous");
	pieces_check("1run 1run.part.0 1run.part.0.constprop.0", "10 20 30");
	pieces_check("+run 1run.cold", "10 20");
	pieces_check("+run 1run.cold 2run.constprop.0", "ambiguous");
	pieces_check("=run", "");
	return tap_done();
}
