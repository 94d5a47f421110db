/* A translated value as a whole: printed with what its translator defines, assigned by way of a pointer, translated again, passed to an inline (d-language.md 10.1). */
#pragma D option quiet
struct part { int k; char label[8]; };
struct who { char name[16]; int id; int unset; string text; struct part inner; uint64_t *p; };
translator struct part <uint64_t N> { k = N + 1; label = "part"; };
translator struct who <int N> { name = strjoin("no", lltostr(N)); id = N; text = "t"; inner = xlate <struct part> ((uint64_t)N * 2); p = NULL; };
inline int ID_OF[struct who *W] = W->id;
translator struct part <int N> { k = N * 100; };
inline struct who *wide_who = xlate <struct who *> (9);
inline struct who *seven = xlate <struct who *> (7);

BEGIN
{
	n = 4;
	print(xlate <struct who> (n + 1)); print(seven); print(*seven);
	self->w = *xlate <struct who *> (n + 2); this->v = (*seven); a[1] = *seven;
	printf("%d %s %d %d %d %d\n", self->w.id, self->w.name, this->v.inner.k, a[1].id, ID_OF[seven], xlate <struct part *> (wide_who)->k);
	print(self->w); print(xlate <psinfo_t *> (curthread)->pr_lwp.pr_lwpid == tid);
	exit(0);
}
