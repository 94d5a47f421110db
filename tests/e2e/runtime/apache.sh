# The providers ap and http over functions of a stock Apache: each request, its way, its arguments.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" "$TMP/error.log" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
[ -x /usr/sbin/apache2 ] && [ -f /usr/lib/apache2/modules/mod_mpm_event.so ] || { echo "no /usr/sbin/apache2 (package apache2-bin)"; exit 67; }
port=$((20000 + $$ % 12000)) # below those that connections get
mkdir www && echo hello >www/a.html && echo none >www/gone.html
chmod 755 . www
cat >httpd.conf <<END
ServerRoot $TMP
Listen 127.0.0.1:$port
ServerName example.test
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
DocumentRoot $TMP/www
PidFile $TMP/pid
ErrorLog $TMP/error.log
ErrorDocument 404 /gone.html
END
/usr/sbin/apache2 -f "$TMP/httpd.conf" -X >server.out 2>&1 & server=$!
trap 'kill $server 2>/dev/null' EXIT
for i in $(seq 100); do [ -s pid ] && break; sleep 0.05; done
[ -s pid ] || { cat server.out; fail "the server does not start"; }
cat >t.d <<'END'
#pragma D option quiet
ap$1:::process-request-return /++returned == 4/ { system("touch returned"); }
ap$1:::log_transaction-return /++logged == 4/ { system("touch logged"); }
ap$1:::process-request-entry { @[probename, copyinstr(arg1), "", 0] = count(); }
ap$1:::process-request-return { @[probename, copyinstr(arg1), "", arg2] = count(); }
ap$1:::internal-redirect { @[probename, copyinstr(arg0), copyinstr(arg1), 0] = count(); }
ap$1:::read-request-success { @[probename, copyinstr(arg1), copyinstr(arg2), arg4] = count(); @host[copyinstr(arg3)] = count(); }
ap$1:::handler-entry { @[probename, "", "", 0] = count(); }
ap$1:::log_transaction-return { @[probename, "", "", arg0] = count(); }
http$1:::request-start { self->ts = timestamp; }
http$1:::request-done /self->ts/
{
	@[args[1]->hri_method, args[1]->hri_uri, args[0]->ci_remote, args[1]->hri_respcode] = count();
	self->ts = 0;
}
BEGIN { system("touch began"); }
END { printa("%s %s %s %d %@d\n", @); printa("host %s %@d\n", @host); }
END
"$DTRACE" -w -s t.d $server >out 2>err & tracer=$!
for i in $(seq 200); do [ -f began ] && break; sleep 0.05; done
cat >ask.py <<'END'
import http.client, sys
for method, path in (("GET", "/a.html"), ("GET", "/a.html"), ("GET", "/nothere.html"), ("HEAD", "/a.html")):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1])); c.request(method, path); c.getresponse().read(); c.close()
END
/usr/bin/python3 ask.py $port || fail "asking"
for i in $(seq 400); do [ -f returned ] && [ -f logged ] && break; sleep 0.05; done
kill -TERM $tracer; wait $tracer || fail "the script failed"
grep . out | sort >got
sort >want <<'END'
GET /a.html 127.0.0.1 200 2
GET /nothere.html 127.0.0.1 404 1
HEAD /a.html 127.0.0.1 200 1
handler-entry   0 5
host example.test 4
internal-redirect /nothere.html /gone.html 0 1
log_transaction-return   0 4
process-request-entry /a.html  0 3
process-request-entry /nothere.html  0 1
process-request-return /a.html  200 3
process-request-return /nothere.html  404 1
read-request-success GET /a.html 200 2
read-request-success GET /nothere.html 200 1
read-request-success HEAD /a.html 200 1
END
diff want got || fail "other requests than were made"
exit 0
