/* 1.3: type name or identifier? */
typedef int num;
typedef struct uint32_t { int num; } uint32_t_t;
num counter_of;
BEGIN
{
	int64_t = 1;		/* an assignment creates it... */
	x = int64_t + 1;	/* ...and then it is an identifier */
	id_t[1] = 2;
	ssize_t++;
	y = (num) -1;
	z = (x) - 1;
	w = (pid) - 1;
	v = sizeof (num) + sizeof (x);
	u = (uint32_t_t *) &x;
	self->num = this->size_t = args[0]->num.uint32_t;
}
