/* Every kind of declaration in one program: arrays of arrays, anonymous members, translators, providers. */
#pragma D option quiet
int decl[string, int]; self int sdecl[int]; string names[int]; int m[2][3]; const int K; volatile int vol; void *vp;
struct anon { int a; struct { int in1; int in2; }; union { int u1; char u2; }; }; struct anon an;
struct key { int k; char s[4]; }; struct key key; int bykey[struct key];
typedef int arr3[3]; arr3 a3; typedef struct anon anon_t; anon_t *ap; enum { NEG = -5, NEXT }; extern int ext;
translator struct key < struct anon *p > { k = p->a; };
provider myprov { probe one(int, char *); probe two(); };
BEGIN
{
	decl["a", 1] = 3; self->sdecl[4] = 5; names[1] = "n1";
	printf("%d %d %s [%s]\n", decl["a", 1], self->sdecl[4], names[1], names[2]);
	m[1][2] = 7; m[0][0] = 1; printf("%d %d %d\n", m[1][2], m[0][0], sizeof(m));
	an.in2 = 4; an.u1 = 0x41; printf("%d %c\n", an.in2, an.u2);
	a3[2] = 5; printf("%d %d %d %d\n", a3[2], sizeof(arr3), NEG, NEXT);
	ap = (anon_t *)alloca(sizeof(anon_t)); ap->a = 77; ap->in1 = 78;
	self->ap = ap; printf("%d %d\n", self->ap->a, xlate<struct key>(ap).k);
	vol++; printf("%d\n", vol);
}
BEGIN { key.k = 1; bykey[key] = 6; key.k = 2; printf("%d ", bykey[key]); key.k = 1; printf("%d\n", bykey[key]); exit(0); }
