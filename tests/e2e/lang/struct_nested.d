/* Structs in structs, arrays in structs, structs in arrays; copies are by value. */
#pragma D option quiet

struct point { int x, y; };
struct line { struct point a, b; char name[8]; struct point via[3]; };
struct line l; struct point p; struct point pts[3]; this struct line tl; self struct line sl;
typedef struct line line_t; line_t m;
BEGIN
{
	l.a.x = 1; l.a.y = -2; l.b.x = 3; l.via[2].y = 9; l.name[0] = 'h'; l.name[1] = 'i';
	p = l.b; p.x++; l.a = p;
	printf("%d %d %d %d %s\n", l.a.x, l.a.y, l.b.x, l.via[2].y, l.name);
	pts[1] = l.via[2]; pts[2] = pts[1]; pts[1].y = 0;
	printf("%d %d\n", pts[1].y, pts[2].y);
	this->tl = l; this->tl.via[0] = pts[2]; self->sl = this->tl; m = self->sl;
	printf("%d %d %s\n", m.via[0].y, l.via[0].y, m.name);
	this->i = 2; printf("%d\n", m.via[this->i].y);
	printf("%d %d %d\n", sizeof(struct line), offsetof(struct line, name), offsetof(line_t, via));
}
BEGIN { printf("%d %s\n", this->tl.via[0].y, self->sl.name); exit(0); }
