/* SPDX-License-Identifier: MIT */
/*
 * Provider sctp: packets of SCTP that this machine sends and receives, whether the kernel's module or a program with a raw
 * socket makes them.
 */
#pragma D depends_on library packets.d

this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;

/* RFC 9260 3.1: the common header; the kernel's type is the module's */
struct __sctp_header {
	uint16_t source;
	uint16_t dest;
	uint32_t vtag;
	uint32_t checksum;
};

typedef struct sctpinfo {
	uint16_t sctp_sport;
	uint16_t sctp_dport;
	uint32_t sctp_verify;  /* the association's tag at the receiver */
	uint32_t sctp_checksum;
	uintptr_t sctp_hdr;
} sctpinfo_t;

translator sctpinfo_t <struct __sctp_header *H> {
	sctp_sport = ntohs(H->source);
	sctp_dport = ntohs(H->dest);
	sctp_verify = ntohl(H->vtag);
	sctp_checksum = ntohl(H->checksum);
	sctp_hdr = (uintptr_t)H;
};

typedef struct sctpsinfo {
	uintptr_t sctps_addr;  /* struct sock */
	uint16_t sctps_lport;
	uint16_t sctps_rport;
	string sctps_laddr;    /* of the packet: an association may have more addresses */
	string sctps_raddr;
} sctpsinfo_t;

/* a packet, of which this->__ip is the header of IP */
struct __sctp_packet {
	struct sk_buff *__no_member;
};
inline struct __sctp_header *__sctp_start = (struct __sctp_header *)__above_ip;

translator sctpsinfo_t <struct __sctp_packet *P> {
	sctps_addr = (uintptr_t)this->__sk;
	sctps_lport = ntohs(this->__is_in ? __sctp_start->dest : __sctp_start->source);
	sctps_rport = ntohs(this->__is_in ? __sctp_start->source : __sctp_start->dest);
	sctps_laddr = __packet_laddr;
	sctps_raddr = __packet_raddr;
};

provider sctp {
	probe send(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __sctp_packet *u, struct __sctp_header *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, sctpsinfo_t *u, sctpinfo_t *d)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 132/
			(args[0], this->__sk, this->__ip, (struct __sctp_packet *)args[0], __sctp_start);

	probe receive(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __sctp_packet *u, struct __sctp_header *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, sctpsinfo_t *u, sctpinfo_t *d)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 132/
			(args[0], NULL, this->__ip, (struct __sctp_packet *)args[0], __sctp_start);

	probe state__change(void *p)
		= "no tracepoint says that an association changes its state: sctp:::send and sctp:::receive have its packets";
};

#pragma D attributes Evolving/Evolving/ISA provider sctp provider
#pragma D attributes Private/Private/Unknown provider sctp module
#pragma D attributes Private/Private/Unknown provider sctp function
#pragma D attributes Evolving/Evolving/ISA provider sctp name
#pragma D attributes Evolving/Evolving/ISA provider sctp args
