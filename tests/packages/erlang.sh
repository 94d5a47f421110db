# Erlang's two definitions, one of 950 probes for user programs, with the commands of its Makefiles. (The emulator is not built.)
source_of erlang
cp erts/emulator/beam/erlang_dtrace.d lib/runtime_tools/c_src/dtrace_user.d .
quiet dtrace -h -C -Ierts/emulator/beam -s erlang_dtrace.d -o erlang_dtrace.tmp
sed -e '/^#define[ 	]*ERLANG_[A-Z0-9_]*(.*)/y/ABCDEFGHIJKLMNOPQRSTUVWXYZ/abcdefghijklmnopqrstuvwxyz/' erlang_dtrace.tmp >erlang_dtrace.h
quiet dtrace -h -C -s dtrace_user.d -o dtrace_user.h
cat >t.c <<'EOF'
#include "erlang_dtrace.h"
#include "dtrace_user.h"
int main(void)
{
	char pid[] = "<0.42.0>", mfa[] = "lists:map/2";

	if (erlang_process_spawn_enabled())
		erlang_process_spawn(pid, mfa);
	erlang_message_send(pid, pid, 12, 1, 2, 3);
	return 0;
}
EOF
quiet gcc -O2 -Wall -Wextra -Werror -c t.c
quiet dtrace -G -C -Ierts/emulator/beam -s erlang_dtrace.d -o erlang_dtrace.o t.o
quiet dtrace -G -C -s dtrace_user.d -o dtrace_user.o t.o
quiet gcc t.o erlang_dtrace.o dtrace_user.o -o program
traced "spawn <0.42.0> lists:map/2
send <0.42.0> 12 1 3" '
erlang$target:::process-spawn { printf("spawn %s %s\n", copyinstr(arg0), copyinstr(arg1)); }
erlang$target:::message-send { printf("send %s %d %d %d\n", copyinstr(arg0), arg2, arg3, arg5); }' ./program
