/* Inlines of the library hold nothing: their types may be larger than a variable (d-language.md 4.1). */
/* @@runtest-opts: -q -x strsize=8k */
BEGIN { printf("%d %d\n", sizeof(fds[0]) > 16384, fds[0].fi_offset); exit(0); }
