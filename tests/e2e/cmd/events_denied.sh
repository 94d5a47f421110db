#!/bin/sh
# Where a policy forbids events of the kernel (EACCES for perf_event_open), the message says what failed, and the hint which right or which
# sysctl it takes: of functions of the kernel on kernels without links to many of them. Of timers, where root has all rights, it is the filter.
set -u
bad=0
call=$(python3 -c 'import platform; print({"x86_64": 298, "aarch64": 241}[platform.machine()])')
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
	hint='hint: events need CAP_SYS_ADMIN where the sysctl kernel.perf_event_paranoid is above 2: set it to 2 and have CAP_PERFMON, or try sudo'
else
	hint='hint: tracing needs CAP_PERFMON; try sudo'
fi
refused() { # NAME MESSAGE PROGRAM
	timeout 100 "$TRIGGER/denied" "$call" 13 "$DTRACE" -qn "$3" >"$TMP/out" 2>"$TMP/err" && { echo "$1: it ran"; bad=1; }
	grep -q "^dtrace: .*$2.*EACCES\|^dtrace: .*$2.*Permission denied" "$TMP/err" && grep -qxF "$hint" "$TMP/err" && return
	echo "$1:"
	cat "$TMP/err"
	bad=1
}
functions=$hint
hint='hint: a container gets another filter by --security-opt seccomp=unconfined or =FILE (Docker, Podman), or seccompProfile (Kubernetes): dtrace-containers(7)'
refused timer 'a seccomp filter of this process refuses perf_event_open(2)' 'profile-97 { exit(0); }'
hint=$functions
export FATHOM_NO_FEATURE=KPROBE_MULTI,FENTRY
if "$DTRACE" -qn 'fbt::schedule:entry { exit(0); }' >"$TMP/out" 2>&1; then
	refused function "the kernel refuses a probe at the entry of 'schedule'" 'fbt::schedule:entry { exit(0); }'
	refused return "the kernel refuses a probe at the return of 'schedule'" 'fbt::schedule:return { exit(0); }'
fi
exit $bad
