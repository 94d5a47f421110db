/* alloca memory through pointers: arithmetic, differences, casts, bcopy, strings made of bytes. */
#pragma D option quiet

struct node { int v; struct node *next; };
BEGIN
{
	p = (int *)alloca(16); *p = 5; p[1] = 6; *(p + 2) = 7; *(3 + p) = 8;
	printf("%d %d %d %d\n", *p, p[1], *(p + 2), p[3]);
	q = p + 3; printf("%d %d %d\n", q - p, q > p, *(q - 1));
	q--; ++q; q -= 2; printf("%d %d\n", *q, (uint64_t)q - (uint64_t)p);
	c = (char *)alloca(8); c[0] = 'a'; c[1] = 'b'; c[2] = 0;
	printf("%s %d %c\n", stringof(c), strlen(c), *(c + 1));
	d = (char *)alloca(8); bcopy(c, d, 3); d[0] = 'z'; printf("%s %s\n", stringof(c), stringof(d));
	n = (struct node *)alloca(sizeof(struct node)); m = (struct node *)alloca(sizeof(struct node));
	n->v = 1; n->next = m; m->v = 2; m->next = NULL;
	printf("%d %d %d\n", n->next->v, (*n).v, n->next->next == NULL);
	h = (uint16_t *)p; h[0] = 0xffff; printf("%d\n", *p);
	v = (void *)p; printf("%d %d\n", *(int *)v, v == p);
	exit(0);
}
