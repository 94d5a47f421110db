/* 2.1, 2.7: declarators. */
int a, *b, **c, d[3], e[], f[2][3], *g[4], (*h)[4], *(*i[2])[3];
int fn(void), fn2(), fn3(int, char *s, ...), (*fp)(int (int), int (*)(char));
char *const volatile k;
const char *userland u;
unsigned long long ull; long unsigned int long ull2; signed char sc; short int si; long double ld;
int aa[string, int], ab[struct foo *, uint64_t x], ac[int[3]];
extern int ext;
self string sv[int]; this uint64_t tv;
static auto register int both;
int char two; int int twice; uint64_t int three; long long long many; struct t1 struct t2 tags; uint64_t struct t3 mixed; int struct t4 other;
self untyped;
struct s1 { int a, *b; unsigned c : 3, d : 1 + 1, : 4; struct { int e; } f; union u { int g; }; char h[4]; };
struct s1 x; struct s2; struct { int q; } anon, *panon; union u *up;
enum e1 { A, B = 1 + 2, C, }; enum e1 ev; enum { D };
typedef struct s1 s1_t, *s1_p;
s1_t v1; s1_p v2;
int arr[A], arr2[sizeof (int)];
