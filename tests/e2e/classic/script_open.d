#!/usr/sbin/dtrace -s
/* @@trigger: forms open */
/* The usual script of who opens what: one clause for all names, state in self->, tables by errno. */
#pragma D option quiet
#pragma D option switchrate=10hz
#pragma D option evaltime=exec /* the dynamic linker opens files, too */

inline int OPT_fail = 1;
typedef struct pt { int x, y; } pt_t;
pt_t p;
uint64_t total[string];

dtrace:::BEGIN
/OPT_fail/
{
	printf("%-4s %4s %s\n", "FD", "ERR", "PATH");
	p.x = 3; p.y = p.x << 2 | 1;
	errs[0] = "ok"; errs[ENOENT] = "ENOENT"; errs[EACCES] = "EACCES";
}

syscall::open:entry, syscall::open64:entry, syscall::open_nocancel:entry
/pid == $target/
{
	self->pathp = arg0; self->flags = arg1;
	self->start = timestamp; self->vstart = vtimestamp;
}

syscall::open:return, syscall::open64:return, syscall::open_nocancel:return
/self->start && errno == 0/
{
	@ok["opened"] = max(arg0 > 2);
	self->pathp = 0; self->start = 0; self->vstart = 0; self->flags = 0;
}

syscall::open:return, syscall::open64:return, syscall::open_nocancel:return
/self->start && basename(copyinstr(self->pathp)) == probefunc/
{
	this->elapsed = timestamp - self->start;
	this->cpu = vtimestamp - self->vstart;
	this->path = copyinstr(self->pathp);
	printf("%-4d %4d %s %s %s\n", (int)arg0, errno, errs[errno], this->path, self->flags & O_CREAT ? "create" : "open");
	total[this->path] += this->elapsed;
	@lat["latency"] = quantize(this->elapsed / 1000);
	@tot[errno, errs[errno]] = sum(this->elapsed);
	@num[errno, errs[errno]] = count();
	@odd = sum(total[this->path] == 0 || this->elapsed < 0);
	self->pathp = 0; self->start = 0; self->vstart = 0; self->flags = 0;
}

dtrace:::END
{
	printf("%d\n", p.y);
	normalize(@tot, 1000000000000);
	printa("%d %s %@d %@d\n", @tot, @num);
	trunc(@lat);
	printa("%s %@d\n", @ok);
	printa("%@d\n", @odd);
}
