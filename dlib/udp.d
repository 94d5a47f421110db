/* SPDX-License-Identifier: MIT */
/* UDP: udpinfo_t of a header, udpsinfo_t of a socket. */
#pragma D depends_on library net.d

typedef struct udpinfo {
	uint16_t udp_sport;
	uint16_t udp_dport;
	uint16_t udp_length;  /* with the header */
	uint16_t udp_checksum;
	struct udphdr *udp_hdr;
} udpinfo_t;

translator udpinfo_t <struct udphdr *H> {
	udp_sport = H == NULL ? 0 : ntohs(H->source);
	udp_dport = H == NULL ? 0 : ntohs(H->dest);
	udp_length = H == NULL ? 0 : ntohs(H->len);
	udp_checksum = H == NULL ? 0 : ntohs(H->check);
	udp_hdr = H;
};

typedef struct udpsinfo {
	uintptr_t udps_addr;  /* struct sock */
	uint16_t udps_lport;
	uint16_t udps_rport;
	string udps_laddr;
	string udps_raddr;
} udpsinfo_t;

translator udpsinfo_t <struct sock *S> {
	udps_addr = (uintptr_t)S;
	udps_lport = S == NULL ? 0 : __sock_lport[S];
	udps_rport = S == NULL ? 0 : __sock_rport[S];
	udps_laddr = S == NULL ? "<unknown>" : __sock_laddr[S];
	udps_raddr = S == NULL ? "<unknown>" : __sock_raddr[S];
};
