/* 1.1: every word is a member name. */
struct foo { int x; };
BEGIN
{
	a.self.this->string.int.struct.probe.provider->if.else.while;
	self->self; this->this; self->while; this->translator;
	a->int64_t.pid_t;
	offsetof(struct foo, x) + offsetof(struct foo, string);
}
translator struct foo < int *y > {
	string = *y;
	x = *y;
};
