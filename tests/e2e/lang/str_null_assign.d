/* NULL may be assigned to whatever holds a string (d-language.md 2.3, 3.2). A string that is part of a structure is
   its characters: there NULL becomes "". */
#pragma D option quiet
struct pair { string text; int number; };
inline string nothing = NULL;
inline string if_odd[int n] = n % 2 ? "odd" : NULL;
struct pair g;
self struct pair t;
string s;
this string c;
string a[int];

BEGIN
{
	s = execname; this->c = s; self->s = s; a[1] = s;
	s = NULL; this->c = NULL; self->s = NULL; a[1] = NULL;
	printf("%d %d %d %d\n", s == NULL, this->c == NULL, self->s == NULL, a[1] == NULL);
	s = "x";
	s = this->c == NULL ? NULL : "text";
	printf("%d [%s]\n", s == NULL, s);
	s = if_odd[1]; printf("%s ", s);
	s = if_odd[2]; printf("%d\n", s == NULL);
	s = "x"; s = nothing; printf("%d\n", s == 0);
	a[2] = s = NULL; printf("%d\n", a[2] == NULL);
}
BEGIN
{
	g.text = "abc"; g.number = 7; self->t.text = "def"; self->t.number = 8;
	printf("%s %s\n", g.text, self->t.text);
	g.text = NULL;
	self->t.text = strtok("", ",");
	printf("[%s] %d [%s] %d\n", g.text, g.number, self->t.text, self->t.number);
	g.text = g.number ? "ghi" : NULL;
	self->t.text = strtok("j,k", ",");
	printf("%s %s\n", g.text, self->t.text);
	g.text = g.number ? NULL : "ghi";
	printf("[%s]\n", g.text);
	exit(0);
}
ERROR { printf("ERROR %d\n", arg4); exit(1); }
