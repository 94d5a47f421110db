# The provider node of a Node.js without probes: collections as the program itself counts them, and reasons for the rest.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
node=/usr/bin/node
[ -x $node ] || { echo "no $node (package nodejs)"; exit 67; }
cat >t.js <<'END'
const { PerformanceObserver } = require('perf_hooks');
new PerformanceObserver(l => l.getEntries().forEach(e => console.log('gc', e.detail.kind, e.detail.flags))).observe({ entryTypes: ['gc'] });
gc(); gc(); gc({ type: 'minor' });
setTimeout(() => 0, 10);
END
"$DTRACE" -qn 'node$target:::gc-start { @s[arg0, arg1] = count(); } node$target:::gc-done { @d[args[0], args[1]] = count(); }
	END { printa("start %d %d %@d\n", @s); printa("done %d %d %@d\n", @d); }' -c "$node --expose-gc t.js" >out 2>err ||
	{ grep -q 'there is none' err && { echo "another V8 than that of Node 20"; exit 67; }; fail "t.js"; }
grep '^gc' out | sort | uniq -c | awk '{ print "start", $3, $4, $1; print "done", $3, $4, $1 }' | sort >want
[ -s want ] || fail "Node has told nothing"
grep -E '^(start|done)' out | sort | diff want - || fail "other collections than Node says"
"$DTRACE" -n 'node$target:::http-server-request {}' -c "$node -e 1" >out 2>err && fail "http-server-request was found"
grep -q 'dtrace-provider' err || fail "no reason for http-server-request"
"$DTRACE" -n "lua$$:::function-entry {}" >out 2>err && fail "lua was found"
grep -q 'debug.sethook' err || fail "no reason for lua"
"$DTRACE" -n "javascript$$:::function-entry {}" >out 2>err && fail "javascript was found"
grep -q 'SpiderMonkey' err || fail "no reason for javascript"
exit 0
