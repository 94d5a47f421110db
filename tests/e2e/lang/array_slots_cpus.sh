#!/bin/sh
# Eight processes on all CPUs, and timers that interrupt them, store, read and remove elements of two arrays, whose slots are
# partly those of other elements.
set -u
cd "$TMP" || exit 1
n=20000
[ -z "${SANITIZED:-}" ] || n=5000
cp "$TRIGGER/calls" slotcalls
cat > run.sh <<EOF
for k in 1 2 3 4 5 6 7 8; do ./slotcalls getppid $n & done
wait
EOF
"$DTRACE" -qs /dev/stdin -c 'sh run.sh' > out 2> err <<'EOF'
int n;
syscall::getppid:entry /execname == "slotcalls" && n < 600/ { t[1000000 + n] = 1; u[1000000 + n, n] = 1; n++; }
syscall::getppid:entry /execname == "slotcalls"/ { self->k = timestamp & 0xfff; t[pid] = timestamp; u[pid, self->k] = timestamp; }
syscall::getppid:return /execname == "slotcalls" && !(t[pid] && u[pid, self->k])/ { @["missing"] = count(); }
syscall::getppid:return /execname == "slotcalls" && t[pid] != u[pid, self->k]/ { @["of another"] = count(); }
syscall::getppid:return /execname == "slotcalls" && t[pid] && u[pid, self->k]/ { t[pid] = 0; u[pid, self->k] = 0; @["calls"] = count(); }
syscall::getppid:return /execname == "slotcalls" && (t[pid] || u[pid, self->k])/ { @["left"] = count(); }
profile-1999 { t[-1 - cpu] = timestamp; u[-1 - cpu, cpu] = timestamp; }
profile-1999 /!t[-1 - cpu] || t[-1 - cpu] != u[-1 - cpu, cpu]/ { @["missing in an interrupt"] = count(); }
profile-1999 { t[-1 - cpu] = 0; u[-1 - cpu, cpu] = 0; }
profile-1999 /t[-1 - cpu] || u[-1 - cpu, cpu]/ { @["left by an interrupt"] = count(); }
END { printa("%s %@d\n", @); }
EOF
[ "$(cat out)" = "calls $((8 * n))" ] && [ ! -s err ] && exit 0
cat out err
exit 1
