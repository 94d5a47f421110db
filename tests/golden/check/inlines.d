/* Inlines, enumerators, translators (d-language.md 2.8, 10.1) */
inline int MAX = 10;
inline string who = execname;
inline long area[int w, int h] = w * h;
enum color { RED, GREEN = 5, BLUE };
struct out { int pid; string name; long big; };
translator struct out < int i > { pid = i + 1; name = execname; big = i; };
inline struct out *cur = xlate<struct out *>(tid);
enum color col;
BEGIN / cur->pid > MAX && who == "x" /
{
	trace(area[MAX, pid]); trace(GREEN + BLUE); col = BLUE; trace(col == GREEN);
	trace(cur->name); trace(xlate<struct out>(5).big);
	self->o = xlate<struct out *>(pid); trace(self->o->pid);
}
