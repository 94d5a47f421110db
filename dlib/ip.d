/* SPDX-License-Identifier: MIT */
/* IP: ipinfo_t, ipv4info_t, ipv6info_t, from headers of packets. Numbers in host order but src and dst. */
#pragma D depends_on library net.d

inline int IPH_DF = 2;
inline int IPH_MF = 1;

typedef struct ipinfo {
	uint8_t ip_ver;
	uint32_t ip_plength;  /* bytes behind the header */
	string ip_saddr;
	string ip_daddr;
} ipinfo_t;

typedef struct ipv4info {
	uint8_t ipv4_ver;
	uint8_t ipv4_ihl;     /* length of the header in bytes */
	uint8_t ipv4_tos;
	uint16_t ipv4_length; /* of the packet with its header */
	uint16_t ipv4_ident;
	uint8_t ipv4_flags;   /* IPH_* */
	uint16_t ipv4_offset; /* of a fragment, in bytes */
	uint8_t ipv4_ttl;
	uint8_t ipv4_protocol;
	string ipv4_protostr;
	uint16_t ipv4_checksum;
	ipaddr_t ipv4_src;
	ipaddr_t ipv4_dst;
	string ipv4_saddr;
	string ipv4_daddr;
	struct iphdr *ipv4_hdr;
} ipv4info_t;

typedef struct ipv6info {
	uint8_t ipv6_ver;
	uint8_t ipv6_tclass;
	uint32_t ipv6_flow;
	uint16_t ipv6_plen;   /* bytes behind the header */
	uint8_t ipv6_nexthdr;
	string ipv6_nextstr;
	uint8_t ipv6_hlim;
	in6_addr_t *ipv6_src;
	in6_addr_t *ipv6_dst;
	string ipv6_saddr;
	string ipv6_daddr;
	struct ipv6hdr *ipv6_hdr;
} ipv6info_t;

inline string __ip_protocol[int P] =
	P == 6 ? "TCP" : P == 17 ? "UDP" : P == 0 ? "IP" : P == 1 ? "ICMP" : P == 2 ? "IGMP" :
	P == 8 ? "EGP" : P == 41 ? "IPv6" : P == 43 ? "ROUTE" : P == 50 ? "ESP" : P == 51 ? "AH" :
	P == 58 ? "ICMPv6" : P == 89 ? "OSPF" : P == 132 ? "SCTP" : P == 255 ? "RAW" : lltostr(P);

inline int __is_ip4[struct iphdr *H] = H != NULL && H->version == 4;
inline int __is_ip6[struct iphdr *H] = H != NULL && H->version == 6;
inline struct ipv6hdr *__ip6_of[struct iphdr *H] = (struct ipv6hdr *)H;

/* from a header of either version */
translator ipinfo_t <struct iphdr *H> {
	ip_ver = H == NULL ? 0 : H->version;
	ip_plength = __is_ip4[H] ? ntohs(H->tot_len) - H->ihl * 4 :
		     __is_ip6[H] ? ntohs(__ip6_of[H]->payload_len) : 0;
	ip_saddr = __is_ip4[H] ? inet_ntoa(&H->saddr) :
		   __is_ip6[H] ? inet_ntoa6(&__ip6_of[H]->saddr) : "<unknown>";
	ip_daddr = __is_ip4[H] ? inet_ntoa(&H->daddr) :
		   __is_ip6[H] ? inet_ntoa6(&__ip6_of[H]->daddr) : "<unknown>";
};

inline struct iphdr *__skb_ip[struct sk_buff *P] = (struct iphdr *)__skb_network[P];

translator ipinfo_t <struct sk_buff *P> {
	ip_ver = xlate<ipinfo_t>(__skb_ip[P]).ip_ver;
	ip_plength = xlate<ipinfo_t>(__skb_ip[P]).ip_plength;
	ip_saddr = xlate<ipinfo_t>(__skb_ip[P]).ip_saddr;
	ip_daddr = xlate<ipinfo_t>(__skb_ip[P]).ip_daddr;
};

translator ipv4info_t <struct iphdr *H> {
	ipv4_ver = H == NULL ? 0 : H->version;
	ipv4_ihl = H == NULL ? 0 : H->ihl * 4;
	ipv4_tos = H == NULL ? 0 : H->tos;
	ipv4_length = H == NULL ? 0 : ntohs(H->tot_len);
	ipv4_ident = H == NULL ? 0 : ntohs(H->id);
	ipv4_flags = H == NULL ? 0 : ntohs(H->frag_off) >> 13;
	ipv4_offset = H == NULL ? 0 : (ntohs(H->frag_off) & 0x1fff) * 8;
	ipv4_ttl = H == NULL ? 0 : H->ttl;
	ipv4_protocol = H == NULL ? 0 : H->protocol;
	ipv4_protostr = H == NULL ? "<null>" : __ip_protocol[H->protocol];
	ipv4_checksum = H == NULL ? 0 : ntohs(H->check);
	ipv4_src = H == NULL ? 0 : H->saddr;
	ipv4_dst = H == NULL ? 0 : H->daddr;
	ipv4_saddr = H == NULL ? "<null>" : inet_ntoa(&H->saddr);
	ipv4_daddr = H == NULL ? "<null>" : inet_ntoa(&H->daddr);
	ipv4_hdr = H;
};

/* the first word of an IPv6 header: version, traffic class, flow label */
inline uint32_t __ip6_word[struct ipv6hdr *H] = ntohl(*(uint32_t *)H);

translator ipv6info_t <struct ipv6hdr *H> {
	ipv6_ver = H == NULL ? 0 : H->version;
	ipv6_tclass = H == NULL ? 0 : __ip6_word[H] >> 20 & 0xff;
	ipv6_flow = H == NULL ? 0 : __ip6_word[H] & 0xfffff;
	ipv6_plen = H == NULL ? 0 : ntohs(H->payload_len);
	ipv6_nexthdr = H == NULL ? 0 : H->nexthdr;
	ipv6_nextstr = H == NULL ? "<null>" : __ip_protocol[H->nexthdr];
	ipv6_hlim = H == NULL ? 0 : H->hop_limit;
	ipv6_src = H == NULL ? NULL : &H->saddr;
	ipv6_dst = H == NULL ? NULL : &H->daddr;
	ipv6_saddr = H == NULL ? "<null>" : inet_ntoa6(&H->saddr);
	ipv6_daddr = H == NULL ? "<null>" : inet_ntoa6(&H->daddr);
	ipv6_hdr = H;
};
