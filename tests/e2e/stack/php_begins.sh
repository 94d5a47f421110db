# SPDX-License-Identifier: MIT
# While the dynamic linker still loads PHP, from its first instruction on, stacks are whole: there is no state of PHP yet, and that is no error.
# @@needs: kernel
php=$(readlink -f "$(command -v php)") && [ -e "$php" ] || exit 67
readelf -lW "$php" | grep -q INTERP || exit 67
cd "$TMP" || exit 1
name=$(basename "$php")
for i in 1 2 3 4; do echo "'$php' -n /dev/null"; done >runs.sh
"$DTRACE" -q -x bufsize=16m -n 'syscall::execve:return, syscall::openat:entry, syscall::mmap:entry
	/execname == "'"$name"'" && progenyof($target)/ { printf("\nstack\n"); jstack(); }' -c 'sh runs.sh' >out 2>err || { cat err; exit 1; }
# stacks of the linker alone: its code is the outermost, and the file of PHP is not in them
awk -v name="$name" '
	function finish() {
		if (last !~ /ld-linux[^`]*`_start/ || has_php)
			return
		n++
		first += lines == 1
		if (is_bad && !wrong++)
			print "a stack in the dynamic linker:" text
	}
	/^stack$/ { finish(); text = last = ""; has_php = is_bad = lines = 0; next }
	NF { text = text "\n" $0 }
	/\[(helper error|cut)/ { is_bad = 1 }
	/`/ { last = $0; lines++ }
	index($0, name "`") { has_php = 1 }
	END {
		finish()
		if (n < 40 || first < 3 || wrong)
			print n + 0 " stacks in the dynamic linker, " first + 0 " at its first instruction, " wrong + 0 " of them wrong"
		exit n < 40 || first < 3 || wrong
	}' out
