/* @@trigger: userargs */
/* Typed args[] of system calls: what their pointers point to is user memory (providers.md 4.7; d-language.md 3.4). */
#pragma D option quiet

syscall::openat:entry
/pid == $target && stringof(args[1]) == "/no/such/name"/
{
	printf("%s %c %c %d\n", stringof(args[1]), *args[1], args[1][4], args[1] == (userland const char *)arg1);
	self->path = args[1];
}

syscall::openat:return
/self->path/
{
	printf("later %s, %d %d %d\n", stringof(self->path), args[0], args[1], errno == ENOENT);
	self->path = 0;
}

syscall::clock_nanosleep:entry
/pid == $target/
{
	this->t = *args[2];
	printf("%d.%09d %d %d\n", args[2]->tv_sec, args[2]->tv_nsec, this->t.tv_nsec, sizeof(*args[2]));
}

syscall::writev:entry
/pid == $target && args[0] == 77/
{
	printf("%d parts: %s %d, %s %d\n", args[2], stringof(args[1][0].iov_base), args[1][0].iov_len,
	    stringof(args[1][1].iov_base), args[1][1].iov_len);
}

syscall::execve:entry
/pid == $target/
{
	printf("%s: %s %s %d; %s\n", stringof(args[0]), stringof(args[1][0]), stringof(args[1][1]), args[1][2] == NULL,
	    stringof(*args[2]));
}
