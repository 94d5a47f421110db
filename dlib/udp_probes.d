/* SPDX-License-Identifier: MIT */
/* Provider udp: datagrams that this machine sends and receives. */
#pragma D depends_on library packets.d
#pragma D depends_on library udp.d

this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;

/* a datagram, of which this->__ip is the header of IP */
struct __udp_packet {
	struct sk_buff *__no_member;
};
inline struct udphdr *__udp_header = (struct udphdr *)__above_ip;

translator udpsinfo_t <struct __udp_packet *P> {
	udps_addr = (uintptr_t)this->__sk;
	udps_lport = ntohs(this->__is_in ? __udp_header->dest : __udp_header->source);
	udps_rport = ntohs(this->__is_in ? __udp_header->source : __udp_header->dest);
	udps_laddr = __packet_laddr;
	udps_raddr = __packet_raddr;
};

provider udp {
	probe send(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __udp_packet *u, struct udphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, udpsinfo_t *u, udpinfo_t *d)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 17/
			(args[0], this->__sk, this->__ip, (struct __udp_packet *)args[0], __udp_header);

	probe receive(struct sk_buff *p, struct sock *s, struct iphdr *h, struct __udp_packet *u, struct udphdr *d)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, udpsinfo_t *u, udpinfo_t *d)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 17/
			(args[0], NULL, this->__ip, (struct __udp_packet *)args[0], __udp_header);
};

#pragma D attributes Evolving/Evolving/ISA provider udp provider
#pragma D attributes Private/Private/Unknown provider udp module
#pragma D attributes Private/Private/Unknown provider udp function
#pragma D attributes Evolving/Evolving/ISA provider udp name
#pragma D attributes Evolving/Evolving/ISA provider udp args
