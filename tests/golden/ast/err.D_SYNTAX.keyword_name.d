int probe;
struct { int self; } x;
enum { string };
