struct s { int a; };
struct s v;
BEGIN { pcap(v, 1); }
