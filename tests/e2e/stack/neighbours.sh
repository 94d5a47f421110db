# Several ustack helpers in a process, which have more clause-local variables together than there are registers for: each computes what it
# computes alone. SEED=N repeats what a report names; ROUNDS=N tries more.
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
seed=${SEED:-$(($(date +%s) * 100 + $$ % 100))}
cat >neighbours.c <<'Y'
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		syscall(SYS_getppid);
	__asm__ volatile("");
}

int main(void)
{
	deep(20);
	deep(5);
	return 0;
}
Y
cc -O1 -fno-optimize-sibling-calls -o neighbours neighbours.c || exit 1

# sums FOLDER...: what the helpers write down with the helpers of these folders
sums() {
	folders=
	for f in "$@"; do folders="$folders -L $f"; done
	# shellcheck disable=SC2086 # options
	"$DTRACE" -q $folders -n 'syscall::getppid:entry /pid == $target/ { jstack(100); }' -c ./neighbours 2>&1 |
		grep -E '^ *(one|two|three) |^dtrace:' | sed 's/^ *//'
}

bad=0
for round in $(seq "${ROUNDS:-2}"); do
	for name in one two three; do
		rm -rf $name
		mkdir -p $name/helpers
		/usr/bin/python3.11 "$SRC/tests/e2e/stack/neighbours.py" "$seed" $name && mv $name.d $name/helpers || exit 1
		sums $name >$name.alone
	done
	sums one two three >together
	for name in one two three; do
		grep -E "^(dtrace:|$name )" together >$name.together
		if [ "$(wc -l <$name.alone)" != 2 ] || ! cmp -s $name.alone $name.together; then
			echo "SEED=$seed, helper $name: alone, then with the others:"
			cat $name.alone $name.together
			bad=1
		fi
	done
	seed=$((seed + 1))
done
exit $bad
