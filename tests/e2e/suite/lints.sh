# tests/lints.py on trees that keep the rules and trees that break them.
set -e
mkdir -p "$TMP/tree/src" "$TMP/tree/commands" "$TMP/tree/tests/e2e/t" "$TMP/tree/build-dev"
cd "$TMP/tree"
fail() { echo "$*"; cat "$TMP/got"; exit 1; }
lints() { # NAME [OPTION...]
	python3 "$SRC/tests/lints.py" --root . "$@" >"$TMP/got" 2>&1 && status=0 || status=$?
}

# Licences: without a repository, as in an exported tree.
line='SPDX-License-Identifier: MIT'
printf '/* %s */\nint x;\n' "$line" >src/good.c
printf 'int x;\n' >src/bad.c
printf '#!/bin/sh\ntrue\n' >src/bad
printf '#!/usr/lib/fathom/command\n/*\n * snoop\n */\n' >commands/snoop
printf '# made by hand\n' >src/data
printf 'BEGIN { exit(0); }\n' >tests/e2e/t/case.d
printf 'int x;\n' >build-dev/made.c
printf 'spdx: %s: \n' commands/snoop:2 src/bad:2 src/bad.c:1 >"$TMP/want"
lints spdx
[ $status = 1 ] || fail "three files have no licence"
sed '$d' "$TMP/got" | cut -d"'" -f1 | diff -u - "$TMP/want" || fail "what is named"
lints spdx --mend
[ $status = 0 ] && [ ! -s "$TMP/got" ] || fail "mended"
printf '/* %s */\nint x;\n' "$line" | cmp - src/bad.c && printf '#!/bin/sh\n# %s\ntrue\n' "$line" | cmp - src/bad || fail "the lines"
[ "$(sed -n 2p commands/snoop)" = "/* $line */" ] && [ "$(cat build-dev/made.c)" = 'int x;' ] || fail "a command, or what a build has made"
