/* __either(): the first expression that types allow; the library's way to read members that move. */
struct s { int old; struct { int count; } list[2]; };
inline int n[struct s *p] = __either(p->new, p->list.count, p->list[0].count, p->old);

BEGIN
{
	trace(n[(struct s *)arg0]);
	trace(__either(((struct s *)arg0)->old));
	trace(__either(nosuch, sizeof(struct none), 3));
	x = __either(this->never + 1, 4) + 1;
	trace(x);
}
