#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * Which TCP connections ended, how long did they last, and how much did they carry?
 *
 * A line for each connection that ends while the script runs, seen from this machine: of a connection within the
 * machine, one for each end. MS is "-" when the connection was older than the script. TX and RX are bytes; that the
 * other end has nothing more to send counts as a byte received, if the kernel has not put the connection away before
 * that. Ends with ^C.
 */
BEGIN
{
	printf("%-24s %6s %-24s %6s %10s %10s %8s\n", "LOCAL", "PORT", "REMOTE", "PORT", "TX", "RX", "MS");
}

tcp:::connect-established, tcp:::accept-established
{
	began[args[1]->cs_addr] = timestamp;
}

tcp:::state-change
/args[3]->tcps_state == TCP_STATE_CLOSED && args[5]->tcps_state != TCP_STATE_LISTEN && args[5]->tcps_state != TCP_STATE_SYN_SENT/
{
	this->t = (struct tcp_sock *)args[1]->cs_addr;
	this->ms = began[args[1]->cs_addr] ? lltostr((timestamp - began[args[1]->cs_addr]) / 1000000) : "-";
	printf("%-24s %6d %-24s %6d %10d %10d %8s\n", args[3]->tcps_laddr, args[3]->tcps_lport, args[3]->tcps_raddr,
	    args[3]->tcps_rport, this->t->bytes_sent, this->t->bytes_received, this->ms);
	began[args[1]->cs_addr] = 0;
}
