# Scripts of the pid suite with -x inproc=auto: what they print and do is the same. Not among them: maxplaces, because places in the process
# need no uprobe; keeper, whose moments are those of uprobes; and the slow ones (tests/run.py BUILD --inproc auto --only e2e/pid).
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
only=
for name in args provider beside constants debug exceptions held ifunc inlined mangled names nop5 refused reused several stock typed; do
    only="$only --only e2e/pid/$name"
done
exec /usr/bin/python3 "$SRC/tests/run.py" "$BUILD" --jobs 1 --patience "${PATIENCE:-1}" --inproc auto $only
