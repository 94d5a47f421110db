/* SPDX-License-Identifier: MIT */
/* Calls functions that receive arguments as those of Go do (golike.S). */
#include <stdint.h>

struct goroutine {
	uint64_t stack_start, stack_end;
	uint64_t guard; /* a function that needs more stack below it asks for it */
};

struct go_string {
	const char *str;
	int64_t len;
};

struct point {
	int64_t x;
	struct go_string name;
};

void golike_call(void (*fn)(void), const uint64_t *regs, const uint64_t *stack,
		 struct goroutine *g);
void golike_c(int a, int b);
void go_add(void) __asm__("main.add");
void go_greet(void) __asm__("main.greet");
void go_many(void) __asm__("main.many");
void go_sum(void) __asm__("main.sum.abi0");

#define ADDRESS(p) ((uint64_t)(uintptr_t)(p))
#define GARBAGE	   0xabcdef00u /* Go leaves what it likes above a number of less than a word */

int main(void)
{
	static const char text[] = "gopher and more";
	struct point at = {-7, {text + 7, 3}};
	struct goroutine g = {0};
	const uint64_t stack[] = {110, 111};
	const uint64_t add[9] = {40, 2, 12, 13, 14, 15, 16, 17, 18};
	const uint64_t greet[9] = {ADDRESS(text), 6, GARBAGE + 5, GARBAGE + 1, ADDRESS(&at)};
	const uint64_t many[9] = {1, ADDRESS(text), 6, 4, 5, 6, 7, 8, 9};

	golike_call(go_add, add, stack, &g);
	g.guard = UINT64_MAX; /* the stack is too small once */
	golike_call(go_add, add, stack, &g);
	g.guard = UINT64_MAX;
	golike_call(go_greet, greet, stack, &g);
	golike_call(go_many, many, stack, &g);
	golike_call(go_sum, add, stack, &g);
	golike_c(3, 4);
	return 0;
}
