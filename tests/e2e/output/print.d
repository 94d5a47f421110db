/* print(): structures, unions, bit-fields, arrays, enumerations, characters, pointers (d-language.md 6.5). */
#pragma D option quiet
enum color { RED, GREEN = 5, NONE = -1 };
typedef struct pt { int x; char c; } pt_t;
struct all {
	int a; unsigned b : 3; int c : 5; enum color e, e2, e3; char text[8]; char full[2]; char raw[4]; unsigned char uc;
	void *p; int arr[3]; pt_t pts[2]; pt_t in; union { int u1; short u2; }; _Bool yes;
	struct nowhere *fw; int (*fn)(int); int none[2][2]; uint64_t u;
};
struct all g;

BEGIN
{
	g.a = -1; g.b = 5; g.c = -2; g.e = GREEN; g.e2 = 3; g.e3 = NONE; g.text[0] = 'h'; g.text[1] = '\t';
	g.full[0] = 'a'; g.full[1] = 'b'; g.raw[0] = 'a'; g.raw[2] = 1; g.raw[3] = '\''; g.uc = 65; g.arr[1] = 7;
	g.pts[1].x = 3; g.in.c = '\n'; g.u1 = 0x10002; g.u = 12345; g.p = (void *)0x1234; g.none[1][0] = 9; g.yes = 1;
	print(g);
}

BEGIN
{
	print(g.a); print(g.b); print(g.e); print(g.text); print(g.pts); print(g.p); print(NULL); print((char)65);
	print('a'); print("say \"hi\"\n"); print(execname); print(probename); print((short)-1); print(-1);
	exit(0);
}
