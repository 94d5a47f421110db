#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who sends which signal to whom?
 *
 * A line for each kill(), tkill() and tgkill(). TO is a process id (kill; negative: a process
 * group) or a thread id. Signal 0 only asks whether the process is there. A signal that the
 * kernel sends (SIGSEGV, SIGCHLD, ^C) has no system call and is not shown.
 */
BEGIN
{
	name[0] = "(test)";
	name[SIGHUP] = "SIGHUP";	name[SIGINT] = "SIGINT";	name[SIGQUIT] = "SIGQUIT";
	name[SIGABRT] = "SIGABRT";	name[SIGKILL] = "SIGKILL";	name[SIGTERM] = "SIGTERM";
	name[SIGUSR1] = "SIGUSR1";	name[SIGUSR2] = "SIGUSR2";	name[SIGSTOP] = "SIGSTOP";
	name[SIGCONT] = "SIGCONT";	name[SIGALRM] = "SIGALRM";	name[SIGCHLD] = "SIGCHLD";
	name[SIGPIPE] = "SIGPIPE";	name[SIGWINCH] = "SIGWINCH";	name[SIGTSTP] = "SIGTSTP";
	printf("%-20s %6s %-16s %-10s %8s %s\n", "TIME", "PID", "FROM", "SIGNAL", "TO", "RESULT");
}

syscall::kill:entry, syscall::tkill:entry
{
	self->to = (int)arg0;
	self->sig = (int)arg1;
	self->sent = 1;
}

syscall::tgkill:entry
{
	self->to = (int)arg1;
	self->sig = (int)arg2;
	self->sent = 1;
}

syscall::kill:return, syscall::tkill:return, syscall::tgkill:return
/self->sent/
{
	printf("%Y %6d %-16s %-10s %8d %s\n", walltimestamp, pid, execname,
	    name[self->sig] != NULL ? name[self->sig] : lltostr(self->sig), self->to,
	    errno == 0 ? "sent" : errno == ESRCH ? "no such process" :
	    errno == EPERM ? "not permitted" : "failed");
	self->to = 0;
	self->sig = 0;
	self->sent = 0;
}
