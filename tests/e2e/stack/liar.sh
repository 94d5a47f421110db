# A process that maps libjvm.so and has falsified the tables in it is met first: what it says is not believed of another user's Java, whose
# stacks have the right names from the first one with names on. It is believed of Java of its own user, until that is attached by itself.
# @@needs: kernel
command -v javac >/dev/null && command -v cc >/dev/null && command -v setpriv >/dev/null || { echo "needs javac, cc and setpriv"; exit 67; }
jvm=$(dirname "$(readlink -f "$(command -v java)")")/../lib/server/libjvm.so
[ -f "$jvm" ] || { echo "no $jvm"; exit 67; }
exec /usr/bin/python3 "$SRC/tests/e2e/stack/liar.py" "$jvm"
