BEGIN { pcap((void *)0, 1); panic(); trace(ddi_pathname((void *)0, 1)); }
