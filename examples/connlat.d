#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long do TCP connections take to be made, and by which program to where?
 *
 * From the first SYN to the answer, in microseconds: the network's round trip and the time that the other machine needs.
 * A value beyond a second means that a SYN was lost. Connections that are refused have a line of their own. Ends with ^C.
 */
tcp:::connect-request
{
	began[args[3]->tcps_addr] = timestamp;
	who[args[3]->tcps_addr] = execname;
}

tcp:::connect-established
/began[args[3]->tcps_addr]/
{
	@us[who[args[3]->tcps_addr], args[3]->tcps_raddr, args[3]->tcps_rport] =
	    quantize((timestamp - began[args[3]->tcps_addr]) / 1000);
}

tcp:::connect-refused
/began[args[3]->tcps_addr]/
{
	printf("%s: %s port %d refused the connection after %d us\n", who[args[3]->tcps_addr], args[3]->tcps_raddr,
	    args[3]->tcps_rport, (timestamp - began[args[3]->tcps_addr]) / 1000);
}

tcp:::connect-established, tcp:::connect-refused
{
	began[args[3]->tcps_addr] = 0;
	who[args[3]->tcps_addr] = 0;
}

END
{
	printa("%s to %s port %d, us %@d\n", @us);
}
