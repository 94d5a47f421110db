/* SPDX-License-Identifier: MIT */
/* The calls in functions of this very program, which are written byte by byte. */
#include "image/calls.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"
#include "files/gate.h"
#include "image/funcs.h"
#include "image/text.h"
#include "tap.h"

#ifdef __x86_64__

/* clang-format off */
#define FUNCTION(name, code)                                                                       \
	".globl " name "\n.type " name ",@function\n" name ":\n" code ".size " name ",.-" name "\n"

__asm__(".text\n"
	FUNCTION("all_ways",
		 "call called_one\n"			     /* 0 */
		 ".byte 0x67\ncall called_one\n"	     /* 5: addr32 call */
		 "call *getppid@GOTPCREL(%rip)\n"	     /* 11 */
		 "call getppid@PLT\n"			     /* 17 */
		 "call *%rax\n"				     /* 22 */
		 ".byte 0xb8, 0xe8\n.long called_one - . - 4\n" /* 24: no call, but its bytes */
		 ".byte 0xc0\n"				     /* add %al, %al ends here */
		 ".byte 0x0f, 0x84\n.long called_one - . - 4\n" /* 31: no conditional jumps */
		 "call called_two\n"			     /* 37 */
		 ".byte 0xe9\n.long called_one - . - 4\n")	     /* 42 */
	FUNCTION("loops",
		 "call loops\n"				     /* 0 */
		 "jmp loops\n")				     /* 5: no call of itself */
	FUNCTION("jumps_by_word", "jmp *getppid@GOTPCREL(%rip)\n")
	FUNCTION("called_one", "ret\n")
	FUNCTION("called_two", "jmp called_one_local\n")     /* of 2 bytes */
	".type called_one_local,@function\ncalled_one_local:\nnop\nret\n"
	".size called_one_local,.-called_one_local\n"
	/* code that neither a symbol nor .eh_frame has */
	".zero 16\ncall called_one\n.zero 16\n");
/* clang-format on */

struct self {
	struct gate_file *file;
	struct funcs *funcs;
	struct text text;
};

static void self_open(struct self *ret)
{
	struct err *e;

	*ret = (struct self){.file = gate_file_of(open("/proc/self/exe", O_RDONLY | O_CLOEXEC))};
	ret->text.file = ret->file;
	e = funcs_read(ret->file, NULL, &ret->funcs);
	ok(!e, "our own file can be read");
	if (e)
		exit(1);
}

static void self_close(struct self *s)
{
	text_deinit(&s->text);
	funcs_destroy(s->funcs);
	(void)close(gate_file_fd(s->file));
	gate_file_close(s->file);
}

static struct calls *calls_of(struct self *s)
{
	return calls_open(s->file, GATE_LIMIT_DEFAULT, s->funcs, &s->text);
}

/* Checks one call: where it is in a function, of which number, whether it is the last one. */
static void call_is(const struct self *s, const struct call *c, const char *func, uint32_t rel,
		    uint32_t number, bool is_tail, const char *name)
{
	const struct func *fn = funcs_find(s->funcs, func);

	ok(fn && c->off == fn->off + rel && c->rel == rel && c->number == number &&
		   c->is_tail == is_tail,
	   "%s", name);
}

static void test_function(void)
{
	struct self s;
	call_vec found = {0};
	struct calls *c;

	self_open(&s);
	c = calls_of(&s);
	calls_want(c, funcs_find(s.funcs, "called_one")->addr, 7);
	calls_want(c, funcs_find(s.funcs, "called_one_local")->addr, 8);
	calls_want(c, funcs_find(s.funcs, "loops")->addr, 9);
	ok(calls_find(c, &found), "all of the code is searched");
	is_int(found.len, 5, "calls of functions of the file");
	if (found.len == 5) {
		call_is(&s, &found.data[0], "all_ways", 0, 7, false, "a call");
		call_is(&s, &found.data[1], "all_ways", 5, 7, false, "one with a prefix");
		call_is(&s, &found.data[2], "all_ways", 42, 7, true, "a jump at the end");
		call_is(&s, &found.data[3], "loops", 0, 9, false, "a call of itself");
		call_is(&s, &found.data[4], "called_two", 0, 8, true, "a short jump");
	}
	vec_deinit(&found);
	calls_close(c);
	self_close(&s);
}

static void test_import(void)
{
	struct self s;
	call_vec found = {0};
	struct calls *c;
	bool is_found = false;

	self_open(&s);
	c = calls_of(&s);
	for (uint32_t i = 0; i < calls_imports(c); i++) {
		if (strcmp(calls_import(c, i), "getppid") != 0)
			continue;
		ok(!is_found, "the name is there once");
		is_found = true;
		calls_import_want(c, i, 3);
	}
	ok(is_found, "a function of another file");
	ok(calls_find(c, &found), "all of the code is searched");
	is_int(found.len, 3, "its calls, without the stub in the linkage table");
	if (found.len == 3) {
		call_is(&s, &found.data[0], "all_ways", 11, 3, false, "a call through the word");
		call_is(&s, &found.data[1], "all_ways", 17, 3, false, "a call of the stub");
		call_is(&s, &found.data[2], "jumps_by_word", 0, 3, true, "a jump");
	}
	vec_deinit(&found);
	calls_close(c);
	self_close(&s);
}

static void test_nothing(void)
{
	struct self s;
	call_vec found = {0};
	struct calls *c;

	self_open(&s);
	c = calls_of(&s);
	ok(calls_find(c, &found) && !found.len, "what is not wanted is not found");
	calls_close(c);
	c = calls_open(NULL, GATE_LIMIT_DEFAULT, s.funcs, &s.text);
	ok(!calls_imports(c), "a file that cannot be read has no imports");
	calls_close(c);
	c = calls_open(s.file, 16, s.funcs, &s.text);
	calls_want(c, funcs_find(s.funcs, "called_one")->addr, 0);
	ok(!calls_find(c, &found), "code beyond the limit is not searched, which is said");
	calls_close(c);
	vec_deinit(&found);
	self_close(&s);
}

int main(void)
{
	test_function();
	test_import();
	test_nothing();
	return tap_done();
}

#else

int main(void)
{
	ok(true, "calls are not known of this processor");
	return tap_done();
}

#endif
