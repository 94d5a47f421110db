/* SPDX-License-Identifier: MIT */
/*
 * Provider tcp: segments that this machine sends and receives, and what becomes of its connections.
 *
 * Segments are seen where devices get them and give them (packets.d): what a device divides or has put together is one
 * segment. A received one has no socket yet. Those of connections that were established under tracing are found again
 * through a table of sockets, in which a newer connection takes the place of an older one with the same hash.
 */
#pragma D depends_on library packets.d
#pragma D depends_on library tcp.d

this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;
this int __state;
this int __flags;
this uintptr_t __segment;

/* ---- sockets of received segments ---- */

uintptr_t __tcp_sockets[2048];

inline uint32_t __tcp_hash[uint32_t L, uint32_t R, uint32_t A] = ((L * 31 + R) * 31 + (A ^ A >> 16)) & 2047;
inline uint32_t __sock_peer[struct sock *S] =
	__sock_is_ip6[S] ? S->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3] : S->__sk_common.skc_daddr;
inline uint32_t __packet_peer =
	this->__ip->version == 4 ? this->__ip->saddr : __ip6_header->saddr.in6_u.u6_addr32[3];
inline int __tcp_note[struct sock *S] =
	(__tcp_sockets[__tcp_hash[__sock_lport[S], __sock_rport[S], __sock_peer[S]]] = (uintptr_t)S, 0);

inline struct tcphdr *__tcp_header = (struct tcphdr *)__above_ip;
inline int __tcp_bits = *((uint8_t *)__tcp_header + 13);

inline struct sock *__tcp_noted =
	(struct sock *)__tcp_sockets[__tcp_hash[ntohs(__tcp_header->dest), ntohs(__tcp_header->source), __packet_peer]];
inline struct sock *__tcp_receiver =
	(this->__sk = __tcp_noted,
	 this->__sk != NULL && __sock_lport[this->__sk] == ntohs(__tcp_header->dest) &&
	 __sock_rport[this->__sk] == ntohs(__tcp_header->source) && __sock_peer[this->__sk] == __packet_peer ?
	 this->__sk : (this->__sk = NULL, (struct sock *)NULL));

/* a reset without a connection is sent by a socket of the kernel, which is nobody's */
inline struct sock *__tcp_sender =
	this->__sk == NULL || this->__sk->__sk_common.skc_dport == 0 ? (this->__sk = NULL, (struct sock *)NULL) : this->__sk;

/* ---- a connection, at one of its segments: this->__sk may be NULL ---- */

struct __tcp_packet {
	struct sk_buff *__no_member;
};
inline int __tcp_now[struct sock *S] =
	S != NULL ? (S->__sk_common.skc_state == 12 ? TCP_STATE_SYN_RECEIVED : S->__sk_common.skc_state) :
	!this->__is_in ? TCP_STATE_CLOSED :
	(__tcp_bits & (TH_SYN | TH_ACK)) == TH_SYN ? TCP_STATE_LISTEN :
	(__tcp_bits & (TH_SYN | TH_ACK)) == (TH_SYN | TH_ACK) ? TCP_STATE_SYN_SENT : TCP_STATE_IDLE;

translator tcpsinfo_t <struct __tcp_packet *P> {
	tcps_addr = (this->__segment = (uintptr_t)P, (uintptr_t)this->__sk);
	tcps_local = __packet_laddr == __packet_raddr;
	tcps_active = 0;
	tcps_lport = ntohs(this->__is_in ? __tcp_header->dest : __tcp_header->source);
	tcps_rport = ntohs(this->__is_in ? __tcp_header->source : __tcp_header->dest);
	tcps_laddr = __packet_laddr;
	tcps_raddr = __packet_raddr;
	tcps_state = (this->__segment = (uintptr_t)P, __tcp_now[this->__sk]);
	tcps_iss = 0;
	tcps_irs = 0;
	tcps_suna = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_suna);
	tcps_snxt = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_snxt);
	tcps_rack = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rack);
	tcps_rnxt = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rnxt);
	tcps_swnd = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_swnd);
	tcps_snd_ws = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_snd_ws);
	tcps_rwnd = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rwnd);
	tcps_rcv_ws = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rcv_ws);
	tcps_cwnd = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_cwnd);
	tcps_cwnd_ssthresh = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_cwnd_ssthresh);
	tcps_sack_fack = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_sack_fack);
	tcps_sack_snxt = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_sack_snxt);
	tcps_rto = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rto);
	tcps_mss = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_mss);
	tcps_retransmit = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_retransmit);
	tcps_rtt = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rtt);
	tcps_rtt_sd = (this->__segment = (uintptr_t)P, xlate<tcpsinfo_t>(this->__sk).tcps_rtt_sd);
};

/*
 * ---- a connection, at a change of its state ----
 *
 * The kernel says it before the socket has the new state, this->__state. The segment that has caused it came from the
 * other end; what is known of it are addresses, ports and, by what happens, its flags, this->__flags.
 */
struct __tcp_event {
	struct sock *__no_member;
};
inline struct sock *__tcp_event_sock[struct __tcp_event *E] = (struct sock *)E;

translator csinfo_t <struct __tcp_event *E> {
	cs_addr = xlate<csinfo_t>(__tcp_event_sock[E]).cs_addr;
	cs_cid = xlate<csinfo_t>(__tcp_event_sock[E]).cs_cid;
	cs_pid = -1;
	cs_zoneid = 0;
	pid = -1;
};

translator ipinfo_t <struct __tcp_event *E> {
	ip_ver = __sock_is_ip6[__tcp_event_sock[E]] && !__is_mapped[&__tcp_event_sock[E]->__sk_common.skc_v6_daddr] ? 6 : 4;
	ip_plength = 20;
	ip_saddr = __sock_raddr[__tcp_event_sock[E]];
	ip_daddr = __sock_laddr[__tcp_event_sock[E]];
};

translator tcpinfo_t <struct __tcp_event *E> {
	tcp_sport = __sock_rport[__tcp_event_sock[E]];
	tcp_dport = __sock_lport[__tcp_event_sock[E]];
	tcp_seq = __tcp[__tcp_event_sock[E]]->rcv_nxt;
	tcp_ack = __tcp[__tcp_event_sock[E]]->snd_una;
	tcp_offset = 20;
	tcp_flags = (this->__segment = (uintptr_t)E, this->__flags);
	tcp_window = 0;
	tcp_checksum = 0;
	tcp_urgent = 0;
	tcp_hdr = NULL;
};

translator tcpsinfo_t <struct __tcp_event *E> {
	tcps_addr = (uintptr_t)__tcp_event_sock[E];
	tcps_local = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_local;
	tcps_active = 0;
	/* of a socket that is closed, what it was bound to */
	tcps_lport = ntohs(((struct inet_sock *)E)->inet_sport);
	tcps_rport = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rport;
	tcps_laddr = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_laddr;
	tcps_raddr = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_raddr;
	tcps_state = (this->__segment = (uintptr_t)E, this->__state);
	tcps_iss = 0;
	tcps_irs = 0;
	tcps_suna = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_suna;
	tcps_snxt = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_snxt;
	tcps_rack = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rack;
	tcps_rnxt = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rnxt;
	tcps_swnd = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_swnd;
	tcps_snd_ws = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_snd_ws;
	tcps_rwnd = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rwnd;
	tcps_rcv_ws = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rcv_ws;
	tcps_cwnd = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_cwnd;
	tcps_cwnd_ssthresh = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_cwnd_ssthresh;
	tcps_sack_fack = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_sack_fack;
	tcps_sack_snxt = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_sack_snxt;
	tcps_rto = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rto;
	tcps_mss = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_mss;
	tcps_retransmit = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_retransmit;
	tcps_rtt = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rtt;
	tcps_rtt_sd = xlate<tcpsinfo_t>(__tcp_event_sock[E]).tcps_rtt_sd;
};

inline int __is_tcp_sock[struct sock *S] = S->sk_protocol == 6;
inline int __is_tcp_sent[struct sk_buff *P] = __is_sent[P] && __ip_above == 6;
inline int __is_tcp_received[struct sk_buff *P] = __is_received[P] && __ip_above == 6;

/* ---- the probes ---- */

provider tcp {
	probe send(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __tcp_packet *t, struct tcphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, tcpsinfo_t *t, tcpinfo_t *d)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]]/
			(args[0], __tcp_sender, this->__ip, ((this->__sk = __tcp_sender), (struct __tcp_packet *)args[0]), __tcp_header);

	probe receive(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __tcp_packet *t, struct tcphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, tcpsinfo_t *t, tcpinfo_t *d)
		= rawtp:::netif_receive_skb /__is_tcp_received[args[0]]/
			(args[0], __tcp_receiver, this->__ip, ((this->__sk = __tcp_receiver), (struct __tcp_packet *)args[0]),
			 __tcp_header),
		  rawtp:::inet_sock_set_state
			/args[2] == TCP_STATE_ESTABLISHED && __is_tcp_sock[args[0]] && __tcp_note[(struct sock *)args[0]]/
			(NULL, NULL, NULL, NULL, NULL);

	/* the first SYN, not one that is sent again */
	probe connect__request(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __tcp_packet *t, struct tcphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, tcpsinfo_t *t, tcpinfo_t *d)
		= rawtp:::net_dev_queue
			/__is_tcp_sent[args[0]] && (__tcp_bits & (TH_SYN | TH_ACK)) == TH_SYN && __tcp_is_full[this->__sk] &&
				__icsk[this->__sk]->icsk_retransmits == 0/
			(args[0], this->__sk, this->__ip, (struct __tcp_packet *)args[0], __tcp_header);

	probe connect__established(struct sk_buff *p, struct __tcp_event *e) : (pktinfo_t *p, csinfo_t *e, ipinfo_t *e, tcpsinfo_t *e, tcpinfo_t *e)
		= rawtp:::inet_sock_set_state
			/args[1] == TCP_STATE_SYN_SENT && args[2] == TCP_STATE_ESTABLISHED && __is_tcp_sock[args[0]]/
			(NULL, (this->__state = args[2], this->__flags = TH_SYN | TH_ACK, (struct __tcp_event *)args[0]));

	probe connect__refused(struct sk_buff *p, struct __tcp_event *e) : (pktinfo_t *p, csinfo_t *e, ipinfo_t *e, tcpsinfo_t *e, tcpinfo_t *e)
		= rawtp:::tcp_receive_reset /args[0]->__sk_common.skc_state == TCP_STATE_SYN_SENT/
			(NULL, (this->__state = TCP_STATE_CLOSED, this->__flags = TH_RST | TH_ACK, (struct __tcp_event *)args[0]));

	probe accept__established(struct sk_buff *p, struct __tcp_event *e) : (pktinfo_t *p, csinfo_t *e, ipinfo_t *e, tcpsinfo_t *e, tcpinfo_t *e)
		= rawtp:::inet_sock_set_state
			/args[1] == TCP_STATE_SYN_RECEIVED && args[2] == TCP_STATE_ESTABLISHED && __is_tcp_sock[args[0]]/
			(NULL, (this->__state = args[2], this->__flags = TH_ACK, (struct __tcp_event *)args[0]));

	/* the reset that answers a SYN is the only one with the number 0 */
	probe accept__refused(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __tcp_packet *t, struct tcphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, tcpsinfo_t *t, tcpinfo_t *d)
		= rawtp:::net_dev_queue
			/__is_tcp_sent[args[0]] && (__tcp_bits & (TH_RST | TH_ACK)) == (TH_RST | TH_ACK) && __tcp_header->seq == 0/
			(args[0], __tcp_sender, this->__ip, ((this->__sk = __tcp_sender), (struct __tcp_packet *)args[0]), __tcp_header);

	probe state__change(void *n, struct __tcp_event *e, int last) : (void *n, csinfo_t *e, void *n, tcpsinfo_t *e, void *n, tcplsinfo_t *last)
		= rawtp:::inet_sock_set_state /__is_tcp_sock[args[0]]/
			(NULL, (this->__state = args[2], (struct __tcp_event *)args[0]), args[1]);
};

#pragma D attributes Evolving/Evolving/ISA provider tcp provider
#pragma D attributes Private/Private/Unknown provider tcp module
#pragma D attributes Private/Private/Unknown provider tcp function
#pragma D attributes Evolving/Evolving/ISA provider tcp name
#pragma D attributes Evolving/Evolving/ISA provider tcp args
