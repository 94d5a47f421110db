# fathom-metrics with the capabilities that its systemd unit leaves it: kernel functions have names. Without CAP_SYSLOG it says that they have not.
# @@timeout: 120
exporter=$BUILD/src/cmd/metrics/fathom-metrics
[ -x "$exporter" ] || { echo "not built: it needs the packages libmicrohttpd-dev and libcurl4-openssl-dev"; exit 67; }
command -v setpriv >/dev/null || { echo "needs setpriv of the package util-linux"; exit 67; }
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
cd "$TMP" || exit 1
# the unit's list, as far as this machine's root has it
has=$(setpriv --dump | sed -n 's/^Capability bounding set: //p')
caps=-all
for cap in $(sed -n 's/^CapabilityBoundingSet=//p' "$SRC/systemd/fathom-metrics.service" | tr 'A-Z' 'a-z'); do
	case ,$has, in *,"${cap#cap_}",*) caps=$caps,+${cap#cap_} ;; esac
done
as_unit() {
	set=$1
	shift
	setpriv --bounding-set="$set" --inh-caps=-all --no-new-privs "$@"
}
# any system call has a stack of the kernel
echo 'syscall::read:entry { @kernel[stack()] = count(); }' >stack.d
while :; do dd if=/dev/zero of=/dev/null bs=1 count=100 status=none; sleep 0.05; done &
reader=$!
trap 'kill $reader' EXIT
as_unit "$caps" "$exporter" -1 1 stack.d >out 2>err || fail "status $?"
grep -q 'key0="[^"]*vmlinux`' out || fail "no names"
[ ! -s err ] || fail "it complains"
without=$(echo "$caps" | sed 's/,+syslog//')
[ "$without" != "$caps" ] || fail "the unit lacks CAP_SYSLOG"
if as_unit "$without" sed '/^00* /d;q' /proc/kallsyms | grep -q .; then
	echo "this kernel shows names to everybody"
	exit 0
fi
as_unit "$without" "$exporter" -1 1 stack.d >out 2>err || fail "status $? without CAP_SYSLOG"
grep -qxF "fathom-metrics: stack.d: kernel addresses have no names: '/proc/kallsyms' hides them" err && grep -q '^fathom-metrics: hint: run as root with CAP_SYSLOG' err ||
	fail "it does not say that names are hidden"
