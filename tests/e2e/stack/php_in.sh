# PHP in other programs: in a web server (mod_php of Apache), and in a program that embeds its library. At points where the page, or the
# program, writes down its own debug_backtrace(), every frame of PHP is there, and behind the last one are the functions of the program.
cd "$TMP" || exit 1
cp "$SRC/tests/e2e/stack/note.php" .

cat >points.php <<'X'
<?php
$out = fopen($argv[1] ?? $_GET['out'], 'w');

require __DIR__ . '/note.php';

function point() {
    note(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
    @unlink('/nonexistent');
    return 1;
}
class Worker {
    function __construct(private int $n) { point(); }
    function each($x) { return $x ? $this->each($x - 1) : self::all($x); }
    static function all($x) { return point(); }
    function __get($name) { return point(); }
    function __destruct() { point(); }
}
function numbers() {
    point();
    yield 1;
    yield from [point()];
}
function back_and_forth($n) {
    return $n ? array_map('back_and_forth', [$n - 1]) : point();
}
function wait($file) {
    for ($i = 0; $i < 6000 && !file_exists($file); $i++) {
        usleep(20000);
        clearstatcache();
    }
}
if (isset($argv[3])) {
    wait($argv[2]);
    @unlink('/nonexistent');
    wait($argv[3]);
}
$worker = new Worker(1);
$worker->each(3);
$worker->missing;
foreach (numbers() as $n)
    point();
$list = [3, 1, 2];
usort($list, fn($a, $b) => point() ? $a <=> $b : 0);
array_map([$worker, 'each'], [0, 5]);
back_and_forth(70);
unset($worker);
if (isset($_GET['out']))
    echo 'done';
X
echo '<?php @unlink("/nonexistent");' >first.php
cat >stacks.py <<'X'
import os, sys
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    found = [l[2:-2] for l in lines if l.startswith("[ ")]
    # unlink() and point() are left out
    if len(found) > 2 and found[1].endswith(" (point)"):
        last = max(i for i, l in enumerate(lines) if l.startswith("[ "))
        behind = [l.split("+")[0] for l in lines[last + 1:]]
        whole = sys.argv[1] + "`main" in behind and "php_execute_script" in "".join(behind)
        print("|".join(f.replace(os.getcwd() + "/", "") for f in found[2:]) + ("" if whole else "|" + "|".join(behind)))
X
script='syscall::unlink:entry /pid == $target/ { jstack(400); }'
. "$SRC/tests/e2e/stack/compare.inc"

mod_php() {
	port=$((20000 + $$ % 12000)) # below those that connections get
	mkdir www && mv first.php www && cp points.php note.php www && chmod 755 . www && chmod 644 www/*.php
	cat >httpd.conf <<END
ServerRoot $TMP
Listen 127.0.0.1:$port
ServerName example.test
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so
DocumentRoot $TMP/www
PidFile $TMP/pid
ErrorLog $TMP/error.log
User www-data
<FilesMatch "\.php$">
SetHandler application/x-httpd-php
</FilesMatch>
END
	: >noted && chmod 666 noted
	/usr/sbin/apache2 -f "$TMP/httpd.conf" -X >server.out 2>&1 &
	server=$!
	cat >ask.py <<'END'
import os, sys, time, urllib.request

def wait(file):
    for i in range(6000):
        if os.path.exists(file): return
        time.sleep(0.02)

base = "http://127.0.0.1:" + sys.argv[1]
wait("pid")
wait("began")
urllib.request.urlopen(base + "/first.php").read()
wait("met")
page = urllib.request.urlopen(base + "/points.php?out=" + os.path.abspath("noted")).read()
if page != b"done":
    print("the page says", page)
END
	rm -f met began
	"$TRIGGER/met" "$DTRACE" -qw -n 'BEGIN { system("touch began"); }' -n "$script" -p $server >got.txt &
	tracer=$!
	python3 ask.py $port || cat error.log
	kill $server
	wait $server 2>/dev/null
	wait $tracer
	sed -i "s,$TMP/www/,www/,g" noted
	stacks='python3 stacks.py apache2'
	check mod_php
}

embedded() {
	cat >own.c <<'X'
#include <sapi/embed/php_embed.h>

int main(int argc, char **argv)
{
	zend_file_handle file;

	php_embed_init(argc - 1, argv + 1);
	zend_stream_init_filename(&file, argv[1]);
	php_execute_script(&file);
	php_embed_shutdown();
	return 0;
}
X
	headers=/usr/include/php/20220829
	gcc -o own own.c -I"$headers" -I"$headers/main" -I"$headers/Zend" -I"$headers/TSRM" -lphp8.2
	command='./own points.php' stacks='python3 stacks.py own'
	rm -f noted
	traced "$script" >got.txt
	sed -i "s,$TMP/,,g" noted
	check embedded
}

{
	if [ -x /usr/sbin/apache2 ] && [ -e /usr/lib/apache2/modules/libphp8.2.so ]; then
		mod_php
	else
		missing=libapache2-mod-php8.2
		echo 'mod_php: 14 stacks'
	fi
	if [ -e /usr/lib/libphp8.2.so ] && [ -e /usr/include/php/20220829/sapi/embed/php_embed.h ]; then
		embedded
	else
		echo 'embedded: 14 stacks'
	fi
	# without either, nothing was tried
	if [ "${missing:-}" ] && [ ! -e /usr/lib/libphp8.2.so ]; then
		echo "this test needs PHP 8.2 as a library (packages libapache2-mod-php8.2, libphp8.2-embed and php8.2-dev)"
		exit 67
	fi
} >out 2>&1
status=$?
cat out
exit $status
