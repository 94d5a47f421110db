BEGIN { pcap((void *)arg0, 1); }
