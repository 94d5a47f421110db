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

inline int __is_ip4_packet[struct sk_buff *P] = P->protocol == htons(0x800);
inline int __is_ip_packet[struct sk_buff *P] = P->protocol == htons(0x800) || P->protocol == htons(0x86dd);
inline struct ipv6hdr *__ip6_header = (struct ipv6hdr *)this->__ip;

inline int __is_inet_family[int F] = F == AF_INET || F == AF_INET6;

/*
 * sent by this machine, so that no device has brought it, on a device that is no part of another one, and without the tag of
 * a virtual network; not made as a whole by a program (AF_PACKET). What answers for no socket may have none.
 */
inline int __is_sent[struct sk_buff *P] =
	__is_ip_packet[P] && P->skb_iif == 0 && (P->sk == NULL || __is_inet_family[P->sk->__sk_common.skc_family]) &&
	P->dev->rx_handler == NULL && P->vlan_tci == 0 &&
	(this->__is_in = 0, this->__sk = P->sk, this->__ip = (struct iphdr *)((uintptr_t)P->head + P->network_header), 1);

/*
 * Whether this machine forwards packets of a device, and which addresses the device has: what is for others comes
 * this way, too, when it does. Three addresses are looked at.
 */
inline struct in_ifaddr *__ifa4_next[struct in_ifaddr *I] = I == NULL ? NULL : I->ifa_next;
inline int __is_ifa4[struct in_ifaddr *I, uint32_t A] = I != NULL && I->ifa_local == A;
inline int __is_local4[struct net_device *D, uint32_t A] =
	D->ip_ptr == NULL || D->ip_ptr->cnf.data[0] == 0 || __is_ifa4[D->ip_ptr->ifa_list, A] ||
	__is_ifa4[__ifa4_next[D->ip_ptr->ifa_list], A] ||
	__is_ifa4[__ifa4_next[__ifa4_next[D->ip_ptr->ifa_list]], A];
inline int __is_local6[struct net_device *D] = D->ip6_ptr == NULL || D->ip6_ptr->cnf.forwarding == 0;

/* received for this machine (PACKET_HOST, PACKET_BROADCAST, PACKET_MULTICAST) */
inline int __is_received[struct sk_buff *P] =
	__is_ip_packet[P] && P->pkt_type < 3 && P->dev->rx_handler == NULL &&
	(this->__is_in = 1, this->__sk = (struct sock *)NULL, this->__ip = (struct iphdr *)P->data,
	 (P->dev->flags & 8) != 0 || P->pkt_type != 0 ||
	 (__is_ip4_packet[P] ? __is_local4[P->dev, this->__ip->daddr] : __is_local6[P->dev]));

/* the protocol above IP, where its header is there: -1 for all but the first fragment */
inline int __ip_above =
	this->__ip->version == 4 ? ((ntohs(this->__ip->frag_off) & 0x1fff) == 0 ? this->__ip->protocol : -1) :
	__ip6_header->nexthdr;
inline uintptr_t __above_ip =
	(uintptr_t)this->__ip + (this->__ip->version == 4 ? this->__ip->ihl * 4 : sizeof(struct ipv6hdr));

/* addresses of the packet, as this machine sees them */
inline string __ip_source = this->__ip->version == 4 ? inet_ntoa(&this->__ip->saddr) : __ip6_text[&__ip6_header->saddr];
inline string __ip_target = this->__ip->version == 4 ? inet_ntoa(&this->__ip->daddr) : __ip6_text[&__ip6_header->daddr];
inline string __packet_laddr = this->__is_in ? __ip_target : __ip_source;
inline string __packet_raddr = this->__is_in ? __ip_source : __ip_target;
