/* SPDX-License-Identifier: MIT */
/* Jump tables: of functions that were split, of several jumps, and how long they are. */
#include "flow/impl.h"

#include "made.h"
#include "tap.h"

#define ADD(m, bytes) made_code(m, bytes, sizeof(bytes) - 1)

/* seven times inc; ret */
#define CASES "\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xc3"

/* The distance from the table at the begin of the data to code at an offset. */
#define ENTRY(off) (int32_t)(CODE + (off)-DATA)
#define NO_ENTRY   0x20202020

static void must_read(struct made *m)
{
	struct err *e = made_read(m);

	if (e) {
		printf("Bail out! %s\n", err_text(e));
		exit(1);
	}
}

/* What a jump of 5 bytes lacks at an address. */
static void lack_is(const struct made *m, uint64_t addr, enum flow_lack want, const char *name)
{
	struct flow_range bounds = flow_around(m->flow, area_at(m->flow, addr), addr);
	struct flow_window w;

	is_str(flow_lack_text(window_try(m->flow, &bounds, addr, FLOW_JUMP, addr, &w)),
	       flow_lack_text(want), name);
}

/*
 * xor; lea TABLE(%rip),%rdx; movslq (%rdx,%rdi,4),%rax; jmp to the cold part; 18: cases
 * cold: add %rdx,%rax; jmp *%rax
 */
#define HOT  "\x31\xc0\x48\x8d\x15\xf7\x0f\x00\x00\x48\x63\x04\xba\xe9\x2e\x00\x00\x00" CASES
#define COLD "\x48\x01\xd0\xff\xe0"

static void split_make(struct made *m, bool is_stripped, const int32_t *table, size_t size)
{
	uint64_t at = ADD(m, HOT);

	made_pad(m, 64);
	(void)ADD(m, COLD);
	made_pad(m, 64);
	if (is_stripped) {
		made_frame(m, "z", at, sizeof(HOT) - 1, 0);
		made_frame(m, "z", CODE + 64, sizeof(COLD) - 1, 0);
	} else {
		made_symbol(m, "hot", at, sizeof(HOT) - 1);
		made_symbol(m, "hot.cold", CODE + 64, sizeof(COLD) - 1);
	}
	(void)made_data(m, table, size);
	must_read(m);
}

/* The hot part loads the entry, the cold one jumps. */
static void test_split(void)
{
	static const int32_t table[] = {ENTRY(22), ENTRY(24), NO_ENTRY};
	static const int32_t none[] = {NO_ENTRY};

	for (int is_stripped = 0; is_stripped < 2; is_stripped++) {
		struct made m = {0};
		struct flow_census n;

		split_make(&m, is_stripped, table, sizeof(table));
		lack_is(&m, CODE + 18, FLOW_ENTERED, "an entry of a part's table");
		lack_is(&m, CODE + 24, FLOW_FITS, "behind the last one");
		if (flow_census(m.flow, &n))
			exit(1);
		is_int(n.nunknown, 0, "all is known");
		made_end(&m);

		m = (struct made){0};
		split_make(&m, is_stripped, none, sizeof(none));
		lack_is(&m, CODE + 18, FLOW_UNKNOWN_JUMP, "a part's table that was not found");
		made_end(&m);
	}
}

/* A function with two jumps: the table of the second one, at the ninth byte, is none. */
static void test_two(void)
{
	/* xor; lea; movslq; add; jmp; 18: cases; 33: lea; movslq; add; jmp; 49: cases */
	static const uint8_t code[] =
		"\x31\xc0\x48\x8d\x15\xf7\x0f\x00\x00\x48\x63\x04\xba\x48\x01\xd0\xff\xe0" CASES
		"\x48\x8d\x15\xe0\x0f\x00\x00\x48\x63\x04\xba\x48\x01\xd0\xff\xe0" CASES;
	int32_t table[] = {ENTRY(22), ENTRY(24), NO_ENTRY, NO_ENTRY};
	struct made m = {0};

	made_symbol(&m, "two", made_code(&m, code, sizeof(code) - 1), sizeof(code) - 1);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 53, FLOW_UNKNOWN_JUMP, "one table of two was found");
	made_end(&m);

	m = (struct made){0};
	table[2] = table[3] = (int32_t)(CODE + 24 - (DATA + 8));
	made_symbol(&m, "two", made_code(&m, code, sizeof(code) - 1), sizeof(code) - 1);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 53, FLOW_FITS, "both were found");
	made_end(&m);
}

/* cmp $1,%edi; ja 35; 5: lea; movslq; add; jmp; 21: cases, the ret at 35 */
/* clang-format off */
#define CHECKED(first) \
	"\x83\xff\x01\x77\x1e\x48\x8d\x15\xf4\x0f\x00\x00\x48\x63\x04\xba\x48\x01\xd0" \
	"\xff\xe0" first "\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xc3"
/* clang-format on */

static void test_bound(void)
{
	static const uint8_t code[] = CHECKED("\xff\xc0");
	static const uint8_t back[] = CHECKED("\xeb\xee"); /* jmp 5 */
	static const int32_t table[] = {ENTRY(25), ENTRY(27), ENTRY(31), NO_ENTRY};
	struct made m = {0};

	made_symbol(&m, "checked", made_code(&m, code, sizeof(code) - 1), sizeof(code) - 1);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 23, FLOW_ENTERED, "an entry that the comparison lets pass");
	lack_is(&m, CODE + 29, FLOW_FITS, "what is behind the table is none");
	made_end(&m);

	m = (struct made){0};
	made_symbol(&m, "checked", made_code(&m, back, sizeof(back) - 1), sizeof(back) - 1);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 29, FLOW_ENTERED, "control comes there without the comparison");
	made_end(&m);
}

/*
 * cmp $1,%edi; 3: mov %ecx,%ecx; 5: ja 37; 7: lea; movslq; add; jmp; 23: cases, the ret at 37
 *
 * The flags that the branch sees are those of another comparison where control comes from
 * elsewhere in between.
 */
/* clang-format off */
#define BETWEEN(first) \
	"\x83\xff\x01\x89\xc9\x77\x1e\x48\x8d\x15\xf2\x0f\x00\x00\x48\x63\x04\xba\x48\x01" \
	"\xd0\xff\xe0" first "\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xff\xc0\xc3"
/* clang-format on */

static void between_is(const uint8_t *code, size_t size, enum flow_lack want, const char *name)
{
	static const int32_t table[] = {ENTRY(27), ENTRY(29), ENTRY(33), NO_ENTRY};
	struct made m = {0};

	made_symbol(&m, "between", made_code(&m, code, size), size);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 25, FLOW_ENTERED, "an entry that the comparison lets pass");
	lack_is(&m, CODE + 31, want, name);
	made_end(&m);
}

static void test_between(void)
{
	static const uint8_t none[] = BETWEEN("\xff\xc0"), compared[] = BETWEEN("\xeb\xe7");
	static const uint8_t between[] = BETWEEN("\xeb\xea"), branch[] = BETWEEN("\xeb\xec");
	static const uint8_t inside[] = BETWEEN("\xeb\xe8");

	between_is(none, sizeof(none) - 1, FLOW_FITS, "what is behind the table is none");
	between_is(compared, sizeof(compared) - 1, FLOW_FITS, "control comes to the comparison");
	between_is(between, sizeof(between) - 1, FLOW_ENTERED,
		   "control comes between comparison and branch");
	between_is(branch, sizeof(branch) - 1, FLOW_ENTERED, "control comes to the branch");
	between_is(inside, sizeof(inside) - 1, FLOW_ENTERED,
		   "control comes to the middle of the comparison");
}

/* The address of the second entry is taken, too: as if there began another table. */
static void test_longer(void)
{
	/* lea TABLE+4,%rcx; cmp $2,%edi; ja 57; lea; movslq; add; jmp; 28: cases; 43: cases */
	static const uint8_t code[] =
		"\x48\x8d\x0d\xfd\x0f\x00\x00\x83\xff\x02\x77\x2d\x48\x8d\x15\xed\x0f\x00\x00"
		"\x48\x63\x04\xba\x48\x01\xd0\xff\xe0" CASES CASES;
	int32_t table[] = {ENTRY(32), ENTRY(34), ENTRY(49), NO_ENTRY};
	struct made m = {0};

	made_symbol(&m, "longer", made_code(&m, code, sizeof(code) - 1), sizeof(code) - 1);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 47, FLOW_ENTERED, "the table is as long as the comparison says");
	made_end(&m);

	m = (struct made){0};
	table[2] = NO_ENTRY;
	made_symbol(&m, "longer", made_code(&m, code, sizeof(code) - 1), sizeof(code) - 1);
	(void)made_data(&m, table, sizeof(table));
	must_read(&m);
	lack_is(&m, CODE + 47, FLOW_UNKNOWN_JUMP, "one that is shorter is another one");
	made_end(&m);
}

int main(void)
{
	test_split();
	test_two();
	test_bound();
	test_between();
	test_longer();
	return tap_done();
}
