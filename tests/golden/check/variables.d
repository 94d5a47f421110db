/* Variables: scopes, first assignment, declarations, arrays, deletion (d-language.md 3.5, 4.1) */
int g;
string gs;
self int t;
this uint64_t l;
int a[string, int];
self string sa[int];
int *ptr;

BEGIN
{
	g = 5; gs = "a"; self->t = (char)3; this->l = -1; a["x", 1l] = 'c'; self->sa[2] = execname;
	n = 1; self->n = 2l; this->n = "x"; an[pid, execname] = timestamp; self->an[1] = "s";
	g = self->t + this->l; gs = self->sa[1];
	a["x", 1] = 0; self->sa[2] = 0; self->t = 0; an[1, "y"] = 0; self->an[1] = NULL;
	ptr = 0; ptr = &ptr[3];
	c++; self->c--; m[1]++; ++this->c;
	this->buf = (char *)alloca(8); this->buf[0] = 'x'; *this->buf = 0;
}
