/* A name that is both a global variable and a tag of the enumeration compared with. */
enum pid_type t;
BEGIN { PIDTYPE_TGID = 7; trace(t == PIDTYPE_TGID); }
