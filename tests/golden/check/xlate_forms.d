/* Translators in all forms (d-language.md 10.1). */
struct in { int x; struct in *next; };
struct part { int p, q; };
typedef struct out { int a; string s; struct part sub; struct part *far; char text[8]; } out_t;
union both { int i; long l; };

translator struct part < int i > { p = i; q = -i; };
translator struct part < struct in *i > { p = i->x; q = i->next->x; };
translator union both < int i > { i = i + 1; l = arg0; };
translator out_t < struct in *i >
{
	a = i->x + 1;
	s = i->next == NULL ? probename : "more";
	sub = xlate<struct part>(i->x);
	far = xlate<struct part *>(i);
	text = "text";
};
/* the output is a member's input */
translator struct in < out_t *o > { x = o->a; };

inline out_t *curout = xlate<out_t *>((struct in *)arg0);
inline out_t outs[int n] = xlate<out_t>((struct in *)n);
inline int first[int n] = xlate<struct part>(n).p;

BEGIN
{
	trace(xlate<out_t>((struct in *)arg0).a);
	trace(xlate<out_t *>((struct in *)arg0)->s);
	trace(xlate<struct out>((const struct in *)arg1).sub.q);
	trace(xlate<out_t>((struct in *)arg0).far->q);
	trace(curout->a);
	trace(outs[3].text);
	trace(first[arg2]);
	trace(xlate<union both>(5).i + xlate<union both *>(5)->l);
	/* an argument that converts to the input */
	trace(xlate<struct part>((char)7).p);
}

BEGIN
{
	g = xlate<out_t *>((struct in *)arg0);
	self->t = xlate<out_t>((struct in *)arg1);
	this->c = xlate<struct part>(2);
	seen[1] = xlate<struct part *>((struct in *)arg0);
}

END
{
	trace(g->a);
	trace(self->t.sub.p);
	trace(seen[1]->q);
	@[g->s] = sum(g->a);
}

END
/curout->a > 0/
{
	printf("%d %d", curout->a, curout->far->p);
}
