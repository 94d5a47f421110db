/* print() of enumerators, also of the kernel's, and of values of enum types, also unknown ones (d-language.md 6.5). */
#pragma D option quiet
enum color { RED, GREEN = 5, NONE = -1 };
typedef enum color color_t;
enum { NAMELESS = 3 };
struct pair { color_t first; enum color second; enum { X, Y } third; };
struct pair p;
color_t c;
inline int green = GREEN;

BEGIN
{
	print(RED); print(GREEN); print(NONE); print(NAMELESS); print(PIDTYPE_TGID);
	print((enum color)5); print((color_t)-1); print((enum color)7); print((enum pid_type)1);
	p.first = GREEN; p.second = 2; p.third = Y; print(p);
	c = NONE; print(c);
	print(green); print(RED + 1); print((int)GREEN); trace(GREEN);
	exit(0);
}
