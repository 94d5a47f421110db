/* Pragmas (d-language.md 1.6, 11.3) */
#pragma D option quiet
#pragma D option strsize=64
#pragma D attributes Unstable/Unstable/Common later
#pragma D binding "1.6" later
#pragma D depends_on provider syscall
#pragma D depends_on module vmlinux
inline int later = 1;
provider app { probe start(int fd, string name); probe done__late(int fd) : (int fd); };
#pragma D attributes Evolving/Evolving/ISA provider app args
BEGIN { trace(later); s = "x"; trace(s); }
