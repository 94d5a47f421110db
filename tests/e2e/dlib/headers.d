/* Headers of packets, made here byte by byte: ipinfo_t, ipv4info_t, ipv6info_t, tcpinfo_t, udpinfo_t (d-language.md 10.9). */
#pragma D option quiet

BEGIN
{
	this->ip = (struct iphdr *)alloca(64);
	this->b = (uint8_t *)this->ip;
	this->b[0] = 0x46;      /* version 4, 24 bytes */
	this->b[1] = 0x10;
	this->b[2] = 1;         /* 256 + 20 bytes */
	this->b[3] = 20;
	this->b[4] = 0x12;
	this->b[5] = 0x34;
	this->b[6] = 0x40;      /* DF, offset 3 * 8 */
	this->b[7] = 3;
	this->b[8] = 63;
	this->b[9] = 6;
	this->b[10] = 0xab;
	this->b[11] = 0xcd;
	this->b[12] = 10;
	this->b[15] = 1;
	this->b[16] = 192;
	this->b[17] = 168;
	this->b[19] = 2;
	this->i = xlate<ipinfo_t *>(this->ip);
	this->v4 = xlate<ipv4info_t *>(this->ip);
	printf("%d %d %s %s\n", this->i->ip_ver, this->i->ip_plength, this->i->ip_saddr, this->i->ip_daddr);
	printf("%d %d %x %d %x %d %d %d %d %s %x\n", this->v4->ipv4_ver, this->v4->ipv4_ihl, this->v4->ipv4_tos,
	    this->v4->ipv4_length, this->v4->ipv4_ident, this->v4->ipv4_flags, this->v4->ipv4_offset,
	    this->v4->ipv4_ttl, this->v4->ipv4_protocol, this->v4->ipv4_protostr, this->v4->ipv4_checksum);
	printf("%x %x %s %s %d\n", this->v4->ipv4_src, this->v4->ipv4_dst, this->v4->ipv4_saddr, this->v4->ipv4_daddr,
	    this->v4->ipv4_hdr == this->ip);
}

BEGIN
{
	this->v6 = (struct ipv6hdr *)alloca(40);
	this->w = (uint64_t *)this->v6;
	this->w[0] = this->w[1] = this->w[2] = this->w[3] = this->w[4] = 0;
	this->b = (uint8_t *)this->v6;
	this->b[0] = 0x6a;      /* version 6, class 0xa5, flow 0x54321 */
	this->b[1] = 0x55;
	this->b[2] = 0x43;
	this->b[3] = 0x21;
	this->b[4] = 2;
	this->b[6] = 58;
	this->b[7] = 64;
	this->b[8] = 0xfe;
	this->b[9] = 0x80;
	this->b[23] = 1;
	this->b[39] = 1;
	this->i = xlate<ipinfo_t *>((struct iphdr *)this->v6);
	printf("%d %d %s %s\n", this->i->ip_ver, this->i->ip_plength, this->i->ip_saddr, this->i->ip_daddr);
	this->x = xlate<ipv6info_t *>(this->v6);
	printf("%d %x %x %d %d %s %d %s %s %d\n", this->x->ipv6_ver, this->x->ipv6_tclass, this->x->ipv6_flow,
	    this->x->ipv6_plen, this->x->ipv6_nexthdr, this->x->ipv6_nextstr, this->x->ipv6_hlim, this->x->ipv6_saddr,
	    this->x->ipv6_daddr, this->x->ipv6_dst == &this->v6->daddr);
}

BEGIN
{
	this->skb = (struct sk_buff *)alloca(sizeof(struct sk_buff));
	this->h = (uint8_t *)alloca(64);
	this->w = (uint64_t *)this->h;
	this->w[0] = this->w[1] = this->w[2] = this->w[3] = this->w[4] = this->w[5] = this->w[6] = 0;
	this->h[14] = 0x45;
	this->h[17] = 40;
	this->h[26] = 127;
	this->h[29] = 1;
	this->h[34] = 0x30;     /* ports 12345 and 80 */
	this->h[35] = 0x39;
	this->h[37] = 80;
	this->h[41] = 7;
	this->h[45] = 9;
	this->h[46] = 0x50;
	this->h[47] = 0x12;
	this->h[48] = 0xff;
	this->h[51] = 0x11;
	this->h[53] = 0x22;
	this->skb->head = this->h;
	this->skb->network_header = 14;
	this->skb->transport_header = 34;
	this->n = xlate<ipinfo_t *>(this->skb);
	printf("%d %s %d\n", this->n->ip_plength, this->n->ip_saddr,
	    xlate<pktinfo_t *>(this->skb)->pkt_addr == (uintptr_t)this->skb);
	this->t = xlate<tcpinfo_t *>((struct tcphdr *)__skb_transport[this->skb]);
	printf("%d %d %d %d %d %d %x %x %x\n", this->t->tcp_sport, this->t->tcp_dport, this->t->tcp_seq, this->t->tcp_ack,
	    this->t->tcp_offset, this->t->tcp_flags == (TH_SYN | TH_ACK), this->t->tcp_window, this->t->tcp_checksum,
	    this->t->tcp_urgent);
	this->u = xlate<udpinfo_t *>((struct udphdr *)(this->h + 34));
	printf("%d %d %d %d\n", this->u->udp_sport, this->u->udp_dport, this->u->udp_length, this->u->udp_checksum);
}

/* what is not there: zeros, and words that say so */
BEGIN
{
	this->no4 = xlate<ipv4info_t *>((struct iphdr *)NULL);
	this->no6 = xlate<ipv6info_t *>((struct ipv6hdr *)NULL);
	this->noi = xlate<ipinfo_t *>((struct sk_buff *)NULL);
	this->noc = xlate<conninfo_t *>((struct sock *)NULL);
	printf("%d %s %s %d %s %d %s %s\n", this->no4->ipv4_length, this->no4->ipv4_protostr, this->no4->ipv4_saddr,
	    this->no6->ipv6_plen, this->no6->ipv6_daddr, this->noi->ip_ver, this->noi->ip_saddr, this->noc->ci_local);
	printf("%d %s\n", xlate<tcpsinfo_t *>((struct sock *)NULL)->tcps_mss,
	    xlate<ifinfo_t *>((struct net_device *)NULL)->if_name);
	printf("%s %s %s %d\n", tcp_state_string[TCP_STATE_FIN_WAIT_2], tcp_state_string[12], tcp_state_string[77],
	    xlate<tcplsinfo_t *>(TCP_STATE_CLOSING)->tcps_state);
	printf("%s %s\n", __ip_protocol[IPPROTO_UDP], __ip_protocol[200]);
	exit(0);
}
