/* Elements of every type; 0 deletes them. */
#pragma D option quiet

struct p { int x; char n[4]; }; struct p v;
BEGIN
{
	i["a"]++; i["a"] += 4; i["a"]--; printf("%d\n", i["a"]);
	s[1] = "text"; printf("[%s] [%s]\n", s[1], s[2]);
	s[1] = 0; printf("[%s] %d\n", s[1], s[1] == NULL);
	u[1] = (uint64_t)-1; c[1] = (char)-1; printf("%d %d\n", u[1], c[1]);
	v.x = 5; v.n[0] = 'n'; t["k", 1] = v; v.x = 6; printf("%d %s\n", t["k", 1].x, t["k", 1].n);
	i["a"] = 0; i["a"] += 3; printf("%d\n", i["a"]);
	self->m[pid, "q"] = 8; self->m[0, "q"] = 9; printf("%d %d\n", self->m[pid, "q"], self->m[1, "q"]);
	self->m[0, "q"] = 0; printf("%d %d\n", self->m[0, "q"], self->m[pid, "q"]);
	i[s[2]] = 77; printf("%d\n", i[""]);
	exit(0);
}
