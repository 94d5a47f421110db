/* SPDX-License-Identifier: MIT */
/* What network probes have in common: pktinfo_t, csinfo_t, conninfo_t, ifinfo_t, addresses as text. */
#pragma D depends_on library socket.d

inline int NET_PROBE_OUTBOUND = 0;
inline int NET_PROBE_INBOUND = 1;

typedef uint32_t ipaddr_t;
typedef struct in6_addr in6_addr_t;
typedef uint32_t netstackid_t;
typedef id_t zoneid_t;

/* ---- addresses: a mapped IPv4 address is shown as IPv4 ---- */

inline int __is_mapped[struct in6_addr *A] =
	A->in6_u.u6_addr32[0] == 0 && A->in6_u.u6_addr32[1] == 0 && ntohl(A->in6_u.u6_addr32[2]) == 0xffff;
inline string __ip6_text[struct in6_addr *A] =
	__is_mapped[A] ? inet_ntoa(&A->in6_u.u6_addr32[3]) : inet_ntoa6(A);

inline int __sock_is_ip6[struct sock *S] = S->__sk_common.skc_family == AF_INET6;
inline string __sock_laddr[struct sock *S] =
	__sock_is_ip6[S] ? __ip6_text[&S->__sk_common.skc_v6_rcv_saddr] :
	inet_ntoa(&S->__sk_common.skc_rcv_saddr);
inline string __sock_raddr[struct sock *S] =
	__sock_is_ip6[S] ? __ip6_text[&S->__sk_common.skc_v6_daddr] : inet_ntoa(&S->__sk_common.skc_daddr);
inline uint16_t __sock_lport[struct sock *S] = S->__sk_common.skc_num;
inline uint16_t __sock_rport[struct sock *S] = ntohs(S->__sk_common.skc_dport);

/* the socket behind an open file, or NULL: file_operations of sockets are not to be had by name */
inline struct sock *__file_sock[struct file *F] =
	F == NULL || stringof(F->f_inode->i_sb->s_type->name) != "sockfs" ? NULL :
	((struct socket *)F->private_data)->sk;

/* ---- packets ---- */

typedef struct pktinfo {
	uintptr_t pkt_addr;  /* struct sk_buff */
} pktinfo_t;

translator pktinfo_t <struct sk_buff *P> {
	pkt_addr = (uintptr_t)P;
};

inline uintptr_t __skb_network[struct sk_buff *P] =
	P == NULL ? 0 : (uintptr_t)P->head + P->network_header;
inline uintptr_t __skb_transport[struct sk_buff *P] =
	P == NULL || P->transport_header == 0xffff ? 0 : (uintptr_t)P->head + P->transport_header;

/* ---- connections ---- */

typedef struct csinfo {
	uintptr_t cs_addr;   /* struct sock */
	uint64_t cs_cid;     /* the socket's cookie, or its address while it has none */
	pid_t cs_pid;        /* the kernel does not keep it: -1 */
	zoneid_t cs_zoneid;
	pid_t pid;           /* cs_pid under another name that scripts use */
} csinfo_t;

translator csinfo_t <struct sock *S> {
	cs_addr = (uintptr_t)S;
	cs_cid = S == NULL ? 0 :
		 S->__sk_common.skc_cookie.counter != 0 ? S->__sk_common.skc_cookie.counter : (uint64_t)S;
	cs_pid = -1;
	cs_zoneid = 0;
	pid = -1;
};

typedef struct conninfo {
	string ci_local;
	string ci_remote;
	string ci_protocol;  /* ipv4, ipv6 */
} conninfo_t;

translator conninfo_t <struct sock *S> {
	ci_local = S == NULL ? "<unknown>" : __sock_laddr[S];
	ci_remote = S == NULL ? "<unknown>" : __sock_raddr[S];
	ci_protocol = S == NULL ? "<unknown>" :
		      S->__sk_common.skc_family == AF_INET ? "ipv4" :
		      __sock_is_ip6[S] ? "ipv6" : "<unknown>";
};

/* ---- interfaces ---- */

typedef struct ifinfo {
	string if_name;
	int8_t if_local;         /* 1: the loopback interface */
	netstackid_t if_ipstack; /* number of the network namespace */
	uintptr_t if_addr;       /* struct net_device */
	uint32_t if_flags;       /* IFF_* */
} ifinfo_t;

translator ifinfo_t <struct net_device *D> {
	if_name = D == NULL ? "<unknown>" : stringof(D->name);
	if_local = D == NULL ? 0 : (D->flags & 8) != 0;
	if_ipstack = D == NULL ? 0 : D->nd_net.net->ns.inum;
	if_addr = (uintptr_t)D;
	if_flags = D == NULL ? 0 : D->flags;
};
