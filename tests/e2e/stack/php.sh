# Stacks of PHP: at points where the program writes down its own debug_backtrace(), every frame of PHP is there, in order, with function,
# file and line; native frames stand where they belong.
php=${PHP:-/usr/bin/php8.2}
if [ ! -x $php ]; then
	echo "this test needs PHP 8.2 of Debian (package php8.2-cli)"
	exit 67
fi
cd "$TMP" || exit 1
cp "$SRC/tests/e2e/stack/note.php" .

cat >points.php <<'X'
<?php
namespace App;

$out = fopen($argv[1], 'w');

require __DIR__ . '/note.php';

function point() {
    note(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
    \getrusage();
    return 0;
}

trait Loud {
    function shout() { point(); }
}

abstract class Base {
    function run() { $this->step(); }
    static function make() { point(); return new static; }
    abstract function step();
}

class Worker extends Base {
    use Loud;
    private $n = 3;
    function __construct() { point(); }
    function step() {
        usort_by([3, 1, 2], fn($a, $b) => point() ?: $a <=> $b);
        array_map([$this, 'each'], [1]);
        array_map([self::class, 'all'], [1]);
    }
    function each($x) { point(); }
    static function all($x) { point(); }
    function __get($name) { point(); return 1; }
    function __call($name, $args) { point(); }
    static function __callStatic($name, $args) { point(); }
    function __toString() { point(); return ''; }
    function __destruct() { point(); }
    function größe() { (function () { point(); })(); }
}

function usort_by($list, $by) { usort($list, $by); }

function deep($n) {
    if ($n)
        return deep($n - 1) + 1;
    return point();
}

function back_and_forth($n) {
    if ($n % 3 == 1)
        return usort_by([$n - 1, $n - 1], function ($a, $b) { return back_and_forth($a) ?: 0; });
    if ($n)
        return $n % 3 ? array_map('App\back_and_forth', [$n - 1]) :
            array_filter([$n - 1], fn($x) => back_and_forth($x));
    point();
}

function numbers() {
    for ($i = 0; $i < 2; $i++) {
        point();
        yield $i;
    }
}

function delegate($n) {
    if ($n) {
        $a =
            yield from
                delegate($n - 1);
        point();
        return $a;
    }
    return yield from numbers();
}

class Thrown {
    function __destruct() { point(); }
}

function unwound() {
    $t = new Thrown;

    throw new \Exception(
        'x');
}

function long_function() {
    $a = 1;




    eval("\App\point();\n\n\App\point();");
    try {
        throw new \Exception;
    } catch (\Exception $e) {
        point();
    } finally {
        point();
    }
    call_user_func(
        'App\point'
    );
    $f = strlen(...);
    return [
        'a' => point(),
        'b' => $f((string)point()),
    ];
}

function in_fiber() {
    $f = new \Fiber(function () {
        point();
        \Fiber::suspend();
        deep(2);
        # what lies behind the end of this one's stack cannot be read
        $inner = new \Fiber(function () {
            point();
        });
        $inner->start();
    });
    $f->start();
    $f->resume();
}

function main() {
    $w = Worker::make();
    $w->run();
    $w->shout();
    $w->none;
    $w->nothing();
    Worker::nothing();
    "$w";
    $w->größe();
    $w = null;
    deep(5);
    deep(900);
    back_and_forth(60);
    back_and_forth(100);
    foreach (numbers() as $n)
        ;
    iterator_to_array(numbers());
    foreach (delegate(0) as $n)
        ;
    foreach (delegate(4) as $n)
        point();
    try {
        unwound();
    } catch (\Exception $e) {
    }
    long_function();
    PHP_VERSION_ID < 80100 or in_fiber();
    include __DIR__ . '/included.php';
    include_once __DIR__ . '/included.php';
    require __DIR__ . '/included.php';
    new class { function __construct() { point(); } };
    spl_autoload_register(function ($name) { point(); });
    $exists = 'class_exists';
    $exists('App\Missing');
    preg_replace_callback('/x/', function ($m) { point(); return ''; }, 'xx');
    set_error_handler(function () { point(); return true; });
    echo $undefined;
    # the call of a deprecated function is one of the things that execute_ex() does in its part for what is seldom executed
    strftime('%Y');
}

# the first stack, after which the tracer looks at the process
function wait($file) {
    for ($i = 0; $i < 6000 && !file_exists($file); $i++)
        usleep(20000);
}
wait($argv[2]);
\getrusage();
wait($argv[3]);
main();
X
# before 8.1, functions have no other value than their names
if $php -r 'exit(PHP_VERSION_ID < 80100 ? 0 : 1);'; then
	sed -i "s/strlen(\.\.\.)/'strlen'/" points.php
fi
cat >included.php <<'X'
<?php

function_exists('of_file') || eval('function of_file() { App\point(); }');
of_file();
App\point();
X

# one line a stack, the PHP frames of each, without stacks that have none
cat >stacks.php <<'X'
<?php
foreach (explode("\n\n", stream_get_contents(STDIN)) as $block) {
    preg_match_all('/^ *\[ (.*) \]$/m', $block, $found);
    $frames = array_filter($found[1], fn($f) => !preg_match('/ \((App\\\\point|getrusage)\)$/', $f));
    if ($frames)
        echo implode('|', $frames), "\n";
}
X
script='syscall::getrusage:entry /pid == $target/ { jstack(1024); }'
command="$php points.php" stacks="$php stacks.php"

. "$SRC/tests/e2e/stack/compare.inc"

{
	check_begun
	check_running

	# with the JIT, if there is one, also in a file that was written just now
	jit="-d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=32M -d opcache.jit=function"
	if $php $jit -r 'exit(opcache_get_status()["jit"]["on"] ? 0 : 1);' 2>errors; then
		command="$php $jit points.php"
		traced "$script" >jit.txt
		mv got.txt kept.txt
		mv jit.txt got.txt
		check 'with the JIT'
		grep -q '^ *0x' got.txt || echo 'with the JIT: no stack has code of the JIT'
		mv kept.txt got.txt
	else
		jit=
		echo 'with the JIT: 53 stacks'
	fi

	# native frames are where they belong: usort() calls the arrow function
	$php -r '
	foreach (explode("\n\n", file_get_contents("got.txt")) as $block) {
	    $lines = array_map("trim", explode("\n", trim($block)));
	    $at = array_search("[ [internal function] (usort) ]", $lines);
	    if (!$at)
	        continue;
	    $good = strpos($lines[$at - 1], "`execute_ex+") !== false && preg_match("/`/", $lines[$at - 2]) &&
	        preg_match("/App.Worker->(App.)?\{closure[:}]/", implode("", array_slice($lines, 0, $at - 2))) &&
	        preg_match("/_start\+0x[0-9a-f]+$/", end($lines));
	    echo "mixed: ", $good ? "good" : implode("\n", $lines), "\n";
	    break;
	}
	# frames of the program stand at its execute_ex(), also while it is in the part of it that the compiler has put elsewhere
	if (preg_match("/[^\n]*\n *\[ [^\n]*points.php:" . $argv[1] . " .App.main. \]\n[^\n]*{main}[^\n]*\n[^\n]*/", file_get_contents("got.txt"), $found) &&
	    !preg_match("/`zend_execute\+[^\n]*$/", $found[0]))
	    echo "mixed: $found[0]\n";' $(grep -n strftime points.php | sed "s/:.*//")

	# at arbitrary instructions, functions have lines of their own: one that has just begun has no position yet. Each is called by
	# what calls it in the program, and the outermost is {main}, also where the native frames end: in what begins the stack of a fiber,
	# and in code of regular expressions, which has no unwind table.
	cat >busy.php <<'X'
<?php
function one($n) { return $n < 2 ? $n : one($n - 1) + one($n - 2); }
function two($n) { $a = [$n, 2 => $n]; return [$a, "x" . $n]; }
function three($n) { $o = new ArrayObject([$n]); $p = new stdClass; $p->x = $n; return $p; }
class K { public $v = 1; function m($n) { $this->v = [$n]; return static fn($x) => $x . "b"; } }
function four() { $k = new K; $f = $k->m(3); return $f(4); }
function gen($n) { for ($i = 0; $i < $n; $i++) yield $i => [$i]; }
function five() { foreach (gen(5) as $v) $w = $v; return $w; }
function six($n) { try { if ($n) throw new Exception("x"); } catch (Exception $e) { return [$e]; } }
function all() { one(4); two(3); three(2); four(); five(); six(1); seven(); eight(); PHP_VERSION_ID < 80100 or nine(); }
while (!file_exists("met")) all(); $end = getrusage()["ru_utime.tv_sec"] + 2; while (getrusage()["ru_utime.tv_sec"] < $end) all(); @unlink("/ends");
function seven() { $a = [3, 1, 2, 9, 7]; usort($a, function ($x, $y) { return $x <=> $y; }); return $a; }
function eight() { return preg_replace_callback('/o(.)*?l/', function ($m) { return $m[0]; }, str_repeat('hello world', 30)); }
function nine() { $f = new Fiber('within'); $f->start(); while (!$f->isTerminated()) $f->resume(); }
function within() { for ($i = 0; $i < 3; $i++) Fiber::suspend(one(4)); }
X
	for options in "-d opcache.enable_cli=0" "$jit"; do
		# on a busy machine there are few samples: once more, and all together, until each function was seen
		: >got.txt
		for try in 1 2 3 4 5 6; do
			rm -f met
			"$TRIGGER/met" "$DTRACE" -q -n 'syscall::getrusage:entry /pid == $target/ { begun = 1; } syscall::unlink:entry /pid == $target && begun/ { over = 1; }
	    profile-'$rate' /pid == $target && !begun/ { @before[jstack(1)] = count(); } END { trunc(@before); }
	    profile-'$rate' /pid == $target && begun && !over/ { @[jstack(100)] = count(); }' -c "$php $options busy.php" >>got.txt 2>errors
			said=$($php -r '
	$lines = ["one" => 2, "two" => 3, "three" => 4, "K->m" => 5, "K::{closure}" => 5, "K::{closure:K::m():5}" => 5, "four" => 6, "gen" => 7, "five" => 8, "six" => 9, "all" => 10,
	    "seven" => 12, "{closure:seven():12}" => 12, "eight" => 13, "{closure:eight():13}" => 13, "nine" => 14, "within" => 15, "{closure}" => [12, 13]];
	$callers = ["one" => ["one", "all", "within"], "two" => ["all"], "three" => ["all"], "four" => ["all"], "five" => ["all"], "six" => ["all"],
	    "seven" => ["all"], "eight" => ["all"], "nine" => ["all"], "K->m" => ["four"], "K::{closure}" => ["four"],
	    "K::{closure:K::m():5}" => ["four"], "gen" => ["five"], "usort" => ["seven"], "preg_replace_callback" => ["eight"],
	    "{closure}" => ["usort", "preg_replace_callback"], "{closure:seven():12}" => ["usort"], "{closure:eight():13}" => ["preg_replace_callback"],
	    "within" => ["Fiber->start", "Fiber->resume"], "Fiber->start" => ["nine"], "Fiber->resume" => ["nine"], "Fiber::suspend" => ["within"],
	    "all" => ["{main}"]];
	preg_match_all("/busy\\.php:(-?\\d+) \\((.*)\\) \\]/", file_get_contents("got.txt"), $found, PREG_SET_ORDER);
	$seen = $wrong = [];
	foreach ($found as [, $line, $name]) {
	    $seen[$name] = 1;
	    /* the end of the file returns */
	    if ($name == "{main}" ? $line != 11 && $line != 16 : !in_array($line, (array)($lines[$name] ?? 0)))
	        $wrong[] = "$name:$line";
	}
	$all = $whole = 0;
	foreach (explode("\n\n", file_get_contents("got.txt")) as $block) {
	    if (!preg_match("/ ([0-9]+)\n*\$/", $block, $count))
	        continue;
	    preg_match_all("/\[ .*? \((.*)\) \]/", $block, $found);
	    $all += $count[1];
	    # while it is switched, a fiber has no caller
	    $whole += in_array(end($found[1]), ["{main}", "within"]) * $count[1];
	    foreach ($found[1] as $i => $name)
	        if (isset($found[1][$i + 1], $callers[$name]) && !in_array($found[1][$i + 1], $callers[$name]))
	            $wrong[] = $name . " called by " . $found[1][$i + 1];
	}
	$functions = PHP_VERSION_ID < 80100 ? 14 : (PHP_VERSION_ID < 80400 ? 16 : 17);
	$good = !$wrong && $all > 300 / getenv("slow") && $whole >= 0.99 * $all;
	echo "profile: ", $good && count($seen) == $functions ? "good" :
	    ($good && count($seen) < $functions ? "not all were seen: " : "") . json_encode([$wrong, $seen, $all, $whole]), "\n";')
			case $said in *"not all were seen"*) ;; *) break ;; esac
		done
		echo "$said"
	done

	# a version that is not known has native frames, and the user is told
	mkdir unknown
	sed 's,X-Powered-By: PHP/8,X-Powered-By: PHP/9,' ${PHP_FILE:-$php} >unknown/php
	chmod +x unknown/php
	"$TRIGGER/met" "$DTRACE" -q -n "$script" -c "unknown/php points.php noted noted unmet" >got.txt 2>notices
	$php stacks.php <got.txt
	echo "another version: $(grep -c '`execute_ex+' got.txt | sed 's/^[1-9].*/native frames/')"
	grep -o 'this version of PHP.*' notices
} 2>&1
