/* SPDX-License-Identifier: MIT */
/* Calls functions whose debug information is Rust's (rustlike.S). */
#include <stdint.h>

struct order {
	uint32_t id;
	const char *name;
	uint64_t length;
};

uint64_t greet(const char *name, uint64_t length,
	       uint64_t times) __asm__("_ZN5stall5greet17h07386897badf7c20E");
uint64_t place(uint64_t tag, uint64_t value, const struct order *by_address, const char *note,
	       uint64_t length,
	       const struct order *at) __asm__("_ZN5stall5place17h07386897badf7c21E");
uint64_t moved(void *result, uint64_t kept, uint64_t unused, const struct order *order,
	       const char *name, uint64_t length) __asm__("_ZN5stall5moved17h07386897badf7c22E");

int main(void)
{
	static const char text[] = "ferris and more";
	const struct order apple = {7, text, 3}, pear = {8, text, 6};

	/* what was never read has no memory yet that a probe could read */
	(void)*(volatile const char *)text;
	greet(text, 6, 0xabcdef05);
	place(1, 42, &apple, text + 7, 3, &pear);
	moved(0, 9, 10, &pear, text + 11, 4);
	return 0;
}
