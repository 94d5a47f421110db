/* chill() waits, timestamp is read again; half a second in a second is the most. */
/* @@runtest-opts: -qw */
BEGIN { self->t = timestamp; chill(20000000); this->ms = (timestamp - self->t) / 1000000; printf("%d\n", this->ms >= 20 && this->ms < 60000); }
BEGIN { chill(500000001); }
ERROR { printf("fault %d\n", arg4); }
BEGIN { exit(0); }
