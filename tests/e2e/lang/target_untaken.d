/* Without -p and -c, $target is 0 where a constant keeps it from being used: options of scripts such as procsystime and dvmstat (d-language.md 1.9). */
#pragma D option quiet
inline int OPT_filter = 0; inline int OPT_command = 0; inline int OPT_pid = 0; inline int PID = 1; inline string NAME = "x"; inline int OPT_name = 0;
syscall:::entry
/(! OPT_filter) || (OPT_pid && pid == PID) || (OPT_name && execname == NAME) || (OPT_command && pid == $target)/
{ self->ok = 1; }
syscall:::entry /self->ok/ { n++; }
BEGIN { printf("%d %d %s\n", OPT_command ? $target : 7, pid == $target && OPT_command, OPT_command ? $$target : "none"); OPT_command ? printf("%d", $target) : 1; if (OPT_command) { printf("%d", $target); }  exit(0); }
BEGIN /OPT_command/ { printf("%d", $target); }
