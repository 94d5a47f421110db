/* Thread-local variables of every type. */
#pragma D option quiet

BEGIN
{
	self->c = (char)-1; self->us = (unsigned short)-1; self->i = -1; self->ul = (uint64_t)-1;
	self->s = "string"; self->p = (int *)alloca(4); *self->p = 4;
	printf("%d %d %d %d %s %d\n", self->c, self->us, self->i, self->ul, self->s, *self->p);
	self->s = strjoin(self->s, self->s); printf("%s %d\n", self->s, strlen(self->s));
}
BEGIN
{
	printf("%d %d %d %d %s\n", self->c, self->us, self->i, self->ul, self->s);
	self->s = 0; self->i = 0; self->c = 0;
	printf("[%s] %d %d %d\n", self->s, self->s == NULL, self->i, self->c);
	self->i++; printf("%d\n", self->i);
	exit(0);
}
