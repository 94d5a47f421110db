/* The parts of a packet are found by their names. */
struct sk_buff { unsigned int len, data_len; char pad[16]; unsigned char *data; };
BEGIN { pcap((void *)arg0, 1); pcap((struct sk_buff *)arg1, arg2); }
