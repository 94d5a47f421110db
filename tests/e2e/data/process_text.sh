# cwd, root, execargs, getf(), d_path(): what they say of this process (d-language.md 4.2, 5.4).
cd "$TMP" || exit 1
here=$(pwd -P)
fail() { echo "$1"; exit 1; }
same() { [ "$2" = "$3" ] || fail "$1: '$2', not '$3'"; }

same cwd "$($DTRACE -qn 'BEGIN { printf("%s", cwd); exit(0); }')" "$here"
same root "$($DTRACE -qn 'BEGIN { printf("%s", root); exit(0); }')" /
same execargs "$($DTRACE -qn 'BEGIN { printf("%s", execargs); exit(0); }' 'a  b' '' c -x argref)" \
	"$DTRACE -qn BEGIN { printf(\"%s\", execargs); exit(0); } a  b  c -x argref"
same getf "$($DTRACE -qn 'BEGIN { printf("%s", d_path(&getf(0)->f_path)); exit(0); }' <$here/../.)" \
	"$(dirname "$here")"
same "no such descriptor" \
	"$($DTRACE -qn 'BEGIN { printf("%d %d", getf(-1) == NULL, getf(9999) == NULL); exit(0); }')" "1 1"
mkdir gone && cd gone && rmdir "$here/gone"
same deleted "$($DTRACE -qn 'BEGIN { printf("%s", cwd); exit(0); }')" "$here/gone (deleted)"
cd /proc || exit 1 # beyond a mount point
same "another mount" "$($DTRACE -qn 'BEGIN { printf("%s", cwd); exit(0); }')" /proc
cd "$here" || exit 1
same cut "$($DTRACE -x strsize=8 -qn 'BEGIN { printf("%s|%s", cwd, execargs); exit(0); }')" \
	"$(printf %.7s "$here")|$(printf %.7s "$DTRACE")"
long=$(printf '%0250d' 7)
mkdir "$long" && cd "$long" && mkdir "$long" && cd "$long" || exit 1
same long "$($DTRACE -x strsize=2k -qn 'BEGIN { printf("%s", cwd); exit(0); }')" "$(pwd -P)"
same "long, cut" "$($DTRACE -qn 'BEGIN { printf("%s", cwd); exit(0); }')" "$(pwd -P | cut -c1-255)"
$DTRACE -qn 'BEGIN { trace(d_path((void *)16)); } BEGIN { exit(0); }' 2>&1 | grep -q 'invalid address (0x10)' ||
	fail "a bad address is no fault"
