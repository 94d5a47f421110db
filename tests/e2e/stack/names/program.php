<?php
// SPDX-License-Identifier: MIT
// Random functions of PHP for names.py: program.php COUNT SEED BASE
[, $N, $SEED, $BASE] = array_map('intval', $argv);
mt_srand($SEED);
$own = fopen('own', 'w');
$count = 0;

function text(array $trace) {
    $frames = [];
    foreach ($trace as $i => $call) {
        if (!$i)
            continue;
        $name = strtok($call['class'] ?? '', "\0") . ($call['type'] ?? '') . $call['function'];
        $place = isset($trace[$i - 1]['file']) ? $trace[$i - 1]['file'] . ':' . $trace[$i - 1]['line'] : '[internal function]';
        $frames[] = "$place ($name)";
    }
    $end = end($trace);
    $frames[] = "$end[file]:$end[line] ({main})";
    return implode('|', $frames);
}

function mark() {
    global $count, $own, $BASE;
    $count++;
    $t = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS); array_unshift($t, ['file' => __FILE__, 'line' => __LINE__, 'function' => 'unlink']); fwrite($own, $BASE + $count . ' [internal function] (unlink)|' . text($t) . "\n"); @unlink('/nonexistent/names/' . $BASE + $count);
    return $count;
}

class Value implements IteratorAggregate, ArrayAccess, Countable {
    public function __construct(private $depth) {}
    function __get($name) { call($this->depth); return 1; }
    function __call($name, $args) { call($this->depth); return 1; }
    static function __callStatic($name, $args) { call($args[0]); return 1; }
    function __toString() { call($this->depth); return 'x'; }
    function __invoke() { call($this->depth); return 1; }
    function method() { call($this->depth); return 1; }
    static function ofClass($d) { call($d); return 1; }
    function getIterator(): Iterator { call($this->depth); yield 1; }
    function offsetExists($k): bool { call($this->depth); return true; }
    function offsetGet($k): mixed { call($this->depth); return 1; }
    function offsetSet($k, $v): void { call($this->depth); }
    function offsetUnset($k): void { call($this->depth); }
    function count(): int { call($this->depth); return 1; }
}
class Gone {
    public function __construct(private $depth) {}
    function __destruct() { call($this->depth); }
}

const WAYS = [
    'call($d);', '$l = [2, 1]; usort($l, function ($a, $b) use ($d) { call($d); return $a <=> $b; });', 'array_map("call", [$d]);', 'array_filter([$d], fn($x) => call($x));',
    'array_reduce([1], fn($a, $b) => call($d));', '(function () use ($d) { call($d); })();', '(fn() => call($d))();', 'call_user_func("call", $d);',
    'call_user_func_array([new Value($d), "method"], []);', '$x = (new Value($d))->missing;', '(new Value($d))->absent();', 'Value::absent($d);', '$x = "" . new Value($d);',
    '(new Value($d))();', '(new Value($d))->method();', 'Value::ofClass($d);', 'foreach (new Value($d) as $x) { call($d); }', '$x = (new Value($d))[1];', '$v = new Value($d); $v[1] = 2;',
    '$x = isset((new Value($d))[1]);', '$x = count(new Value($d));', '$x = new Gone($d); unset($x);', 'eval("call(\$d);");', 'try { throw new Exception; } catch (Exception $e) { call($d); }',
    'try { call($d); } finally { call($d); }', 'foreach ((function () use ($d) { yield call($d); })() as $x) { call($d); }', 'foreach ((function () use ($d) { yield from (function () use ($d) { yield call($d); })(); })() as $x);',
    'for ($i = 1; $i < 3; $i++) call($d - $i);', 'preg_replace_callback("/a/", function ($m) use ($d) { call($d); return ""; }, "a");', '$f = call(...); $f($d);',
    '$f = Closure::fromCallable("call"); $f($d);', '$x = [1, call($d), 2];', '$x = match (true) { default => call($d) };', 'return call($d);', '$l = [[1]]; array_walk_recursive($l, fn() => call($d));',
];
$functions = [];

function call($d) {
    global $count, $N, $functions;
    if ($d <= 0 || $count >= $N || mt_rand(0, 99) < 15)
        return mark();
    return $functions[mt_rand(0, count($functions) - 1)]($d - 1);
}

/* A function that can go away again is a closure, in a file of its own. */
function function_make($n) {
    $file = getcwd() . '/' . str_repeat($n % 2 ? 'x' : 'y', mt_rand(1, 40)) . '_module_' . $n % 97 . '.php';
    $class = 'Class_with_a_long_name_' . str_repeat($n % 2 ? 'a' : 'b', mt_rand(1, 60)) . "_$n";
    $way = WAYS[mt_rand(0, count(WAYS) - 1)];
    $blank = str_repeat("\n", mt_rand(0, 300));
    if (mt_rand(0, 2))
        $source = "return function (\$d) {\n$blank    $way\n    return 1;\n};\n";
    else
        $source = "class $class {\n$blank    function a_method_with_a_long_name_$n(\$d) {\n        $way\n        return 1;\n    }\n}\nreturn [new $class, 'a_method_with_a_long_name_$n'];\n";
    file_put_contents($file, '<?php ' . str_repeat("\n", mt_rand(0, 200)) . $source);
    return require $file;
}

for ($n = 0; $n < 60; $n++)
    $functions[] = function_make($n);
mark();
for ($i = 0; $i < 6000; $i++) {
    clearstatcache();
    if (file_exists('met'))
        break;
    usleep(20000);
}
while ($count < $N) {
    call(mt_rand(1, 13));
    for ($k = mt_rand(0, 2); $k; $k--)
        $functions[mt_rand(0, count($functions) - 1)] = function_make($n++);
}
mark();
