/* What a wrong member makes of its structure is no error of its own: neither size nor members. */
struct f1;
struct g1 { struct f1 *p; };
struct f1 { float a:4; int b; };
typedef struct { float z:3; } anon_t;
typedef struct f1 f1_t;
anon_t av;
struct f1 sv;
f1_t *fp;
translator anon_t < int i > { z = i; };
BEGIN { trace(((struct g1 *)0)->p->b); trace(sizeof(anon_t)); trace(sizeof(struct f1)); }
BEGIN { trace(fp->b); trace(((f1_t *)0)->b); trace(xlate <anon_t> (1).z); print(av); trace(sv.b); }
