# A provider declared in D over functions of a program: guards, arguments, several files, conditions on builds, notes first, errors.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
cat >probes.d <<'END'
provider shop { probe order(int id); };
END
cat >app.c <<'END'
#ifdef NOTES
#include "probes.h"
#else
#define SHOP_ORDER(id)
#endif
struct item { int id; const char *name; };
__attribute__((noipa)) int price(const struct item *i, int n) { return i->id * n; }
__attribute__((noipa)) void order(int id) { SHOP_ORDER(id); __asm__ volatile(""); }
__attribute__((noipa)) int total(const struct item *i, int n) { return i->id * n * 7 + n + 11; }
__attribute__((noipa)) int first_twin(const struct item *i, int n) { return i->id * n * 13 + n + 17; }
__attribute__((noipa)) int second_twin(const struct item *i, int n) { return i->id * n * 13 + n + 17; }
__attribute__((noipa)) void only_here(void) { __asm__ volatile(""); }
int main(void)
{
	for (int i = 1; i <= 4; i++) {
		char name[8] = "even"; /* on the stack: memory that the process has touched can be read */
		struct item it = {i, name};

		if (i % 2)
			__builtin_strcpy(name, "odd");
		price(&it, 10);
		total(&it, 10);
		first_twin(&it, 10);
		second_twin(&it, 10);
		order(i);
	}
	only_here();
	return 0;
}
END
"$DTRACE" -h -s probes.d -o probes.h || fail "-h"
cc -O1 -c app.c -o plain.o && cc plain.o -o shop-plain || fail "cc"
cc -O1 -DNOTES -c app.c -o notes.o && "$DTRACE" -G -s probes.d -o probes.o notes.o && cc notes.o probes.o -o shop-notes || fail "cc with notes"
cat >shop.d <<'END'
#pragma D option quiet
struct item { int id; userland char *name; };
provider shop {
	probe order(int id) = pid:shop-*:order:entry /arg0 != 2/ ((int)arg0);
	probe price(string name, int n) : (int n, string name)
		= pid:shop-plain`only_here:price:entry (stringof(((userland struct item *)arg0)->name), (int)arg1),
		  pid:shop-*`not_there:price:return ("never", 0);
	probe priced(int value) = pid:shop-*:price:return ((int)arg1);
	probe lost() = "shops lose nothing";
};
END
cat >use.d <<'END'
shop$target:::order { @o[probefunc, probename, arg0] = count(); }
shop$target:::price { @p[args[0], args[1]] = count(); }
shop$target:::priced { @v = sum(arg0); }
END { printa("%s %s %d %@d\n", @o); printa("%d %s %@d\n", @p); printa("%@d\n", @v); }
END
cat shop.d use.d >run.d
"$DTRACE" -s run.d -c ./shop-plain >out 2>err || fail "the plain program"
cat >want <<'END'
order order 1 1
order order 3 1
order order 4 1
10 even 2
10 odd 2
100
END
grep . out | diff want - || fail "the probes of the plain program"
# the notes of a file win over a declaration, for the probes that they have
cat shop.d - >notes.d <<'END'
shop$target:::order { @o[probefunc, probename, arg0] = count(); }
shop$target:::priced { @v = sum(arg0); }
END { printa("%s %s %d %@d\n", @o); printa("%@d\n", @v); }
END
"$DTRACE" -s notes.d -c ./shop-notes >out 2>err || fail "the program with notes"
cat >want <<'END'
order order 1 1
order order 2 1
order order 3 1
order order 4 1
100
END
grep . out | diff want - || fail "notes and declaration"
# and they do so in a program that is not there yet when the clauses are compiled
for program in ./shop-notes ./shop-plain; do
	printf '#!/bin/sh\nexec %s\n' $program >starter && chmod +x starter
	"$DTRACE" -Z -s notes.d -c ./starter >out 2>err || fail "$program comes later"
	[ $program = ./shop-notes ] || sed -i '/^order order 2/d' want
	grep . out | diff want - || fail "the probes of $program, which comes later"
done

# other names for the probes of a file; conditions on the code of functions
code=$(objdump -d shop-plain --disassemble=price | awk '/<price>:/ { f = 1; next } f && NF { for (i = 2; i < 5 && $i ~ /^[0-9a-f][0-9a-f]$/; i++) printf "%s", $i; exit }')
cat >other.d <<END
#pragma D option quiet
provider depot {
	probe taken(int twice) = usdt:shop-*:shop:order ((int)arg0 * 2);
	probe same() = pid:shop-*@price-$code:price:return ();
	probe other() = pid:shop-*@price-00$code:price:return ();
};
END
tr @ '`' <other.d >other2.d
cat other2.d - >run2.d <<'END'
depot$target:::taken { @t = sum(arg0); }
depot$target:::same { @s = count(); }
END { printa("%@d ", @t); printa("%@d\n", @s); }
END
"$DTRACE" -s run2.d -c ./shop-notes >out 2>err || fail "other names"
[ "$(grep . out)" = "20 4" ] || fail "other names: counts"
# a provider whose own name has digits
sed 's/depot/depot24h/' run2.d >digits.d
"$DTRACE" -s digits.d -c ./shop-notes >out 2>err || fail "digits in the name of a provider"
[ "$(grep . out)" = "20 4" ] || fail "digits in the name of a provider: counts"
{ cat other2.d; echo 'depot$target:::other {}'; } >run3.d
"$DTRACE" -s run3.d -c ./shop-plain >out 2>err && fail "other code was accepted"
grep -q 'and there is none' err || fail "no reason for other code"

# functions that are known by their code, in a program that has not their names, and in one that has
code_of() { objdump -d shop-plain --disassemble="$1" | awk -F '\t' '/^ / { gsub(/ /, "", $2); printf "%s", $2 }' | cut -c 1-24; }
strip -o shop-bare shop-plain || fail "strip"
total=$(code_of total) twin=$(code_of first_twin)
[ ${#total} = 24 ] && [ "$twin" = "$(code_of second_twin)" ] || fail "the code of functions: $total $twin"
cat >code.d <<END
#pragma D option quiet
provider shop {
	probe taken(int n) = pid:shop-*:total-$total:entry ((int)arg1);
	probe got(int v) = pid:shop-*:total-$(echo "$total" | sed 's/..$/??/; s/^\(....\)../\1??/'):returned ((int)arg1);
	probe twin() = pid:shop-*:first_twin-$twin:entry ();
	probe other() = pid:shop-*:total-${total%??}00:entry ();
};
END
for program in shop-bare shop-plain; do
	cat code.d - >run4.d <<'END'
shop$target:::taken { @t[probefunc] = sum(arg0); }
shop$target:::got { @g[probefunc] = sum(arg0); }
END { printa("%s %@d ", @t); printa("%s %@d", @g); }
END
	"$DTRACE" -s run4.d -c ./$program >out 2>err || fail "functions by their code in $program"
	[ "$(grep . out)" = "total 40 total 784" ] || fail "functions by their code in $program: calls"
	{ cat code.d; echo 'shop$target:::other {}'; } >run5.d
	"$DTRACE" -s run5.d -c ./$program >out 2>err && fail "other code was accepted in $program"
	grep -q "the function 'total' with the code ${total%??}00 of a file" err || fail "no reason for other code in $program"
done
cat code.d - >run6.d <<'END'
shop$target:::twin { @ = count(); }
END { printa("%@d", @); }
END
"$DTRACE" -s run6.d -c ./shop-bare >out 2>err && fail "code of two functions was accepted"
"$DTRACE" -s run6.d -c ./shop-plain >out 2>err || fail "a function that has its name"
[ "$(grep . out)" = 4 ] || fail "a function that has its name: calls"

refused() { # TEXT CLAUSE DECLARATION
	{ [ "$3" ] && echo "provider shop { $3 };" || cat shop.d; echo "$2"; } >bad.d
	"$DTRACE" -s bad.d -c ./shop-plain >out 2>err && fail "not refused: $2 $3"
	grep -q "$1" err || fail "another message than '$1'"
}
refused 'shops lose nothing' 'shop$target:::lost {}' ''
refused 'did you mean .order.' 'shop$target:::ordr {}' ''
refused 'names a file, and a function' 'shop$target:::x {}' 'probe x() = pid::order:entry ();'
refused 'or a probe' 'shop$target:::x {}' 'probe x() = pid:shop:order:1f ();'
refused "chosen from by '||'" 'shop$target:::x {}' 'probe x() = pid:a:order:entry () || pid:b:order:entry ();'
refused 'all sources of such a probe' 'shop$target:::x {}' 'probe x() = pid:a:order:entry (), tick-1s ();'
refused 'of this probe is the same' 'shop$target:::x {}' 'probe x() = pid:a:order:entry (), pid:a:order:entry ();'
refused 'at least 8 bytes' 'shop$target:::x {}' 'probe x() = pid:a:order-488b0748:entry ();'
refused 'at least 8 bytes' 'shop$target:::x {}' 'probe x() = pid:a:order-488b07488b07488b0:entry ();'
refused 'at least 8 bytes' 'shop$target:::x {}' 'probe x() = pid:a:order-??8b07488b07488b07:entry ();'
refused "has 'entry' and 'returned'" 'shop$target:::x {}' 'probe x() = pid:a:order-488b07488b07488b07:return ();'
refused 'lists its arguments' 'shop$target:::x {}' 'probe x() = pid:a:order:entry;'
refused 'gives 1' 'shop$target:::x {}' 'probe x() = pid:a:order:entry (1);'
refused "stands behind '='" 'shop$target:::x {}' 'probe x() = pid:a:order:entry (), "none";'
refused 'gone for ever' 'shop$target:::x {}' 'probe x() = pid:a:order:entry () || "gone for ever";'
refused 'must be of scalar type' 'shop$target:::order {}' 'probe order() = pid:shop-plain:order:entry /"a"/ ();'
exit 0
