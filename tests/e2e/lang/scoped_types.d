/* C` and D` before a type mean the types that D text declares, also those of the D library: in typedefs, members, declarations, casts, sizeof, offsetof and translations (d-language.md 1.8). */
#pragma D option quiet
typedef D`uint32_t page_t;
struct pair { D`uint64_t a; C`uint32_t c; D`string text; };
struct D`pair made;
D`int64_t total;
self C`uint32_t mine;
int seen[D`string, struct D`pair *];
inline D`uint16_t LIMIT = 5;
enum colour { RED, GREEN };
translator D`struct pair <D`int N> { a = N * 2; text = "pair"; };

BEGIN
{
	made.c = 3; self->mine = (C`uint32_t)-1; total = (D`int64_t)self->mine + LIMIT; seen["x", NULL] = 7;
	this->p = (struct D`pair *)alloca(sizeof (D`struct pair)); this->p->c = (D`uint8_t)0x101;
	printf("%d %d %d %d %d\n", sizeof (page_t), sizeof (D`string), sizeof (struct D`pair) == sizeof (struct pair), offsetof(struct D`pair, c), sizeof (D`pid_t *));
	printf("%d %d %d %d %d\n", made.c, total, seen["x", NULL], this->p->c, (enum D`colour)GREEN);
	printf("%d %s\n", xlate <D`struct pair> (21).a, xlate <struct D`pair *> (21)->text);
	printf("%d %d\n", xlate <D`psinfo_t *> (curthread)->pr_pid == pid, sizeof (struct D`devinfo) == sizeof (D`devinfo_t));
	exit(0);
}
