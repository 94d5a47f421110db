/* NULL strings keep being NULL in variables of every kind; what was never stored is NULL where storing NULL frees it
   (d-language.md 3.2). They print as nothing, equal "" and fault where a string is needed. */
#pragma D option quiet
string g;
self string s;
this string t;
string a[int];

BEGIN
{
	printf("%d %d %d %d\n", g == NULL, self->s == NULL, this->t == NULL, a[1] == NULL);
	g = ""; self->s = ""; this->t = ""; a[1] = "";
	printf("%d %d %d %d\n", g == NULL, self->s == NULL, this->t == NULL, a[1] == NULL);
	this->t = strtok("one,two", ","); this->t = strtok(NULL, ",");
	printf("%s %d\n", this->t, this->t != NULL);
	this->t = strtok(NULL, ",");
	g = this->t; self->s = g; a[1] = g;
}
BEGIN /this->t == NULL/
{
	printf("%d %d %d [%s] %d %d\n", g == NULL, self->s == NULL, a[1] == NULL, g, g == "", this->t != self->s);
}
BEGIN
{
	this->n = strlen(this->t);
	printf("not reached\n");
}
BEGIN
{
	g = "back"; this->t = g;
	printf("%s %d %s\n", g, this->t == NULL, strjoin(this->t, "!"));
	g = (this->x = json("{}", "none")) == NULL ? "none" : this->x;
	printf("%s\n", g);
	@[this->x] = count(); printa("[%s] %@d\n", @); trunc(@);
	exit(0);
}
ERROR { printf("ERROR %d %d\n", arg4 == DTRACEFLT_BADADDR, (int)arg5); }
