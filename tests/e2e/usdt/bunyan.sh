# npm's bunyan and restify fire probes of our module; 'bunyan -p' snoops the log of a server that writes less than that.
# @@timeout: 900
command -v npm >/dev/null || { echo "needs the packages nodejs and npm"; exit 67; }
fail() { echo "$1"; for f in out err snoop server.out npm.out; do [ -s "$TMP/$f" ] && { echo "-- $f"; head -40 "$TMP/$f"; }; done; exit 1; }
cd "$TMP" || exit 1
export npm_config_cache=$TMP/npm npm_config_update_notifier=false
timeout 60 npm view bunyan version >npm.out 2>&1 || { echo "npm's registry cannot be reached"; exit 67; }
mkdir -p tree/modules tree/lib bin && cp -r "$SRC/modules/node" tree/modules && cp -r "$SRC/lib/usdt" tree/lib || fail "copying"
rm -rf tree/modules/node/build tree/modules/node/libusdt
echo '{"name":"shop","version":"1.0.0"}' >package.json
# With a compiler and Node's headers, the installation needs nothing but the registry.
NODE_DTRACE_PROVIDER_REQUIRE=hard timeout 300 npm install --foreground-scripts ./tree/modules/node bunyan restify@11 >npm.out 2>&1
status=$?
grep -q "headers .* are not installed" npm.out && { echo "needs Node's headers (libnode-dev)"; exit 67; }
[ $status = 0 ] || fail "npm install"
[ "$(find -L node_modules -name binding.c | wc -l)" = 1 ] || fail "the dependency of bunyan and restify is not our module"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$DTRACE" >bin/dtrace && chmod +x bin/dtrace
PATH=$TMP/bin:$PATH

name=shop-$$.js
guide=$SRC/doc/guide/application-probes.md
awk '/^\/\/ server.js$/ { p = 1 } p && /^```/ { exit } p' "$guide" |
	sed 's/listen(8080)/listen(0, "127.0.0.1", function () { console.log(this.address().port); })/' >$name
grep -q console.log $name || fail "the guide has no server.js that listens on port 8080"
cat >get.js <<'END2'
const [port, ...paths] = process.argv.slice(2);
const next = () => paths.length && require('http').get({ port, path: paths.shift(), agent: false }, (res) => res.resume().on('end', next));
next();
END2
node $name >server.out 2>&1 &
server=$!
trap 'kill $server $restify $snooper 2>/dev/null' EXIT
until [ -s server.out ]; do kill -0 $server 2>/dev/null || fail "the server"; sleep 0.05; done
port=$(head -1 server.out)

# Waits until the process is traced: then there is a uprobe in it, and the kernel has counted a consumer in a page of its own.
snoop() { # arguments of bunyan; until the log has a line that says /end
	: >snoop
	timeout 60 node_modules/.bin/bunyan --no-color "$@" >snoop 2>err &
	snooper=$!
	for _ in $(seq 200); do
		node get.js "$port" /try && grep -q 'url=/try' snoop && break
		kill -0 $snooper 2>/dev/null || fail "bunyan $*"
		sleep 0.1
	done
	node get.js "$port" /a /slow /end
	for _ in $(seq 100); do
		grep -q 'done (url=/end)' snoop && break
		sleep 0.1
	done
	kill -INT $snooper
	wait $snooper
	grep -q 'done (url=/end)' snoop || fail "bunyan $*: the log ends before it should"
	sed -i '/\/try/d; /^$/d; s/^\[[^]]*\] *//; s/ on [^ ]*:/:/' snoop
}
cat >want <<END2
DEBUG: shop/$server: request (url=/a)
INFO: shop/$server: done (url=/a)
DEBUG: shop/$server: request (url=/slow)
WARN: shop/$server: slow request
INFO: shop/$server: done (url=/slow)
DEBUG: shop/$server: request (url=/end)
INFO: shop/$server: done (url=/end)
END2
for who in $server "$name" '*'; do
	snoop -p "$who"
	cmp -s snoop want || { diff snoop want; fail "bunyan -p '$who'"; }
done
snoop -p $server -l info
grep -v DEBUG want | cmp -s - snoop || fail "bunyan -p PID -l info"
[ "$(grep -c '"msg":"slow request"' server.out)" = 4 ] && [ "$(wc -l <server.out)" = 5 ] || fail "what the server itself writes"

# A server that starts while all logs are snooped.
: >snoop
timeout 60 node_modules/.bin/bunyan --no-color -p '*' >snoop 2>err &
snooper=$!
for _ in $(seq 200); do # it is at work when it sees the first server
	node get.js "$port" /first
	grep -q 'url=/first' snoop && break
	sleep 0.1
done
node $name >second.out 2>&1 &
restify=$!
until [ -s second.out ]; do kill -0 $restify 2>/dev/null || fail "the second server"; sleep 0.05; done
for _ in $(seq 100); do
	node get.js "$(head -1 second.out)" /second
	grep -q "shop/$restify .*done (url=/second)" snoop && break
	sleep 0.1
done
kill -INT $snooper
wait $snooper
kill $restify
grep -q "shop/$restify .*done (url=/second)" snoop || fail "a server that starts later"

# The program of the guide.
sed -n "s/^# dtrace -x strsize=4k -qn '\(bunyan.*\)'\$/\1/p" "$guide" >page.d
[ -s page.d ] || fail "the guide has no program"
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -x strsize=4k -qs page.d >out 2>err &
tracer=$!
for _ in $(seq 100); do
	node get.js "$port" /slow /other
	grep -q 'log-info done' out && break
	kill -0 $tracer 2>/dev/null || break
	sleep 0.1
done
kill -INT $tracer
wait $tracer
grep -qx "$server log-debug request" out && grep -qx "$server log-info done" out || fail "the program of the guide"

# restify has probes around routes and handlers.
cat >restify.js <<'END2'
const server = require('restify').createServer({ name: 'shop', dtrace: true });
server.get('/hello/:name', function hello(req, res, next) { res.send('hi'); next(); });
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
END2
node --no-deprecation restify.js >restify.out 2>&1 &
restify=$!
until [ -s restify.out ]; do kill -0 $restify 2>/dev/null || fail "restify"; sleep 0.05; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -wqn '
restify'$restify':::route-start { printf("start %s %s %s %s\n", copyinstr(arg0), copyinstr(arg1), copyinstr(arg3), copyinstr(arg4)); }
restify'$restify':::handler-start { printf("handler %s\n", copyinstr(arg2)); }
restify'$restify':::route-done { printf("done %d\n", arg3); exit(0); }
BEGIN { system("node get.js '"$(head -1 restify.out)"' /hello/you"); }' >out 2>err || fail "restify's probes"
cat >want <<'END2'
start shop gethelloname GET /hello/you
handler hello
done 200
END2
sed '/^$/d' out | cmp -s - want || fail "restify's arguments"
:
