# SPDX-License-Identifier: MIT
"""
A PHP program builds a known graph of values, writes down how they are written, and waits. mdb has to show the same of the process, of a core file that gcore
writes of it, and of the one that the kernel writes when it is killed; and must survive files that are damaged. $PHP is another PHP, 7.4 to 8.4.
"""
import glob, json, os, re, shutil, struct, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
import asked
from asked import TMP, check, failed, line_of, rows, run

PHP = os.environ.get("PHP", "/usr/bin/php8.2")
PROGRAM = r'''<?php
namespace App;

abstract class Base { private $hidden = 1; protected $half = [1]; public $next = null; static $kept = []; }
class Worker extends Base {
    private $hidden = 2;
    public $id, $name;
    function __construct($id, $name) { $this->id = $id; $this->name = $name; }
    function bound($by) { static $calls = 0; $calls++; $seen = 5; return function ($x) use ($by, &$seen) { return $this; }; }
    function run($argument, ...$rest) { $local = [1, 'k' => 2.5]; $gone = 1; unset($gone); return last($local, 'extra', false); }
}
class Typed { public int $unset; public ?Typed $other = null; public string $set = 's'; }
class Holder { public $list; protected $own; function __construct($own) { $this->own = $own; $this->list = ['in' => [1, [$own]]]; } }
class Needle { public $n = 7; }
class Gone { public $n; }
/*ENUM*/
class Plain {}

function shown($v, $name = null) {
    if (is_float($v)) return '<' . bin2hex(pack('E', $v)) . '>';
    if (is_string($v)) {
        $is_utf8 = preg_match('//u', $v);
        return '"' . preg_replace_callback('/[\x00-\x1f"\\\\$\x7f-\xff]/', function ($m) use ($is_utf8) {
            $known = ["\n" => '\n', "\r" => '\r', "\t" => '\t', '"' => '\"', '\\' => '\\\\', '$' => '\$'];
            return $known[$m[0]] ?? ($m[0] >= "\x80" && $is_utf8 ? $m[0] : sprintf('\x%02x', ord($m[0])));
        }, $v) . '"';
    }
    if (is_resource($v)) return 'resource(' . (int)$v . ')';
    if ($v instanceof \Closure) return null;
    if (is_array($v)) {
        $all = [];
        $is_list = $v === [] || array_keys($v) === range(0, count($v) - 1);
        foreach ($v as $k => $x) $all[] = ($is_list ? '' : shown($k) . ' => ') . shown($x);
        return '[' . implode(', ', $all) . ']';
    }
    if (!is_object($v)) return strtolower(var_export($v, true));
    if ($v instanceof \UnitEnum) return get_class($v) . '::' . $v->name;
    $chain = $all = $seen = [];
    for ($c = new \ReflectionClass($v); $c; $c = $c->getParentClass()) array_unshift($chain, $c);
    $chain[] = new \ReflectionObject($v);
    foreach ($chain as $i => $c) {
        foreach ($c->getProperties() as $p) {
            $key = $p->isPrivate() ? $p->class . '::' . $p->name : $p->name;
            if ($p->isStatic() || isset($seen[$key]) || ($p->isDefault() && $p->class !== $c->name)) continue;
            $p->setAccessible(true);
            $seen[$key] = 1;
            if ($p->isInitialized($v)) $all[] = shown($p->name) . ': ' . shown($p->getValue($v));
        }
    }
    return get_class($v) . ' {' . implode(', ', $all) . '}';
}
function json($v) { // an extension that may be missing has a function for it
    if (!is_array($v)) return is_int($v) ? "$v" : '"' . addcslashes($v, '"\\') . '"';
    $all = [];
    foreach ($v as $k => $x) $all[] = json((string)$k) . ':' . json($x);
    return '{' . implode(',', $all) . '}';
}
function say($what) { fwrite(STDERR, json($what) . "\n"); }

function last($list) {
    global $known;
    $number = 3;
    $closure = $GLOBALS['bound'];
    $inner = new Needle;
    say($known);
    fgets(STDIN);
    return 1;
}

$workers = [];
for ($i = 0; $i < 1000; $i++) $workers[] = new Worker($i, "w$i");
$gone = [];
for ($i = 0; $i < 100; $i++) { $g = new Gone; if ($i % 3 == 0) $gone[] = $g; }
unset($g);
$dynamic = new Worker(1, 'd'); $dynamic->late = [1]; $dynamic->{'5'} = 'five'; $dynamic->later = null; unset($dynamic->later);
$cut = new Worker(2, 'c'); unset($cut->id);
$cast = new Worker(3, 'k'); (array)$cast; foreach ($cast as $x); unset($x);
$holes = [1, 2, 3, 4]; unset($holes[1]);
$removed = ['a' => 1, 'b' => 2, 'c' => 3]; unset($removed['b']);
$mixed = [5 => 'x', 'k' => 'y', -3 => 'z', 1 << 62 => 'big'];
$values = [
    'null' => null, 'true' => true, 'false' => false, 'ints' => [0, 1, -1, PHP_INT_MAX, -PHP_INT_MAX],
    'floats' => [0.0, -0.0, 1.5, 0.1, 1e15, 1e16, 5e-324, 1e-5, 1.7976931348623157e308, INF, -INF, NAN],
    'texts' => ['', 'abc', "say \"x\" \$y \\", "a\nb\t\r\x01\x7f", "caf\u{e9} \u{20ac} \u{1f600}", "\xff\x80", "nul\0nul", str_repeat('z', 150)],
    'list' => [1, 'a', null, [2, [3, []]]], 'hash' => ['a' => 1, 'b' => ['c' => 2]], 'mixed' => $mixed, 'holes' => $holes, 'removed' => $removed, 'empty' => [],
    'worker' => new Worker(7, 'seven'), 'dynamic' => $dynamic, 'cut' => $cut, 'cast' => $cast, 'typed' => new Typed, 'plain' => new Plain,
    'std' => (object)['a' => 1, 'b' => (object)[]], 'resource' => STDIN, 'long' => range(1, 300), /*CASES*/
];
$value = 5; $array = [6]; $object = new Plain; $text = 'referred';
$references = [&$value, &$array, &$object, &$text];
$references['self'] = &$references;
$referrer = &$references;
$needle = new Needle;
$holder = new Holder($needle);
$deep = ['a' => ['b' => $needle]];
Base::$kept['one'] = $needle;
$bound = $workers[5]->bound($needle);
$static = static function ($v) { return $v; };
$builtin = \Closure::fromCallable('strlen');
$known = ['values' => [], 'pid' => getmypid(),];
foreach ($values as $k => $v) $known['values'][$k] = shown($v);
unset($k, $v, $i);
$known['count'] = ['App\Worker' => 1004, 'App\Gone' => 34, 'App\Needle' => 2, 'App\Holder' => 1, 'App\Typed' => 1, 'Closure' => 3, 'stdClass' => 2];
$known['bound'] = (new \ReflectionFunction($bound))->getStartLine();
$known['file'] = __FILE__;
$workers[7]->run('arg', 1, [2]);
'''


def written(text):
    """What the program says of a value, with its numbers as they are read again."""
    def number(m):
        x = struct.unpack(">d", bytes.fromhex(m[1]))[0]
        return {"nan": "NAN", "inf": "INF", "-inf": "-INF"}.get(repr(x), repr(x))
    return re.sub(r"<([0-9a-f]{16})>", number, text)


def variables(target):
    """The text of the stack, and the variables of each function."""
    text = run(target, "::phpstack -v")
    frames = re.findall(r"^php: +(\S+)\n +file: (\S+|\[internal function\])\n(?: +posn: line (\d+)\n)?((?: {10}.*\n)*)", text, re.M)
    return text, frames, {f[0]: dict(re.findall(r"^ {10}(\w+): (.*)$", f[3], re.M)) for f in frames}


def word(text):
    return int(text.split()[0], 16)


def values_check(target, known, main):
    names = list(known["values"])
    shown = rows(target, "; ".join(f"{word(main['values']):x}::phpprint -d 40 -n 1000 {n}" for n in names))
    check(len(shown) == len(names), "a row for each value", len(shown))
    for name, row in zip(names, shown):
        text, wanted = line_of(row["rows"][0]["value"]), written(known["values"][name])
        check(text == wanted, f"the value '{name}'", f"{text}\n{wanted}")
    text = line_of(run(target, f"{word(main['references']):x}::phpprint"))
    check(text == '[0 => &5, 1 => &[6], 2 => &App\\Plain {}, 3 => &"referred", "self" => &[<above>]]', "references", text)
    text = line_of(run(target, f"{word(main['bound']):x}::phpprint -d 1"))
    # from PHP 8.4 on, its name has the file and the line
    is_right = re.fullmatch(r'Closure {"function": .*{closure\S*}?.* at %s:%d, "this": App\\Worker {\.\.\.}, "by": App\\Needle {\.\.\.}, "seen": 5}'
                            % (re.escape(known["file"]), known["bound"]), text)
    check(is_right, "a closure has its object and what it has captured", text)
    check(line_of(run(target, f"{word(main['builtin']):x}::phpprint")) == 'Closure {"function": strlen}', "a closure of a function of C")


def members_check(target, known, main):
    values = word(main["values"])
    check(run(target, f"{values:x}::phpprint worker.name").strip() == '"seven"', "a member of a member")
    text = run(target, f"{values:x}::phpprint list.3.1.0 std.a")
    check(text.strip() == '{ "list.3.1.0": 3, "std.a": 1 }', "members in a line", text)
    check(line_of(run(target, f"{values:x}::phpprint -n 3 long")) == "[1, 2, 3, ... 297 more]", "no more than was asked for")
    text = line_of(run(target, f"{values:x}::phpprint -n 2 worker"))
    check(text == 'App\\Worker {"hidden": 1, "half": [1], ... 4 more}', "no more properties than were asked for", text)
    types = {"values": "array", "dynamic": "App\\Worker", "static": "Closure"}
    for name, kind in types.items():
        check(run(target, f"{word(main[name]):x}::phptype").split() == [f"0x{word(main[name]):x}:", kind], f"::phptype of {name}")
    for wrong in (values + 8, 0x1000, 1 << 63):
        text = run(target, f"{wrong:x}::phpprint", status=1)
        check("is no value" in text, f"{wrong:x} is no value", text)


def stack_check(known, text, frames, found):
    check([f[0] for f in frames] == ["fgets", "App\\last", "App\\Worker->run", "{main}"], "frames in their order", text)
    source = PROGRAM.splitlines()
    for name, file, line, _ in frames[1:]:
        call = {"App\\last": "fgets(", "App\\Worker->run": "last(", "{main}": "->run("}.get(name, "none")
        check(file == known["file"] and call in source[int(line) - 1], f"the line of {name}", text)

    def has(frame, wanted):
        seen = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in found.get(frame, {}).items()}
        check(seen == wanted, f"variables of {frame}", f"{seen}\n{wanted}\n{text}")

    has("fgets", {"arg1": "resource(1)"})
    has("App\\last", {"list": "(array)", "known": "(array)", "number": "3", "closure": "(Closure)", "inner": "(App\\Needle)", "arg2": '"extra"', "arg3": "false"})
    has("App\\Worker->run", {"this": "(App\\Worker)", "argument": '"arg"', "rest": "(array)", "local": "(array)"})
    main = found.get("{main}", {})
    check({k: main.get(k) for k in ("value", "text", "g")} == {"value": "5", "text": '"referred"', "g": None}, "variables of {main}", main)


def census_check(target, known, found):
    main = found["{main}"]
    shown = {r["shape"].split(":")[0]: r for r in rows(target, "::findphpobjects")[0]["rows"]}
    for name, count in known["count"].items():
        check(shown.get(name, {}).get("objects") == count, f"objects of {name}: {count}", shown.get(name))
    check(shown["App\\Worker"]["shape"] == "App\\Worker: hidden, half, next, hidden, id, name", "names of properties", shown["App\\Worker"])
    listed = run(target, "::findphpobjects -c App\\Gone -l").split()
    check(len(listed) == len(set(listed)) == known["count"]["App\\Gone"], "each of a class", listed)
    all_refs = rows(target, f"{word(main['needle']):x}::phprefs")[0]["rows"]
    all_refs = [r for r in all_refs if "root" not in r]
    seen = {(r["name"], r["class"].split(":")[0]) for r in all_refs}
    wanted = {("list[in][1][0]", "App\\Holder"), ("by", "Closure"), ("needle", "$GLOBALS"), ("kept[one]", "static properties of App\\Base")}
    check(wanted <= seen, "who refers to an object", seen)
    all_refs = rows(target, f"{word(found['App' + chr(92) + 'last']['inner']):x}::phprefs")[0]["rows"]
    check({(r["name"], r["class"]) for r in all_refs if "root" not in r} == {("inner", "variables of App\\last")}, "a variable refers to an object", all_refs)
    first = json.loads(run(target, "::findphpobjects -c App\\Holder -l", "-o", "json"))["rows"][0]["object"]
    holders = rows(target, f"{int(str(first), 16):x}::phpprint -d 5")[0]["rows"][0]["value"]
    check(line_of(holders).count("App\\Needle") == 2, "the object of a census is a value", holders)
    listed = {r["name"] for r in rows(target, f"{word(main['workers']):x}::phpprint 7 | ::phprefs")[0]["rows"] if "root" not in r}
    check("workers[7]" in listed, "an element of an array of $GLOBALS", listed)


def text_of_all(target, main):
    values = word(main["values"])
    return run(target, f"::phpstack -v; {values:x}::phpprint -d 9; ::findphpobjects; {word(main['needle']):x}::phprefs")


if not os.access(PHP, os.X_OK):
    print("this test needs PHP 8.2 of Debian (package php8.2-cli)")
    sys.exit(67)
enum, cases = "enum Suit: string { case Hearts = 'H'; case Spades = 'S'; }", "'enum' => [Suit::Hearts, Suit::Spades],"
has_enums = subprocess.run([PHP, "-n", "-r", "exit(PHP_VERSION_ID >= 80100 ? 0 : 1);"]).returncode == 0
dynamic = "#[\\AllowDynamicProperties]\nclass Worker" if has_enums else "class Worker"
PROGRAM = PROGRAM.replace("/*ENUM*/", enum if has_enums else "").replace("/*CASES*/", cases if has_enums else "").replace("class Worker", dynamic, 1)
folder = f"{TMP}/run"
os.makedirs(folder)
open(f"{folder}/graph.php", "w").write(PROGRAM)
unlimited()
p = subprocess.Popen([PHP, "-n", f"{folder}/graph.php"], cwd=folder, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
try:
    line = p.stderr.readline()
    known = json.loads(line) if line.startswith(b"{") else sys.exit(f"the program fails: {line + p.stderr.read()}")
    live = ["-p", str(known["pid"])]
    text, frames, found = variables(live)
    main = found.get("{main}", {})
    stack_check(known, text, frames, found)
    values_check(live, known, main)
    members_check(live, known, main)
    census_check(live, known, found)
    wanted = text_of_all(live, main)
    if shutil.which("gcore"):
        subprocess.run(["gcore", "-o", f"{folder}/copy", str(known["pid"])], capture_output=True)
        seen = text_of_all([f"{folder}/copy.{known['pid']}"], main)
        check(seen == wanted, "a core file of gcore has the same", seen)
        values = word(main["values"])
        asked.damage_check(f"{folder}/copy.{known['pid']}", values,
                           ("::phpstack -v", f"{values:x}::phpprint -d 20", f"::findphpobjects; {word(main['needle']):x}::phprefs"))
    with kernel_cores():
        os.kill(known["pid"], 6)
        p.wait(60)
    core = next(iter(glob.glob(f"{folder}/core*")), None)
    check(core, "it leaves a core file")
    if core:
        seen = text_of_all([core], main)
        check(seen == wanted, "a core file of the kernel has the same", seen)
finally:
    if p.poll() is None:
        p.kill()
    p.wait()
sys.exit(1 if failed else 0)
