/* Memory of alloca(), copyin(), memref(): what lies outside a block is a fault that says so, also when it is read. */
#pragma D option quiet

char *p, *q; struct pair { long a, b; } *s, t; int i;

BEGIN { p = (char *)alloca(10); bcopy("123456789", p, 10); printf("%s %c\n", stringof(p), p[9] + '0'); }
BEGIN { p = (char *)alloca(10); q = (char *)alloca(10); bcopy("123456789", q, 10); bcopy(q, p, 10); printf("%s\n", stringof(p)); }
BEGIN { p = (char *)alloca(10); bcopy("0123456789abcdef", p, 11); }
BEGIN { p = (char *)alloca(10); q = (char *)alloca(10); bcopy("0123456789abcdef", p, 17); }
BEGIN { p = (char *)alloca(10); copyinto(curthread->mm->arg_start, 100, p); }
BEGIN { p = (char *)alloca(10); p[10] = 1; }
BEGIN { p = (char *)alloca(10); *(p - 1) = 1; }
BEGIN { p = (char *)alloca(10); q = (char *)alloca(10); printf("%d\n", p[15]); }
BEGIN { p = (char *)alloca(10); printf("%d\n", p[10]); }
BEGIN { p = (char *)alloca(10); printf("%d\n", p[100]); }
BEGIN { p = (char *)alloca(10); printf("%d\n", *(p - 1)); }
BEGIN { p = (char *)alloca(10); i = 1000; printf("%d\n", p[-i]); }
BEGIN { p = (char *)alloca(10); printf("%d\n", *(long *)(p + 3)); }
BEGIN { p = (char *)alloca(10); tracemem(p, 11); }
BEGIN { p = (char *)alloca(10); printf("%s\n", stringof(p + 10)); }
BEGIN { s = (struct pair *)alloca(15); t = *s; }
BEGIN { s = (struct pair *)alloca(16); s->a = 1; s->b = 2; t = *s; printf("%d\n", t.a + t.b); }
BEGIN { p = (char *)alloca(10); q = (char *)alloca(20); bcopy(p, q, 11); }
BEGIN { p = (char *)alloca(10); printf("%s\n", memstr(p, '-', 11)); }
BEGIN { p = (char *)alloca(10); printf("%d\n", strlen(p + 11)); }
BEGIN { p = (char *)alloca(2); printf("%s\n", inet_ntoa((uint32_t *)p)); }
BEGIN { p = (char *)alloca(8); p[0] = 'x'; }
BEGIN { printf("%c\n", p[0]); }
BEGIN { p[0] = 'y'; printf("%c\n", p[0]); }
BEGIN { q = (char *)alloca(2000); q[0] = 'z'; }
BEGIN { printf("%c\n", q[0]); }
BEGIN { printf("%c\n", p[0]); }
BEGIN { this->x = strjoin("ab", "cd"); p = (char *)alloca(8); printf("%s\n", strjoin(this->x, "ef")); }
BEGIN { exit(0); }
ERROR { printf("fault %d in action %d\n", arg4, arg2); }
