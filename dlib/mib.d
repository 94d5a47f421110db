/* SPDX-License-Identifier: MIT */
/*
 * Provider mib: counters of the network, as they grow; args[0] is by how much. Linux adds them up where nobody can look:
 * those are here for which a tracepoint tells the same. Packets that are dropped are dropped for reasons, whose numbers
 * differ between versions, and whose names are in the kernel's types.
 */
#pragma D depends_on library tcp_probes.d

this struct iphdr *__ip;
this struct sock *__sk;
this int __is_in;
this uint16_t __packet_proto;
this struct tcphdr *__seg;
this int __at, __len, __acked;

this int __payload, __bits;
inline int __tcp_payload =
	(this->__payload =
		(this->__ip->version == 4 ? ntohs(this->__ip->tot_len) - this->__ip->ihl * 4 : ntohs(__ip6_header->payload_len)) -
		__tcp_header->doff * 4,
	 this->__payload);
inline int __seg_bits = (this->__bits = __tcp_bits, this->__bits);

/* the bytes of a segment; where it stands from what is expected next; what it acknowledges */
inline struct tcphdr *__seg_header[struct sk_buff *P] = (this->__seg = (struct tcphdr *)P->data, this->__seg);
inline int __seg_len[struct sk_buff *P] = (this->__len = (int)P->len - __seg_header[P]->doff * 4, this->__len);
inline int __seg_at[struct sock *S] =
	(this->__at = (int)(ntohl(this->__seg->seq) - __tcp[S]->rcv_nxt), this->__at);
inline int __seg_acked[struct sock *S, struct sk_buff *P] =
	(this->__acked = (int)(ntohl(__seg_header[P]->ack_seq) - __tcp[S]->snd_una), this->__acked);
inline int __seg_unsent[struct sock *S] = (int)(ntohl(this->__seg->ack_seq) - __tcp[S]->snd_nxt);

inline int __drop_proto[struct sk_buff *P] =
	(this->__ip = (struct iphdr *)((uintptr_t)P->head + P->network_header),
	 this->__ip->version == 4 ? this->__ip->protocol : __ip6_header->nexthdr);

/* the length of a packet: what its header says */
inline int __ip_len =
	this->__ip->version == 4 ? ntohs(this->__ip->tot_len) : ntohs(__ip6_header->payload_len) + sizeof(struct ipv6hdr);
/*
 * SOCK_RAW; a datagram socket (SOCK_DGRAM) of ICMP, as ping has where no privileges are needed, is of IPPROTO_ICMP or
 * IPPROTO_ICMPV6. The kernel has raw sockets itself, for its answers.
 */
inline int __is_raw_sock =
	this->__sk != NULL && !this->__sk->sk_kern_sock &&
	(this->__sk->sk_type == 3 || this->__sk->sk_type == 2 && (this->__sk->sk_protocol == 1 || this->__sk->sk_protocol == 58));

provider mib {
	/* ---- connections ---- */
	probe tcpActiveOpens(int n)
		= rawtp:::inet_sock_set_state /__is_tcp_sock[args[0]] && (args[1] == TCP_STATE_CLOSED && args[2] == TCP_STATE_SYN_SENT)/ (1);
	probe tcpPassiveOpens(int n)
		= rawtp:::inet_sock_set_state /__is_tcp_sock[args[0]] && (args[1] == TCP_STATE_LISTEN && args[2] == TCP_STATE_SYN_RECEIVED)/ (1);
	probe tcpAttemptFails(int n)
		= rawtp:::inet_sock_set_state /__is_tcp_sock[args[0]] && (args[1] == TCP_STATE_SYN_SENT && args[2] == TCP_STATE_CLOSED || args[1] == TCP_STATE_SYN_RECEIVED && args[2] == TCP_STATE_CLOSED || args[1] == TCP_STATE_SYN_RECEIVED && args[2] == TCP_STATE_LISTEN)/ (1);
	probe tcpEstabResets(int n)
		= rawtp:::inet_sock_set_state /__is_tcp_sock[args[0]] && (args[1] == TCP_STATE_ESTABLISHED && args[2] == TCP_STATE_CLOSED || args[1] == TCP_STATE_CLOSE_WAIT && args[2] == TCP_STATE_CLOSED)/ (1);

	/* ---- segments that are sent: what a device divides is one ---- */
	probe tcpOutSegs(int n)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]]/ (1);
	probe tcpOutDataSegs(int n)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]] && __tcp_payload > 0/ (1);
	probe tcpOutDataBytes(int n)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]] && __tcp_payload > 0/ (this->__payload);
	probe tcpOutAck(int n)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]] && __tcp_payload == 0 && (__seg_bits & (TH_SYN | TH_FIN | TH_RST | TH_ACK)) == TH_ACK/ (1);
	probe tcpOutControl(int n)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]] && __seg_bits & (TH_SYN | TH_FIN | TH_RST)/ (1);
	probe tcpOutUrg(int n)
		= rawtp:::net_dev_queue /__is_tcp_sent[args[0]] && __seg_bits & TH_URG/ (1);
	/* since Linux 6.10, which added the reason, the tracepoint has resets for which there is no socket, too */
	probe tcpOutRsts(int n)
		= rawtp:::tcp_send_reset /(int)args[2] >= 0/ (1)
		|| rawtp:::net_dev_queue /__is_tcp_sent[args[0]] && __seg_bits & TH_RST/ (1);
	probe tcpRetransSegs(int n)
		= rawtp:::tcp_retransmit_skb (1);
	probe tcpRetransBytes(int n)
		= rawtp:::tcp_retransmit_skb /args[1]->len > 0/ (args[1]->len);
	/* Linux include/net/tcp.h, enum tcp_ca_state: Recovery, Loss; the first SYNs are sent again by a timer, too */
	probe tcpOutFastRetrans(int n)
		= rawtp:::tcp_retransmit_skb /__icsk[(struct sock *)args[0]]->icsk_ca_state == 3/ (1);
	probe tcpTimRetrans(int n)
		= rawtp:::tcp_retransmit_skb /__icsk[(struct sock *)args[0]]->icsk_ca_state != 3/ (1);

	/* ---- segments that are received; from Data on, those of established connections, before they are processed ---- */
	probe tcpInSegs(int n)
		= rawtp:::netif_receive_skb /__is_tcp_received[args[0]]/ (1);
	probe tcpInDataInorderSegs(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] == 0/ (1);
	probe tcpInDataInorderBytes(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] == 0/ (this->__len);
	probe tcpInDataUnorderSegs(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] > 0/ (1);
	probe tcpInDataUnorderBytes(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] > 0/ (this->__len);
	probe tcpInDataDupSegs(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] + this->__len <= 0/ (1);
	probe tcpInDataDupBytes(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] + this->__len <= 0/ (this->__len);
	probe tcpInDataPartDupSegs(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] < 0 && this->__at + this->__len > 0/ (1);
	probe tcpInDataPartDupBytes(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] > 0 && __seg_at[args[0]] < 0 && this->__at + this->__len > 0/ (-this->__at);
	probe tcpInAckSegs(int n)
		= rawtp:::tcp_probe /__seg_acked[args[0], args[1]] > 0 && __seg_unsent[args[0]] <= 0/ (1);
	probe tcpInAckBytes(int n)
		= rawtp:::tcp_probe /__seg_acked[args[0], args[1]] > 0 && __seg_unsent[args[0]] <= 0/ (this->__acked);
	probe tcpInDupAck(int n)
		= rawtp:::tcp_probe /__seg_len[args[1]] == 0 && __seg_acked[args[0], args[1]] == 0/ (1);
	probe tcpInAckUnsent(int n)
		= rawtp:::tcp_probe /__seg_header[args[1]] != NULL && __seg_unsent[args[0]] > 0/ (1);
	probe tcpInErrs(int n)
		= rawtp:::tcp_bad_csum (1);

	/* of a full queue, Linux reports nothing when it drops a SYN */
	probe tcpListenDrop(int n)
		= "no tracepoint of Linux says that a queue of connections is full: nstat counts them, TcpExtListenOverflows";
	probe tcpListenDropQ0(int n)
		= "no tracepoint of Linux says that a queue of connections is full: nstat counts them, TcpExtListenDrops";
	probe tcpHalfOpenDrop(int n)
		= "no tracepoint of Linux says that a queue of connections is full: nstat counts them, TcpExtListenDrops";

	/* ---- datagrams ---- */
	probe udpOutDatagrams(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 17/ (1);
	probe udpOutErrors(int n)
		= "no tracepoint of Linux says that a datagram could not be sent: syscall::send*:return with errno";
	probe udpInDatagrams(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 17/ (1);
	probe udpNoPorts(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_NO_SOCKET && __drop_proto[args[0]] == 17/ (1);
	probe udpInCksumErrs(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_UDP_CSUM/ (1);
	probe udpInErrors(int n)
		= rawtp:::udp_fail_queue_rcv_skb (1);
	probe udpInOverflows(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_SOCKET_RCVBUFF && __drop_proto[args[0]] == 17/ (1);
	probe tcpInClosed(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_NO_SOCKET && __drop_proto[args[0]] == 6/ (1);

	/* ---- packets ---- */
	/* those whose headers turn out to be wrong are among them: what the device says of the packet decides */
	probe ipInReceives(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && this->__packet_proto == htons(0x800)/ (1);
	probe ipOutRequests(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && this->__ip->version == 4/ (1);
	probe ipv6InReceives(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && this->__packet_proto == htons(0x86dd)/ (1);
	probe ipv6OutRequests(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && this->__ip->version == 6/ (1);
	probe ipInHdrErrors(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_INHDR/ (1);
	probe ipInCksumErrs(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_CSUM/ (1);
	probe ipInAddrErrors(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_INADDRERRORS/ (1);
	probe ipInUnknownProtos(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_NOPROTO/ (1);
	probe ipOutNoRoutes(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_OUTNOROUTES/ (1);

	/* later names of counters of interfaces: bytes of packets with their headers; packets of queues that are full */
	probe ipIfStatsHCInOctets(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]]/ (__ip_len);
	probe ipIfStatsHCOutOctets(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]]/ (__ip_len);
	probe ipIfStatsInDiscards(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_CPU_BACKLOG && __is_ip_packet[args[0]]/ (1);
	probe ipIfStatsOutDiscards(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_QDISC_DROP && __is_ip_packet[args[0]]/ (1);
	probe ipIfStatsInHdrErrors(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_INHDR/ (1);
	probe ipIfStatsInAddrErrors(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_IP_INADDRERRORS/ (1);

	/* ---- packets that programs make themselves, with raw sockets and those of ping ---- */
	probe rawipOutDatagrams(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above != 6 && __is_raw_sock/ (1);
	probe rawipInDatagrams(int n)
		= "no tracepoint of Linux says that a raw socket gets a packet: ip:::receive has all packets, by protocol";
	probe rawipInErrors(int n)
		= "no tracepoint of Linux says that a raw socket gets a packet: ip:::receive has all packets, by protocol";
	probe rawipOutErrors(int n)
		= "no tracepoint of Linux says that a packet could not be sent: syscall::send*:return with errno";

	/* ---- ICMP ---- */
	probe icmpInMsgs(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1/ (1);
	probe icmpOutMsgs(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1/ (1);
	probe icmpInEchoReps(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 0/ (1);
	probe icmpOutEchoReps(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 0/ (1);
	probe icmpInDestUnreachs(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 3/ (1);
	probe icmpOutDestUnreachs(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 3/ (1);
	probe icmpInRedirects(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 5/ (1);
	probe icmpOutRedirects(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 5/ (1);
	probe icmpInEchos(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 8/ (1);
	probe icmpInTimeExcds(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 11/ (1);
	probe icmpOutTimeExcds(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 11/ (1);
	probe icmpInParmProbs(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 12/ (1);
	probe icmpOutParmProbs(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 12/ (1);
	probe icmpInTimestamps(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 13/ (1);
	probe icmpInTimestampReps(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 14/ (1);
	probe icmpOutTimestampReps(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 14/ (1);
	probe icmpInFragNeeded(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 3 && *(uint8_t *)(__above_ip + 1) == 4/ (1);
	probe icmpOutFragNeeded(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 3 && *(uint8_t *)(__above_ip + 1) == 4/ (1);
	probe icmpInSrcQuenchs(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 4/ (1);
	probe icmpInAddrMasks(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 17/ (1);
	probe icmpInAddrMaskReps(int n)
		= rawtp:::netif_receive_skb /__is_received[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 18/ (1);
	probe icmpOutAddrMaskReps(int n)
		= rawtp:::net_dev_queue /__is_sent[args[0]] && __ip_above == 1 && *(uint8_t *)__above_ip == 18/ (1);
	probe icmpInErrors(int n)
		= "no tracepoint of Linux says it: nstat counts such packets, IcmpInErrors";
	probe icmpOutErrors(int n)
		= "no tracepoint of Linux says it: nstat counts such packets, IcmpOutErrors";
	probe icmpInOverflows(int n)
		= "no tracepoint of Linux says it: nstat counts such packets, IcmpInErrors";
	probe icmpOutDrops(int n)
		= "no tracepoint of Linux says it: nstat counts such packets, IcmpOutRateLimitGlobal";
	probe icmpInUnknowns(int n)
		= "no tracepoint of Linux says it: nstat counts such packets, IcmpInErrors";
	probe icmpInBadRedirects(int n)
		= "no tracepoint of Linux says it: nstat counts such packets, IcmpInErrors";
	probe icmpInCksumErrs(int n)
		= rawtp:::kfree_skb /args[2] == SKB_DROP_REASON_ICMP_CSUM/ (1);
};

#pragma D attributes Evolving/Evolving/ISA provider mib provider
#pragma D attributes Private/Private/Unknown provider mib module
#pragma D attributes Private/Private/Unknown provider mib function
#pragma D attributes Evolving/Evolving/ISA provider mib name
#pragma D attributes Evolving/Evolving/ISA provider mib args
