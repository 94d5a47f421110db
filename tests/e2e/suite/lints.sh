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

# The change log.
changes() { # STATUS, WHAT IS SAID; the text on stdin
	cat >CHANGELOG.md
	lints changes
	[ $status = "$1" ] && { [ "$1" = 0 ] || grep -q "$2" "$TMP/got"; } || fail "the change log: $2"
}
printf '# Changes\n\n## Not released yet\n\n* b\n\n## 0.10.0\n\n* a\n\n## 0.9.1\n\nThe first commit is x.\n' | changes 0 ''
printf '# Changes\n\n## Not released yet\n\n* b\n\n## 0.1.0\n\nThe first commit is x.\n* c\n' | changes 1 '"\* c\.\.\." stands behind the last line'
printf '# Changes\n\n## Not released yet\n\n* b\n* b\n\n## 0.1.0\n\nThe first commit is x.\n' | changes 1 '"\* b\.\.\." stands there twice'
printf '# Changes\n\n## Not released yet\n\n## 0.9.0\n\n## 0.10.0\n\nThe first commit is x.\n' | changes 1 'the newest first'

# Numbers in messages.
plurals() { # STATUS; the source on stdin
	cat >src/counts.c
	lints plurals
	[ $status = "$1" ] && { [ "$1" = 0 ] || grep -q "^plurals: src/counts.c:1: '1 places' is no English" "$TMP/got"; } || fail "numbers: $(cat src/counts.c)"
	rm src/counts.c
}
printf 'f("%%" PRIu32\n\t  " places probed", n);\n' | plurals 1
printf 'f("at %%u"\n  " places of %%s", n, s);\n' | plurals 1
printf 'f("%%u place%%s probed", n, PLURAL(n));\nf("more than %%u places", MOST);\nf("%%u places are too many", n);\n' | plurals 0
printf 'f(n == 1 ? "%%u place is" : "%%u places are", n);\n' | plurals 0

# Commits: rules hold since the last tag.
lints commits
[ $status = 0 ] && grep -q '^skip: commits: this is no git repository' "$TMP/got" || fail "an exported tree"
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org GIT_CONFIG_GLOBAL=/dev/null
commit() { git commit -q --allow-empty -m "$1"; } # TEXT
git init -q .
printf 'build*/\n' >.gitignore
git add -A
commit "no body, which was allowed"
lints commits
[ $status = 0 ] && grep -q "^skip: commits: the history does not have [0-9a-f]*\$" "$TMP/got" || fail "the history of another tree"
git tag v0.9
first=$(git log -1 --format=%h)
commit "d: one fault is one message

It was two."
second=$(git log -1 --format='%h ("%s")')
commit "d: the hint stands below it

It stood above.

Fixes: $second
Reported-by: A User <user@example.org>"
lints commits
[ $status = 0 ] && [ ! -s "$TMP/got" ] || fail "commits as they should be"
faults() { # TEXT, and what is said of it
	commit "$1"
	printf '%s\n' "$1" >"$TMP/message"
	lints commits
	[ $status = 1 ] && [ "$(wc -l <"$TMP/got")" = 1 ] && grep -q "): $2" "$TMP/got" || fail "'$1'"
	lints commits --message "$TMP/message"
	[ $status = 1 ] && grep -q "^commit: $2" "$TMP/got" || fail "'$1', before it is made"
	git reset -q --hard HEAD^
}
faults "d: one fault" 'there is no body'
faults "d: one fault

Fixes: $second" 'there is no body'
faults "d: a subject that does not end before it has reached its seventy-third letter

Body." 'the subject has 77 characters'
faults "d: a subject
and more

Body." 'the line below the subject is not empty'
faults "d: a subject

Body.

Fixes: $first" "'Fixes: $first' is not of the form"
faults "d: a subject

Body.

fixes $second" "'fixes .*' is not of the form"
faults "d: a subject

Fixes: $second

Body." "'Fixes: .*' does not stand in a last paragraph"
faults "d: a subject

Body.

Fixes: 0123456789ab (\"d: a subject\")" 'there is no earlier commit 0123456789ab'
faults "d: a subject

Body.

Fixes: $first (\"d: a subject\")" "$first is \"no body, which was allowed\""
printf 'fixup! d: a subject\n\n# a comment\n' >"$TMP/message"
lints commits --message "$TMP/message"
[ $status = 0 ] || fail "a commit that will be part of another one"
# The hook refuses, and says why.
mkdir -p tests && cp "$SRC/tests/lints.py" "$SRC/tests/interface.py" tests
git -c core.hooksPath="$SRC/tools/hooks" commit -q --allow-empty -m "d: no body" 2>"$TMP/got" && fail "the hook"
grep -q '^commit: there is no body' "$TMP/got" || fail "what the hook says"
git -c core.hooksPath="$SRC/tools/hooks" commit -q --allow-empty -m "d: a body" -m "Here." || fail "the hook refuses a good one"
# A shallow clone checks what it has.
git clone -q --depth 1 "file://$PWD" "$TMP/shallow" 2>/dev/null
cd "$TMP/shallow"
lints commits
[ $status = 0 ] && grep -q '^skip: commits: the history of this shallow clone ends before' "$TMP/got" || fail "a shallow clone"
