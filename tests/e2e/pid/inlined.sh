# A description of a function that the compiler has inlined: the hint says so, and names a function that its code is in.
# @@foreign
command -v cc >/dev/null || exit 67
cd "$TMP" || exit 1
cat >inl.c <<'X'
#include <stdio.h>
static inline int price(int n) { return n * 3 + 1; }
static int helper(int n) { int s = 0; for (int i = 0; i < n; i++) s += price(i); return s; }
__attribute__((noinline)) int total(int n) { return helper(n) + 2; }
int main(int argc, char **argv) { printf("%d\n", total(argc)); return 0; }
X
cc -g -O2 -o inl inl.c && cc -O2 -o plain inl.c || exit 1
bad=0
hint() { # PROGRAM DESCRIPTION WANTED
	"$DTRACE" -n "$2" -c "./$1" >out 2>&1 && { echo "accepted: $2"; bad=1; }
	grep -q "^  hint: $3" out || { echo "no '$3' for $2:"; cat out; bad=1; }
}
inlined="the compiler has inlined 'price' into its callers, such as 'total'"
hint inl 'pid$target:a.out:price:entry' "$inlined"
hint inl 'pid$target::price:entry' "$inlined"
hint inl 'pid$target:a.out:pri*e:return' "$inlined"
hint inl 'pid$target:inl:helper:entry' "the compiler has inlined 'helper'"
hint inl 'pid$target:a.out:totl:entry' "did you mean 'total'?"
hint inl 'pid$target:a.out:nothing:entry' 'dtrace -ln'
hint plain 'pid$target:a.out:price:entry' 'dtrace -ln'

command -v c++ >/dev/null || exit $bad
cat >inlcc.cc <<'X'
#include <cstdio>
namespace shop {
struct Order { int n; int price() const { return n * 3; } };
static int sum(Order *o) { return o->price(); }
}
__attribute__((noinline)) int total(shop::Order *o) { return shop::sum(o); }
int main(int argc, char **) { shop::Order o{argc}; printf("%d\n", total(&o)); }
X
c++ -g -O2 -o inlcc inlcc.cc || exit 1
hint inlcc 'pid$target:a.out:shop*Order*price:entry' "the compiler has inlined 'shop::Order::price' into its callers, such as 'total'"
hint inlcc 'pid$target:a.out:shop*sum:entry' "the compiler has inlined 'shop::sum'"

# A wrong member of a program's structure: those that it has.
cat >member.c <<'X'
struct order { int amount; struct { long sum; } of; const char *name; };
__attribute__((noinline)) int take(struct order *o) { __asm__(""); return o->amount; }
int main(void) { struct order o = {7, {8}, "x"}; return take(&o) - 7; }
X
cc -g -O2 -o member member.c || exit 1
hint member 'pid$target:a.out:take:entry { trace(args[0]->price); }' 'its members are amount, of, name'
hint member 'pid$target:a.out:take:entry { trace(args[0]->ammount); }' "did you mean 'amount'?"
exit $bad
