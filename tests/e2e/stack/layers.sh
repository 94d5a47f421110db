# Stacks in a root directory that is made of layers (overlayfs), as containers and images of live systems have. A file is mapped there by a file
# of a layer; fstat(), /proc/PID/maps and the kernel's structures show three devices for it. The first stack of a process of -c is whole, and
# those of processes whose files another one has made known, in a session of root and in one without the right to open what a process maps. A process
# during which dtrace does not run at all makes its files known, too: dtrace finds them by their paths when it has ended, also if it has executed another
# program before.
command -v /usr/bin/python3 >/dev/null || exit 67
unshare -m true 2>/dev/null || exit 67
cd "$TMP" && mkdir base || exit 1
cat >known.py <<'X'
import os
def known_here():
    os.getppid()
def known_outer():
    known_here()
for i in range(5): known_outer()
X
cat >more.sh <<'X'
i=$((3 * PATIENCE))
while [ $i -gt 0 ]; do /usr/bin/python3 "$TMP/known.py"; i=$((i - 1)); done
X
cat >run.sh <<'X'
mount -t tmpfs none base && cd base && mkdir upper work root && mount -t overlay o -o lowerdir=/,upperdir=upper,workdir=work root || exit 67
for d in proc sys dev; do mount --rbind /$d root/$d; done
mount --rbind "$TMP" "root$TMP"
for name in copied brief; do cp -p "$(readlink -f /usr/bin/python3)" root/usr/bin/python3-$name; done
mkdir root/mnt/was; cd root && pivot_root . mnt/was && umount -l /mnt/was && cd "$TMP" || exit 67
text='syscall::getppid:entry /progenyof($target)/ { @[jstack()] = count(); }'
$1 $DTRACE -qn "$text" -c "/usr/bin/python3 known.py" >target 2>&1
$1 $DTRACE -qn "$text" -c "/usr/bin/python3-copied known.py" >copied 2>&1
$1 $DTRACE -qn "$text" -c "sh more.sh" >others 2>&1
: >brief
$1 $DTRACE -qn 'tick-20ms /!begun/ { begun = 1; printf("begun\n"); }
    syscall::getppid:entry /execname == "python3-brief"/ { jstack(); printf("1\n\n"); }' >brief 2>&1 &
dtrace=$!
until grep -q begun brief || ! kill -0 $dtrace; do sleep 0.1; done
i=$((4 * PATIENCE))
while [ $i -gt 0 ] && ! grep -q known_here brief; do
	kill -STOP $dtrace && env /usr/bin/python3-brief known.py && kill -CONT $dtrace && sleep 1.5
	i=$((i - 1))
done
kill -TERM $dtrace && wait $dtrace
X
# counts the stacks in a file that are whole
whole() {
	awk 'BEGIN { RS = "" } /\(known_here\).*\(known_outer\).*_start\+/ { n += $NF } END { print n + 0 }' "$1"
}
# without CAP_CHECKPOINT_RESTORE and CAP_SYS_ADMIN, files are found by their paths
for way in "" "setpriv --bounding-set=-checkpoint_restore,-sys_admin --inh-caps=-checkpoint_restore,-sys_admin"; do
	seen=
	for try in 1 2 3; do # a machine that is very busy lets a process go on before its tables are there
		unshare -m sh run.sh "$way"
		[ $? = 67 ] && exit 67
		seen="$(whole target) $(whole copied) $(whole others)"
		brief=$(whole brief)
		[ "${seen% *}" = "5 5" ] && [ "${seen##* }" -ge 10 ] && [ "$brief" -ge 1 ] && break
	done
	[ "${seen% *}" = "5 5" ] && [ "${seen##* }" -ge 10 ] || { echo "${way:-root}: $seen"; cat target copied others; status=1; }
	[ "$brief" -ge 1 ] || { echo "${way:-root}: no stack is whole while dtrace is stopped"; tail -n 40 brief; status=1; }
done
exit ${status:-0}
