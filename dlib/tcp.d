/* SPDX-License-Identifier: MIT */
/* TCP: tcpinfo_t of a header, tcpsinfo_t of a connection, states. */
#pragma D depends_on library net.d
#pragma D depends_on library machine.d

inline uint8_t TH_FIN = 0x01;
inline uint8_t TH_SYN = 0x02;
inline uint8_t TH_RST = 0x04;
inline uint8_t TH_PSH = 0x08;
inline uint8_t TH_PUSH = 0x08;
inline uint8_t TH_ACK = 0x10;
inline uint8_t TH_URG = 0x20;
inline uint8_t TH_ECE = 0x40;
inline uint8_t TH_CWR = 0x80;

/* as Linux counts them: include/net/tcp_states.h */
inline int TCP_STATE_IDLE = 0;
inline int TCP_STATE_ESTABLISHED = 1;
inline int TCP_STATE_SYN_SENT = 2;
inline int TCP_STATE_SYN_RECEIVED = 3;
inline int TCP_STATE_FIN_WAIT_1 = 4;
inline int TCP_STATE_FIN_WAIT_2 = 5;
inline int TCP_STATE_TIME_WAIT = 6;
inline int TCP_STATE_CLOSED = 7;
inline int TCP_STATE_CLOSE_WAIT = 8;
inline int TCP_STATE_LAST_ACK = 9;
inline int TCP_STATE_LISTEN = 10;
inline int TCP_STATE_CLOSING = 11;

inline string tcp_state_string[int S] =
	S == TCP_STATE_IDLE ? "state-idle" :
	S == TCP_STATE_ESTABLISHED ? "state-established" :
	S == TCP_STATE_SYN_SENT ? "state-syn-sent" :
	S == TCP_STATE_SYN_RECEIVED || S == 12 ? "state-syn-received" :
	S == TCP_STATE_FIN_WAIT_1 ? "state-fin-wait-1" :
	S == TCP_STATE_FIN_WAIT_2 ? "state-fin-wait-2" :
	S == TCP_STATE_TIME_WAIT ? "state-time-wait" :
	S == TCP_STATE_CLOSED ? "state-closed" :
	S == TCP_STATE_CLOSE_WAIT ? "state-close-wait" :
	S == TCP_STATE_LAST_ACK ? "state-last-ack" :
	S == TCP_STATE_LISTEN ? "state-listen" :
	S == TCP_STATE_CLOSING ? "state-closing" : "<unknown>";

typedef struct tcpinfo {
	uint16_t tcp_sport;
	uint16_t tcp_dport;
	uint32_t tcp_seq;
	uint32_t tcp_ack;
	uint8_t tcp_offset;   /* of the data, in bytes */
	uint8_t tcp_flags;    /* TH_* */
	uint16_t tcp_window;
	uint16_t tcp_checksum;
	uint16_t tcp_urgent;
	struct tcphdr *tcp_hdr;
} tcpinfo_t;

translator tcpinfo_t <struct tcphdr *H> {
	tcp_sport = H == NULL ? 0 : ntohs(H->source);
	tcp_dport = H == NULL ? 0 : ntohs(H->dest);
	tcp_seq = H == NULL ? 0 : ntohl(H->seq);
	tcp_ack = H == NULL ? 0 : ntohl(H->ack_seq);
	tcp_offset = H == NULL ? 0 : H->doff * 4;
	tcp_flags = H == NULL ? 0 : *((uint8_t *)H + 13); /* RFC 9293, 3.1 */
	tcp_window = H == NULL ? 0 : ntohs(H->window);
	tcp_checksum = H == NULL ? 0 : ntohs(H->check);
	tcp_urgent = H == NULL ? 0 : ntohs(H->urg_ptr);
	tcp_hdr = H;
};

typedef struct tcpsinfo {
	uintptr_t tcps_addr;        /* struct sock */
	int tcps_local;             /* both ends are on this machine */
	int tcps_active;            /* the kernel does not keep it: 0 */
	uint16_t tcps_lport;
	uint16_t tcps_rport;
	string tcps_laddr;
	string tcps_raddr;
	int32_t tcps_state;         /* TCP_STATE_* */
	uint32_t tcps_iss;          /* first sequence numbers: not kept either, 0 */
	uint32_t tcps_irs;
	uint32_t tcps_suna;         /* oldest not acknowledged */
	uint32_t tcps_snxt;         /* next to be sent */
	uint32_t tcps_rack;
	uint32_t tcps_rnxt;         /* next expected */
	uint32_t tcps_swnd;
	int32_t tcps_snd_ws;        /* scaling of windows */
	uint32_t tcps_rwnd;
	int32_t tcps_rcv_ws;
	uint32_t tcps_cwnd;         /* bytes */
	uint32_t tcps_cwnd_ssthresh;
	uint32_t tcps_sack_fack;
	uint32_t tcps_sack_snxt;
	uint32_t tcps_rto;          /* ms */
	uint32_t tcps_mss;
	int tcps_retransmit;        /* sends again what was lost */
	uint32_t tcps_rtt;          /* us */
	uint32_t tcps_rtt_sd;       /* us */
} tcpsinfo_t;

/* Connections that wait (TIME_WAIT, NEW_SYN_RECV) are small objects with the common part only. */
inline int __tcp_is_full[struct sock *S] =
	S != NULL && S->__sk_common.skc_state != 6 && S->__sk_common.skc_state != 12;
inline struct tcp_sock *__tcp[struct sock *S] = (struct tcp_sock *)S;
inline struct inet_connection_sock *__icsk[struct sock *S] = (struct inet_connection_sock *)S;

translator tcpsinfo_t <struct sock *S> {
	tcps_addr = (uintptr_t)S;
	tcps_local = S == NULL ? 0 : __sock_laddr[S] == __sock_raddr[S];
	tcps_active = 0;
	tcps_lport = S == NULL ? 0 : __sock_lport[S];
	tcps_rport = S == NULL ? 0 : __sock_rport[S];
	tcps_laddr = S == NULL ? "<unknown>" : __sock_laddr[S];
	tcps_raddr = S == NULL ? "<unknown>" : __sock_raddr[S];
	tcps_state = S == NULL ? 0 : S->__sk_common.skc_state;
	tcps_iss = 0;
	tcps_irs = 0;
	tcps_suna = __tcp_is_full[S] ? __tcp[S]->snd_una : 0;
	tcps_snxt = __tcp_is_full[S] ? __tcp[S]->snd_nxt : 0;
	tcps_rack = __tcp_is_full[S] ? __tcp[S]->rcv_nxt : 0;
	tcps_rnxt = __tcp_is_full[S] ? __tcp[S]->rcv_nxt : 0;
	tcps_swnd = __tcp_is_full[S] ? __tcp[S]->snd_wnd : 0;
	tcps_snd_ws = __tcp_is_full[S] ? __tcp[S]->rx_opt.snd_wscale : 0;
	tcps_rwnd = __tcp_is_full[S] ? __tcp[S]->rcv_wnd : 0;
	tcps_rcv_ws = __tcp_is_full[S] ? __tcp[S]->rx_opt.rcv_wscale : 0;
	tcps_cwnd = __tcp_is_full[S] ? __tcp[S]->snd_cwnd * __tcp[S]->mss_cache : 0;
	tcps_cwnd_ssthresh = __tcp_is_full[S] ? __tcp[S]->snd_ssthresh * __tcp[S]->mss_cache : 0;
	tcps_sack_fack = __tcp_is_full[S] ? __tcp[S]->snd_una : 0;
	tcps_sack_snxt = __tcp_is_full[S] ? __tcp[S]->snd_nxt : 0;
	tcps_rto = __tcp_is_full[S] ? __icsk[S]->icsk_rto * __tick / 1000000 : 0;
	tcps_mss = __tcp_is_full[S] ? __tcp[S]->mss_cache : 0;
	tcps_retransmit = __tcp_is_full[S] ? __icsk[S]->icsk_retransmits != 0 : 0;
	tcps_rtt = __tcp_is_full[S] ? __tcp[S]->srtt_us >> 3 : 0;
	tcps_rtt_sd = __tcp_is_full[S] ? __tcp[S]->mdev_us >> 2 : 0;
};

typedef struct tcplsinfo {
	int32_t tcps_state;         /* the one before */
} tcplsinfo_t;

translator tcplsinfo_t <int I> {
	tcps_state = I;
};
