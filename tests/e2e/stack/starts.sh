# From the first instruction of an interpreter on no helper fails: neither in the dynamic linker, where there is no thread pointer yet, nor
# where the interpreter prepares itself and has not touched its state.
# @@needs: kernel
cd "$TMP" || exit 1
for i in 1 2 3; do
	for run in "ruby -e 0" "perl -e 0" "php -n /dev/null" "python3 -c 0" "lua5.4 -e x=0" "node -e 0"; do
		command -v "${run%% *}" >/dev/null && echo "$run"
	done
done >runs.sh
[ -s runs.sh ] || exit 67
"$DTRACE" -q -x bufsize=32m -n '
	syscall::execve:return, syscall::openat:entry, syscall::mmap:entry, syscall::brk:entry /pid != $target && progenyof($target)/
	{ printf("\nstack of %s\n", execname); jstack(); }' -c 'sh runs.sh' >out 2>err || { cat err; exit 1; }
awk '
	function finish() { if (is_bad && wrong[name]++ < 2) print text }
	/^stack of/ { finish(); name = $3; text = ""; is_bad = 0; n++ }
	NF { text = text "\n" $0 }
	/\[helper error/ { is_bad = 1 }
	END {
		finish()
		for (name in wrong)
			print name ": " wrong[name] " stacks with an error of a helper"
		if (n < 100)
			print "only " n + 0 " stacks"
	}' out
