/* @@kind: string  1.7, 2.1: in a command-line text a word is a specifier, actions may be missing. */
int*x, foo_t
syscall:::entry /pid/ { }
int x;
BEGIN
