#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Who connects to whom, who is called, and what is refused?
 *
 * A line for each connect() and accept(): ERR 0 is a connection, 115 (EINPROGRESS) one under
 * way, 111 (ECONNREFUSED) nobody there, 110 (ETIMEDOUT) no answer. For accept() the address is
 * the caller's. UNIX sockets show their path.
 */
inline int UNIX = 1;
inline int INET = 2;
inline int INET6 = 10;

struct inet {
	uint16_t family, port;
	uint8_t addr4[4];	/* sockaddr_in */
	uint8_t addr6[16];	/* sockaddr_in6: after the flow label */
};

BEGIN
{
	printf("%-20s %6s %-16s %-8s %3s %s\n", "TIME", "PID", "PROGRAM", "CALL", "ERR", "PEER");
}

syscall::connect:entry, syscall::accept:entry, syscall::accept4:entry
{
	self->addr = arg1;
}

syscall::connect:return, syscall::accept:return, syscall::accept4:return
/self->addr && (errno == 0 || probefunc == "connect")/
{
	this->family = *(uint16_t *)copyin(self->addr, 2);
	this->sa = (struct inet *)copyin(self->addr, this->family == INET6 ? 24 : 8);
	printf("%Y %6d %-16s %-8s %3d %s", walltimestamp, pid, execname, probefunc, errno,
	    this->family == INET ? inet_ntop(INET, &this->sa->addr4) :
	    this->family == INET6 ? inet_ntop(INET6, &this->sa->addr6) :
	    this->family == UNIX ? copyinstr(self->addr + 2) :
	    strjoin("family ", lltostr(this->family)));
	printf("%s%s\n", this->family == INET || this->family == INET6 ? " port " : "",
	    this->family == INET || this->family == INET6 ? lltostr(ntohs(this->sa->port)) : "");
}

syscall::connect:return, syscall::accept:return, syscall::accept4:return
{
	self->addr = 0;
}
