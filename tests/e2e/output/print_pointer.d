/* print() of pointers: to a structure its content, to anything else the address; a bad one is a fault. printm(). */
/* @@runtest-opts: -q */
struct pair { int a, b; };
struct pair *p; int *q;
BEGIN
{
	p = (struct pair *)alloca(8); p->a = 1; p->b = -1; q = (int *)0x10;
	print(p); print(*p); print(q); print((void *)p == NULL);
}
BEGIN { print((struct pair *)NULL); }
BEGIN { printm(8, memref("abcdefgh", 3)); printm(2, memref("abcdefgh", 3)); }
BEGIN { printm(4, memref((void *)0x20, 4)); }
BEGIN { exit(0); }
