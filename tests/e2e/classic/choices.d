/* How old scripts have options: constants that choose actions; text by its first byte; text that ends where it was copied. */
/* @@runtest-opts: -q */
/* @@trigger: calls write 1 */
inline int OPT_shown = 1;
inline int OPT_hidden = 0;
inline string NAME = ".";

BEGIN
{
	OPT_shown ? printf("%-6s|", "HEAD") : 1;
	OPT_hidden ? printf("%5d ", curpsinfo->pr_no_such_member) : 1;
	OPT_hidden ? printf("hidden\n") : printf(" shown\n");
	OPT_shown == 1 ? @calls[probename] = count() : 1;
	OPT_hidden == 1 ? @never[no_such_variable] = count() : 1;
	OPT_shown && !OPT_hidden ? (OPT_hidden ? exit(2) : printf("nested\n")) : exit(3);
	OPT_hidden ? self->start[probefunc] = timestamp : 1;
	self->start[probefunc] = 0;
	(OPT_shown == 1 && probename == "BEGIN") ? self->ok = 2 : 1;
	(OPT_hidden == 1 && NAME == execname) ? self->ok = 3 : 1;
	printf("%d %c %c\n", self->ok, *probename, *strchr("path/file", '/'));
	self->names[7] = probename;
	printf("%d %d\n", self->names[7] != 0, self->names[8] == 0);
	printf("%s %s %d\n", zonename, jailname, jid);
}

syscall::write:entry
/pid == $target/
{
	self->buf = arg1;
	this->long_before = copyinstr(arg1);
}

syscall::write:return
/self->buf/
{
	this->n = 3;
	printf("<%s> ", stringof(copyin(self->buf, 5)));
	printf("<%s> ", stringof(copyin(self->buf, this->n)));
	this->text = (char *)copyin(self->buf, 8);
	this->text[8] = '\0';
	printf("<%s>\n", stringof(this->text));
	self->buf = 0;
	exit(0);
}
