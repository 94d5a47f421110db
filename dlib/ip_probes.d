/* SPDX-License-Identifier: MIT */
/* Provider ip: packets that this machine sends and receives; those that it forwards are not among them. */
#pragma D depends_on library packets.d

this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;

provider ip {
	probe send(struct sk_buff *p, struct sock *s, struct iphdr *h, struct net_device *d, struct iphdr *h4, struct ipv6hdr *h6)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, ifinfo_t *d, ipv4info_t *h4, ipv6info_t *h6)
		= rawtp:::net_dev_queue /__is_sent[args[0]]/
			(args[0], this->__sk, this->__ip, args[0]->dev, this->__ip->version == 4 ? this->__ip : NULL,
			 this->__ip->version == 4 ? NULL : __ip6_header);

	probe receive(struct sk_buff *p, struct sock *s, struct iphdr *h, struct net_device *d, struct iphdr *h4, struct ipv6hdr *h6)
		: (pktinfo_t *p, csinfo_t *s, ipinfo_t *h, ifinfo_t *d, ipv4info_t *h4, ipv6info_t *h6)
		= rawtp:::netif_receive_skb /__is_received[args[0]]/
			(args[0], NULL, this->__ip, args[0]->dev, this->__ip->version == 4 ? this->__ip : NULL,
			 this->__ip->version == 4 ? NULL : __ip6_header);
};

#pragma D attributes Evolving/Evolving/ISA provider ip provider
#pragma D attributes Private/Private/Unknown provider ip module
#pragma D attributes Private/Private/Unknown provider ip function
#pragma D attributes Evolving/Evolving/ISA provider ip name
#pragma D attributes Evolving/Evolving/ISA provider ip args
