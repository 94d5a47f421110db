/* SPDX-License-Identifier: MIT */
/*
 * Packets where the network stack hands them to devices and gets them from there (net_dev_queue, netif_receive_skb), for the
 * probes of ip, tcp and udp.
 *
 * A guard leaves what it has found in this-> variables, from which arguments are made: the header, the connection. A
 * device that is part of another one (a bridge's port, a member of a bond) passes on what the other one has: packets are
 * counted at the upper one. Where a header does not stand at the start of the memory of its packet, as some drivers do for
 * large ones, the kernel has moved it there before.
 */
#pragma D depends_on library ip.d

/* variables of clauses are declared in each file that reads them */
this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;

/*
 * What a guard needs several times is read once, into variables. Neighbours that begin alike share what they begin with, up to
 * where no value is on its way to another instruction: a variable in front of a comparison makes all before the comparison shared.
 */
this struct net_device *__netdev;
this struct in_device *__in4;
this struct in_ifaddr *__ifa;
this uint32_t __daddr;
this uint16_t __packet_proto;
this int __packet_type;
this int __family;
this int __above;

inline int __is_ip_packet[struct sk_buff *P] =
	(this->__packet_proto = P->protocol, this->__packet_proto == htons(0x800) || this->__packet_proto == htons(0x86dd));
inline struct ipv6hdr *__ip6_header = (struct ipv6hdr *)this->__ip;

inline int __is_inet_family[int F] = (this->__family = F, this->__family == AF_INET || this->__family == AF_INET6);

/*
 * sent by this machine, so that no device has brought it, on a device that is no part of another one, and without the tag of
 * a virtual network; not made as a whole by a program (AF_PACKET). What answers for no socket may have none.
 */
inline int __is_sent[struct sk_buff *P] =
	__is_ip_packet[P] && P->skb_iif == 0 &&
	(this->__sk = P->sk, this->__sk == NULL || __is_inet_family[this->__sk->__sk_common.skc_family]) &&
	P->dev->rx_handler == NULL && P->vlan_tci == 0 &&
	(this->__is_in = 0, this->__ip = (struct iphdr *)((uintptr_t)P->head + P->network_header), 1);

/*
 * Whether this machine forwards packets of a device, and which addresses the device has: what is for others comes
 * this way, too, when it does. Three addresses are looked at.
 */
inline int __is_ifa4 = this->__ifa->ifa_local == this->__daddr;
inline int __has_ifa4_next = (this->__ifa = this->__ifa->ifa_next, this->__ifa != NULL);
inline int __is_local4[struct net_device *D, uint32_t A] =
	(this->__in4 = D->ip_ptr, this->__in4 == NULL || this->__in4->cnf.data[0] == 0 ||
	 (this->__daddr = A, this->__ifa = this->__in4->ifa_list,
	  this->__ifa != NULL &&
	  (__is_ifa4 || __has_ifa4_next && (__is_ifa4 || __has_ifa4_next && __is_ifa4))));
inline int __is_local6[struct net_device *D] = D->ip6_ptr == NULL || D->ip6_ptr->cnf.forwarding == 0;

/* received for this machine (PACKET_HOST, PACKET_BROADCAST, PACKET_MULTICAST) */
inline int __is_received[struct sk_buff *P] =
	__is_ip_packet[P] && (this->__packet_type = P->pkt_type, this->__packet_type < 3) &&
	(this->__netdev = P->dev, this->__netdev->rx_handler == NULL) &&
	(this->__is_in = 1, this->__sk = (struct sock *)NULL, this->__ip = (struct iphdr *)P->data,
	 (this->__netdev->flags & 8) != 0 || this->__packet_type != 0 ||
	 (this->__packet_proto == htons(0x800) ? __is_local4[this->__netdev, this->__ip->daddr] : __is_local6[this->__netdev]));

/* the protocol above IP, where its header is there: -1 for all but the first fragment */
inline int __ip_above =
	(this->__above =
		this->__ip->version == 4 ? ((ntohs(this->__ip->frag_off) & 0x1fff) == 0 ? this->__ip->protocol : -1) :
		__ip6_header->nexthdr,
	 this->__above);
inline uintptr_t __above_ip =
	(uintptr_t)this->__ip + (this->__ip->version == 4 ? this->__ip->ihl * 4 : sizeof(struct ipv6hdr));

/* addresses of the packet, as this machine sees them */
inline string __ip_source = this->__ip->version == 4 ? inet_ntoa(&this->__ip->saddr) : __ip6_text[&__ip6_header->saddr];
inline string __ip_target = this->__ip->version == 4 ? inet_ntoa(&this->__ip->daddr) : __ip6_text[&__ip6_header->daddr];
inline string __packet_laddr = this->__is_in ? __ip_target : __ip_source;
inline string __packet_raddr = this->__is_in ? __ip_source : __ip_target;
