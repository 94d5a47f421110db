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
refused changed "the kernel's module 'vmlinux' has no type information (/sys/kernel/btf/vmlinux), or other types than changed.d expects: "
grep -q "no member 'no_such_member'" "$TMP/err" || fail "which type"
refused above "the kernel's module 'vmlinux' has no type information"
"$DTRACE" -x syslibdir="$TMP/lib" -n 'fine:::p, BEGIN { exit(0); }' >"$TMP/out" 2>"$TMP/err" || fail "the rest of the library"
exit 0
