/* SPDX-License-Identifier: MIT */
/* Expressions: numbers, operators, names, what is refused. */
#include "mdb/expr.h"

#include "tap.h"

static bool symbol_find(void *ctx, const char *object, const char *name, uint64_t *ret)
{
	*ret = object ? 0x2000 : 0x1000;
	return strcmp(name, "fork") == 0 || strcmp(name, "add") == 0;
}

static bool memory_read(void *ctx, taddr addr, void *to, size_t size)
{
	uint64_t word = addr + 1;

	memcpy(to, &word, size);
	return addr < 0x10000;
}

static const struct expr_env env = {.dot = 0x50,
				    .next = 0x58,
				    .previous = 0x48,
				    .last = 7,
				    .symbol = symbol_find,
				    .read = memory_read};

static void check_good(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} rows[] = {
		{"10", 16},	    {"0t10", 10},	{"0o17", 15},
		{"0i101", 5},	    {"0xff", 255},	{"2+3*4", 14},
		{"(2+3)*4", 20},    {"7%2", 3},		{"(7/2)", 3},
		{"5#4", 8},	    {"8#4", 8},		{"1<<4|1", 17},
		{"5==5", 1},	    {"5!=5", 0},	{"6&3^1", 3},
		{"-1", UINT64_MAX}, {"~0", UINT64_MAX}, {".", 0x50},
		{".+8", 0x58},	    {"+", 0x58},	{"^", 0x48},
		{"&", 7},	    {"fork", 0x1000},	{"fork+10", 0x1010},
		{"add", 0xadd},	    {"`add", 0x1000},	{"libc.so.6`fork", 0x2000},
		{"*100", 0x101},    {"%100", 0x101},	{"'ab'", 0x6261},
		{"10-2-3", 0xb},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t value = 0;
		struct err *e = expr_eval(rows[i].text, &env, &value);

		ok(!e, "'%s' is an expression", rows[i].text);
		is_int(value, rows[i].value, rows[i].text);
		err_destroy(e);
	}
}

static void check_bad(void)
{
	static const char *const rows[] = {"",	     "5+",	"(5",	 "0t1f",
					   "12zz",   "nosuch",	"5 % 0", "5#0",
					   "*fffff", "<nosuch", "5)",	 "10000000000000000",
					   "7/2"};
	char deep[2000];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint64_t value = 99;
		struct err *e = expr_eval(rows[i], &env, &value);

		ok(e, "'%s' is refused", rows[i]);
		err_destroy(e);
	}
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	{
		uint64_t value;
		struct err *e = expr_eval(deep, &env, &value);

		ok(e && strstr(err_text(e), "too deep"), "parentheses have a bound");
		err_destroy(e);
	}
}

int main(void)
{
	check_good();
	check_bad();
	return tap_done();
}
