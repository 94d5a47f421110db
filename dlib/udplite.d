/* SPDX-License-Identifier: MIT */
/* Provider udplite: datagrams of UDP-Lite (RFC 3828) that this machine sends and receives. Where UDP has a length, they say how much the checksum covers. */
#pragma D depends_on library packets.d

this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;

typedef struct udpliteinfo {
	uint16_t udplite_sport;
	uint16_t udplite_dport;
	uint16_t udplite_coverage;  /* bytes from the header on; 0 is all of them */
	uint16_t udplite_checksum;
	struct udphdr *udplite_hdr;
} udpliteinfo_t;

translator udpliteinfo_t <struct udphdr *H> {
	udplite_sport = H == NULL ? 0 : ntohs(H->source);
	udplite_dport = H == NULL ? 0 : ntohs(H->dest);
	udplite_coverage = H == NULL ? 0 : ntohs(H->len);
	udplite_checksum = H == NULL ? 0 : ntohs(H->check);
	udplite_hdr = H;
};

typedef struct udplitesinfo {
	uintptr_t udplites_addr;  /* struct sock */
	uint16_t udplites_lport;
	uint16_t udplites_rport;
	string udplites_laddr;
	string udplites_raddr;
} udplitesinfo_t;

/* a datagram, of which this->__ip is the header of IP */
struct __udplite_packet {
	struct sk_buff *__no_member;
};
inline struct udphdr *__udplite_header = (struct udphdr *)__above_ip;

translator udplitesinfo_t <struct __udplite_packet *P> {
	udplites_addr = (uintptr_t)this->__sk;
	udplites_lport = ntohs(this->__is_in ? __udplite_header->dest : __udplite_header->source);
	udplites_rport = ntohs(this->__is_in ? __udplite_header->source : __udplite_header->dest);
	udplites_laddr = __packet_laddr;
	udplites_raddr = __packet_raddr;
};

provider udplite {
	probe send(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __udplite_packet *u, struct udphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, udplitesinfo_t *u, udpliteinfo_t *d)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 136/
			(args[0], this->__sk, this->__ip, (struct __udplite_packet *)args[0], __udplite_header);

	probe receive(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __udplite_packet *u, struct udphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, udplitesinfo_t *u, udpliteinfo_t *d)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 136/
			(args[0], NULL, this->__ip, (struct __udplite_packet *)args[0], __udplite_header);
};

#pragma D attributes Evolving/Evolving/ISA provider udplite provider
#pragma D attributes Private/Private/Unknown provider udplite module
#pragma D attributes Private/Private/Unknown provider udplite function
#pragma D attributes Evolving/Evolving/ISA provider udplite name
#pragma D attributes Evolving/Evolving/ISA provider udplite args
