# The provider mysql over functions of a stock MariaDB server: connections, commands, queries with text, user and error.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
[ -x /usr/sbin/mariadbd ] && [ -x /usr/bin/mariadb-install-db ] || { echo "no /usr/sbin/mariadbd (packages mariadb-server, mariadb-client)"; exit 67; }
mkdir data
mariadb-install-db --no-defaults --auth-root-authentication-method=normal --datadir="$TMP/data" --user=root --skip-test-db >log 2>&1 ||
	{ cat log; fail "mariadb-install-db"; }
/usr/sbin/mariadbd --no-defaults --user=root --datadir="$TMP/data" --socket="$TMP/s" --skip-networking --pid-file="$TMP/pid" >log 2>&1 & server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null' EXIT
for i in $(seq 200); do [ -S s ] && [ -s pid ] && break; sleep 0.1; done
[ -s pid ] || { cat log; fail "the server does not start"; }
cat >t.d <<'END'
#pragma D option quiet
mysql$1:::connection-start { self->id = arg0; printf("connect %s@%s\n", copyinstr(arg1), copyinstr(arg2)); }
mysql$1:::connection-done { system("touch gone"); printf("gone %d %d\n", arg0, arg1 == self->id); }
mysql$1:::command-start { @["command-start", arg1] = count(); }
mysql$1:::command-done { @["command-done", arg0] = count(); }
mysql$1:::query-start
{
	printf("query %s db %s %s@%s %d\n", copyinstr(arg0), arg2 ? copyinstr(arg2) : "-", copyinstr(arg3), copyinstr(arg4),
	    arg1 == self->id);
}
mysql$1:::query-done { printf("done %d\n", arg0); }
mysql$1:::query-parse-start { printf("parse %s\n", copyinstr(arg0)); }
mysql$1:::query-parse-done { printf("parsed %d\n", arg0); }
mysql$1:::query-exec-start { printf("exec %s as %s type %d\n", copyinstr(arg0), copyinstr(arg3), arg5); }
mysql$1:::query-exec-done { printf("executed %d\n", arg0); }
BEGIN { system("touch began"); }
END { printa("%s %d %@d\n", @); }
END
"$DTRACE" -w -s t.d $server >out 2>err & tracer=$!
for i in $(seq 200); do [ -f began ] && break; sleep 0.05; done
printf 'select 1;\nselect nosuch;\nsellect 3;\n' | mariadb --no-defaults -S s -uroot --force --skip-auto-rehash mysql >client 2>&1
for i in $(seq 400); do [ -f gone ] && break; sleep 0.05; done
kill -TERM $tracer; wait $tracer || { grep -q 'there is none' err && { echo "another MariaDB than 10.11"; exit 67; }; fail "the script failed"; }
grep . out >got
cat >want <<'END'
connect root@localhost
query select @@version_comment limit 1 db mysql root@localhost 1
parse select @@version_comment limit 1
parsed 0
exec select @@version_comment limit 1 as root type 0
executed 0
done 0
query select 1 db mysql root@localhost 1
parse select 1
parsed 0
exec select 1 as root type 0
executed 0
done 0
query select nosuch db mysql root@localhost 1
parse select nosuch
parsed 0
exec select nosuch as root type 0
executed 1
done 1
query sellect 3 db mysql root@localhost 1
parse sellect 3
parsed 1
done 1
gone 0 1
command-done 0 2
command-done 1 2
command-start 1 1
command-start 3 4
END
grep -q version_comment got || sed -i '2,7d; s/command-done 0 2/command-done 0 1/; s/command-start 3 4/command-start 3 3/' want
sort got >a; sort want | diff - a || fail "other commands than the client sent"
"$DTRACE" -n "mysql$server:::insert-row-start {}" >out 2>err && fail "insert-row-start was found"
grep -q 'ha_write_row' err || fail "no reason for insert-row-start"
exit 0
