# A file of the library about a module of the kernel is left out where the module is not loaded, or has other types than the file expects; the rest of the library is there, and who asks for the file's provider is told why.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err"; exit 1; }
mkdir "$TMP/lib" || exit 1
printf '#pragma D depends_on module nosuch\nprovider absent { probe p() = syscall::getpid:entry; };\n' >"$TMP/lib/absent.d"
printf '#pragma D depends_on module vmlinux\ninline int __other[struct task_struct *T] = T->no_such_member;\nprovider changed { probe p() = syscall::getpid:entry; };\n' >"$TMP/lib/changed.d"
printf '#pragma D depends_on library changed.d\nprovider above { probe p() = syscall::getpid:entry; };\n' >"$TMP/lib/above.d"
printf 'provider fine { probe p() = syscall::getpid:entry; };\n' >"$TMP/lib/fine.d"
"$DTRACE" -x syslibdir="$TMP/lib" -l >"$TMP/out" 2>"$TMP/err" || fail "the list"
grep -q ' fine .* p$' "$TMP/out" && ! grep -qE ' (absent|changed|above) ' "$TMP/out" || fail "what is listed"
refused() {
	"$DTRACE" -x syslibdir="$TMP/lib" -n "$1:::p { exit(0); }" >"$TMP/out" 2>"$TMP/err" && fail "$1 is there"
	grep -qF "hint: provider '$1' is not here: $2" "$TMP/err" || fail "why $1 is not there"
	"$DTRACE" -x syslibdir="$TMP/lib" -l -P "$1" >"$TMP/out" 2>"$TMP/err"
	grep -qF "hint: provider '$1' is not here: $2" "$TMP/err" || fail "why no probe of $1 is listed"
}
refused absent "it is about the kernel's module 'nosuch', which is not loaded: modprobe nosuch"
# what is said of a module that is part of the kernel, and has no tracepoints
if [ -d /sys/module/spurious ] && [ ! -e /sys/module/spurious/initstate ]; then
	printf '#pragma D depends_on module spurious\nprovider within { probe p() = syscall::getpid:entry; };\n' >"$TMP/lib/within.d"
	refused within "it is about the kernel's module 'spurious', which is built into this kernel, but has no events in tracefs (/sys/kernel/tracing), where those of such modules are told apart"
	grep -q modprobe "$TMP/err" && fail "a part of the kernel is to be loaded"
fi
# the list of such modules that a kernel's package brings
printf '#pragma D depends_on module listed_one\nprovider listed { probe p() = syscall::getpid:entry; };\n' >"$TMP/lib/listed.d"
refused listed "it is about the kernel's module 'listed_one', which is not loaded: modprobe listed_one"
mkdir "$TMP/upper" "$TMP/work"
cat >"$TMP/listed.sh" <<'END'
mount -t overlay -o "lowerdir=/lib,upperdir=$TMP/upper,workdir=$TMP/work" none /lib 2>/dev/null && mkdir -p "/lib/modules/$(uname -r)" || exit 67
printf 'kernel/fs/other.ko\nkernel/fs/listed-one.ko\n' >"/lib/modules/$(uname -r)/modules.builtin" || exit 67
"$DTRACE" -x syslibdir="$TMP/lib" -n 'listed:::p { exit(0); }' >"$TMP/out" 2>"$TMP/err"
exit 0
END
TMP=$TMP unshare -m sh "$TMP/listed.sh"
[ $? = 67 ] || grep -q "hint: provider 'listed' is not here: it is about the kernel's module 'listed_one', which is built into this kernel" "$TMP/err" || fail "a module that is in the list"
# one that has tracepoints is there, built in or loaded
if "$DTRACE" -ln rawtp:block::block_bio_queue 2>/dev/null | grep -q ' block '; then
	printf '#pragma D depends_on module block\nprovider inside { probe p() = rawtp:block::block_bio_queue; };\n' >"$TMP/lib/inside.d"
	"$DTRACE" -x syslibdir="$TMP/lib" -n 'inside:::p, BEGIN { exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "a part of the kernel that has tracepoints"
fi
refused changed "the kernel's module 'vmlinux' has no type information (/sys/kernel/btf/vmlinux), or other types than changed.d expects: "
grep -q "no member 'no_such_member'" "$TMP/err" || fail "which type"
refused above "the kernel's module 'vmlinux' has no type information"
"$DTRACE" -x syslibdir="$TMP/lib" -n 'fine:::p, BEGIN { exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "the rest of the library"
exit 0
