/* Structs, unions, bit-fields, arrays, pointers (d-language.md 2.3) */
struct in { short x; union { int u; char c[4]; }; };
struct s { int a; uint64_t b:5, c:40; int8_t d:3; struct in in[2]; struct s *next; char name[16]; };
struct s v;
BEGIN
{
	v.a = 1; v.b = 2; v.c = 3; v.d = -1; v.in[1].x = 4; v.in[0].u = 5; v.in[1].c[2] = 'x';
	trace(v.a + v.b + v.c + v.d); trace(v.in[1].c[2]);
	this->p = (struct s *)arg0;
	trace(this->p->next->next->in[pid & 1].u); trace(this->p->b); trace(stringof(this->p->name));
	trace(*this->p->next); trace(this->p[2].a); trace((this->p + 1)->c); trace(&this->p->in[1] - this->p->in);
	v = *this->p; w = v; self->keep = this->p;
	this->u = (userland struct s *)arg1;
	trace(this->u->a); trace(this->u->next->d); trace(stringof(this->u->name));
	trace(this->p->name == "abc" && this->p->next != NULL);
}
