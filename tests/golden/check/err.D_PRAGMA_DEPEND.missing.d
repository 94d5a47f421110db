#pragma D depends_on library nothing.d
#pragma D depends_on module nomod
#pragma D depends_on provider noprov
#pragma D depends_on provider syscall
#pragma D depends_on module vmlinux
BEGIN { trace(1); }
