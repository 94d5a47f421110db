/* What old C and other DTraces accept in declarations (d-language.md 2.7): no type is int, a structure without a name,
   names of what is built in, a translator's member that is defined twice. */
#pragma D option quiet
self x;
self by_number[int];
this y, *z;
extern jiffies;
extern int t[];
struct { int unused; };
int strlen(const char *);
extern int pid;
struct in { int a; };
struct out { int a; int b; };
translator struct out < struct in *p > { a = p->a; b = 1; a = p->a * 2; };

BEGIN
{
	self->x = 0x100000003;
	this->y = -1;
	this->z = alloca(4);
	*this->z = 21;
	self->by_number[3] = 4;
	printf("%d %d %d %d\n", self->x, this->y, sizeof(this->y), self->by_number[3]);
	printf("%d %d\n", strlen("abc"), pid == $pid);
	printf("%d %d\n", xlate<struct out>((struct in *)this->z).a, xlate<struct out>((struct in *)this->z).b);
	exit(0);
}
ERROR { exit(1); }
