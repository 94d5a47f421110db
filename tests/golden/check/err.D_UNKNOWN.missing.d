BEGIN { pcap((void *)0, 1); panic(); trace(zonename); trace(ddi_pathname((void *)0, 1)); }
