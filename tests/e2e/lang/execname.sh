#!/bin/sh
# execname as a key, in a record and in an expression, for threads whose names have 1 to 15 bytes; a name is as new as it can be, and nothing
# of a longer one that the thread had before is left.
set -u
cd "$TMP" || exit 1
name= n=0
: > run.sh
: > want
for letter in e x n o p q r s t u v w y z A; do
	name=$name$letter n=$((n + 1))
	cp "$TRIGGER/calls" "$name"
	echo "./$name getppid $n" >> run.sh
	echo "$name key=$n text=$n expr=$n" >> want
done
cat >> run.sh <<'EOF'
exec perl -e 'for ("zqrlislongernow1", "zqrl8888", "zq", "zqrlislonger") { $0 = $_; getppid }'
EOF
for name in zqrlislongernow zqrl8888 zq zqrlislonger; do echo "$name key=1 text=1 expr=1"; done >> want
"$DTRACE" -qs /dev/stdin -c 'sh run.sh' > out 2> err <<'EOF'
syscall::getppid:entry /index("exnopqrstuvwyzA", execname) == 0 || index(execname, "zq") == 0/
{
	@key[execname] = count();
	@text[strjoin(execname, "")] = count();
	printf("is %s\n", execname);
}
END { printa("key %s %@d\n", @key); printa("expr %s %@d\n", @text); }
EOF
awk '$1 == "is" { text[$2]++ } $1 == "key" { key[$2] = $3 } $1 == "expr" { expr[$2] = $3 }
	END { for (n in key) print n " key=" key[n] " text=" text[n] " expr=" expr[n] }' out | sort > got
sort want | cmp - got && [ ! -s err ] && exit 0
cat out err
exit 1
