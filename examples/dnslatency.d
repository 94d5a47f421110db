#!/usr/sbin/dtrace -qs
/* SPDX-License-Identifier: MIT */
/*
 * How long do name servers take to answer, and for which names?
 *
 * A line for each answer: who asked which server for what, and after how many microseconds the answer came; ^C prints a histogram for
 * each server, and the questions that nobody has answered. A question is a datagram to port 53, from whose first bytes the name is
 * read, up to five parts of it. A resolver of this machine asks for others: then its name is the program's.
 */
udp:::send
/args[4]->udp_dport == 53/
{
	/* behind the header of 12 bytes, each part of the name begins with its length; 0 ends the name */
	this->q = (uint8_t *)args[4]->udp_hdr + 8 + 12;
	this->text = stringof((char *)this->q);
	this->b = this->q[0] + 1;
	this->c = this->b + this->q[this->b] + 1;
	this->d = this->q[this->b] ? this->c + this->q[this->c] + 1 : this->c;
	this->e = this->q[this->b] && this->q[this->c] ? this->d + this->q[this->d] + 1 : this->d;
	this->name = substr(this->text, 1, this->b - 1);
	this->name = this->q[this->b] ? strjoin(strjoin(this->name, "."), substr(this->text, this->b + 1, this->q[this->b])) : this->name;
	this->name = this->c > this->b + 1 && this->q[this->c] ?
	    strjoin(strjoin(this->name, "."), substr(this->text, this->c + 1, this->q[this->c])) : this->name;
	this->name = this->d > this->c + 1 && this->q[this->d] ?
	    strjoin(strjoin(this->name, "."), substr(this->text, this->d + 1, this->q[this->d])) : this->name;
	this->name = this->e > this->d + 1 && this->q[this->e] ?
	    strjoin(strjoin(this->name, "."), substr(this->text, this->e + 1, this->q[this->e])) : this->name;
	began[args[4]->udp_sport] = timestamp;
	who[args[4]->udp_sport] = execname;
	asked[args[4]->udp_sport] = this->name;
	@open[execname, args[2]->ip_daddr, this->name] = sum(1);
}

udp:::receive
/args[4]->udp_sport == 53 && began[args[4]->udp_dport]/
{
	this->port = args[4]->udp_dport;
	this->us = (timestamp - began[this->port]) / 1000;
	printf("%s asked %s for %s: %d us\n", who[this->port], args[2]->ip_saddr, asked[this->port], this->us);
	@us[args[2]->ip_saddr] = quantize(this->us);
	@open[who[this->port], args[2]->ip_saddr, asked[this->port]] = sum(-1);
	began[this->port] = 0;
	who[this->port] = 0;
	asked[this->port] = 0;
}

END
{
	printa("answers of %s, us%@d\n", @us);
	printa("%s asked %s for %s: %@d not answered\n", @open);
}
