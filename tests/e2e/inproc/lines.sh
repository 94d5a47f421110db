# Lines of Ruby as keys in the process: the same numbers as from the kernel, from threads, fibers, exceptions, C methods and code of eval; contexts that are not as Ruby's are refused, and the process lives.
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
[ -x /usr/bin/ruby3.1 ] && command -v cc >/dev/null || { echo "needs ruby3.1 and cc"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/lines.py"
