# SPDX-License-Identifier: MIT
"""
A Ruby program builds a known graph of objects, writes down what it is, and aborts: its core file in mdb, with each Ruby that is installed.
Then the same of a core file of gcore, of a process that lives, and of core files that are damaged.
"""
import glob, json, os, re, shutil, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
import asked
from asked import TMP, check, failed, rows, run

PROGRAM = r'''
require "json"
require "objspace"
require "set"
def at(o) ObjectSpace.dump(o)[/"address":"0x(\w+)"/, 1] end

class Worker
  def initialize(id, name) @id, @name = id, name end
  def add(late) @late = late; self end
end
class Small; def initialize; @only = 1; end; end
class Bare; end
class Big; def initialize; 40.times { |i| instance_variable_set("@v#{i}", i) }; end; end
class Other; def initialize(o) @second = 2; @first = 1; @third = 3 if o end; end
module Deep; class Inner; def initialize; @x = nil; end; end; end
class List < Array; end
class Table < Hash; end
class Wrong < StandardError; def initialize(m, code) super(m); @code = code end; end
Point = Struct.new(:x, :y)
Wide = Struct.new(:a, :b, :c, :d, :e)
Near = Class.new(Point)
def raised
  begin
    begin; Integer("x"); rescue => e; raise Wrong.new("bad", 3); end
  rescue => e; e
  end
end

workers = (0...1000).map { |i| Worker.new(i, "w#{i}") }
smalls = (0...300).map { Small.new }
points = (0...70).map { |i| Point.new(i, nil) }
grown = (1..12).to_h { |i| [i, i.to_s] }
removed = { 1 => 2, 3 => 4, 5 => 6 }
removed.delete(3)
grown.delete(4)
single = Worker.new(7, "seven")
def single.own; end
class Trial; end
loop_of = [1]
loop_of << loop_of
base = "a text that is long enough to be elsewhere, and more of it"
VALUES = {
  "constants" => [nil, true, false],
  "ints" => [0, 1, -1, 255, -5, 2**61, 2**62 - 1, 2**62, -2**62, 2**64, -2**64, 2**100 + 12345, -10**40, 3**300, 2**190, 2**192],
  "floats" => [0.0, -0.0, 1.0, 1.5, -2.25, 0.1, 100.0, 123456.789, 1e14, 1e15, 1e16, 1e100, 12345678901234.5, 1234567890123456.0, 0.0001, 0.00001234, 1e-5,
    2.5e-320, 5e-324, 1.7976931348623157e308, Float::INFINITY, -Float::INFINITY, Float::NAN, 1.0e-200],
  "symbols" => [:a, :long_name, :"a b", :a?, :b!, :c=, :[], :[]=, :+, :<=>, :==, :!, :@iv, :@@cv, :$gv, :Const, :"9x", :"a-b", :"caf\u00e9", :"", :"x@", "dynamic#{workers.size}".to_sym],
  "texts" => ["", "abc", "it's", "say \"x\"", "a\nb\t\r\e\a\b\v\f\\", "\u0001\u007f\0", "caf\u00e9", "\u20ac5", "\u{1F600}!", "\u0436" * 50, "\#{x} \#$y \#@z # #a", base,
    base[5, 40], base.dup << "!", "x" * 23, "x" * 24, "frozen".freeze, "bad\xff\xe2\x82", "\xe9\x01\x7fa".b, "caf\xe9".dup.force_encoding("ISO-8859-1"), "ascii\x02".dup.force_encoding("US-ASCII")],
  "arrays" => [[], [1], [1, "a", nil], [1, 2, 3, 4], [[[[]]]], (0..150).to_a, (0..150).to_a[20, 30], List.new([1, 2])],
  "hashes" => [{}, { 1 => 2 }, { a: 1, "b" => { c: [nil] }, nil => 1.5 }, (1..8).to_h { |i| [i, i] }, grown, removed, Table[1, 2], { [1] => :x }.compare_by_identity],
  "ranges" => [1..2, 1...2, (1..), (..3), -5..-1, "a".."c", 1.5...2.5],
  "structs" => [Point.new(1, "two"), Wide.new(1, 2, 3, 4, [5]), Near.new(3, 4), Struct.new(:only).new(nil)],
  "objects" => [Worker.new(1, "one"), Worker.new(2, "two").add([1, 2]), Small.new, Deep::Inner.new, Other.new(true), Other.new(false), single, Big.new],
  "bare" => [Bare.new, Object.new],
  "classes" => [Worker, Deep, Deep::Inner, Integer, Kernel, Class, Comparable, Class.new, Module.new, Point],
  "regexps" => [/a+b/, /x/mi, /y z/x, /\//],
  "numbers" => [3r, -1/3r, 2i, 3-4i],
  "raised" => [raised, KeyError.new("none"), RuntimeError.new(nil)],
  "sets" => [Set.new, Set.new([1, :a])],
  "times" => [Time.at(1700000000), Time.at(0), Time.at(1, 250000)],
  "procs" => [proc { 1 }, lambda { |x| x }, :upcase.to_proc],
}
SHARED = VALUES.values

# What is expected, of what Ruby says of the value.
def shown(v)
  c = v.singleton_class.ancestors.find { |k| k.is_a?(Class) && !k.singleton_class? } rescue v.class
  case v
  when List then "List [" + v.map { |x| shown(x) }.join(", ") + "]"
  when Array then "[" + v.map { |x| shown(x) }.join(", ") + "]"
  when Hash then (v.class == Hash ? "" : "#{v.class} ") + "{" + v.map { |k, x| shown(k) + "=>" + shown(x) }.join(", ") + "}"
  when Struct then "#<struct " + (c.name ? c.name + " " : "") + v.members.map { |m| "#{m}=#{shown(v[m])}" }.join(", ") + ">"
  when Exception then
    # without a message of its own, it has nil there
    m = v.message == v.class.name ? nil : v.message
    cause = v.cause ? ", cause=" + shown(v.cause) : ""
    "#<#{v.class} " + [shown(m), *v.instance_variables.map { |i| "#{i}=#{shown(v.instance_variable_get(i))}" }].join(", ") + cause + ">"
  when Set then "#<Set @hash={" + v.map { |x| shown(x) + "=>true" }.join(", ") + "}>"
  when Time then v.getutc.strftime("%Y-%m-%dT%H:%M:%S.%LZ")
  when Proc then v.source_location ? "#<Proc #{v.source_location.join(":")}#{v.lambda? ? " (lambda)" : ""}>" : "#<Proc(&:upcase) (lambda)>"
  when Range then v.begin.is_a?(String) || v.begin.is_a?(Float) ? "(#{v.inspect})" : v.inspect.sub("nil..", "..")
  when Regexp then "/" + v.source + "/" + v.inspect[/\w*\z/]
  when Worker, Small, Deep::Inner, Other, Big then "#<#{c.name} " + v.instance_variables.map { |i| "#{i}=#{shown(v.instance_variable_get(i))}" }.join(", ") + ">"
  when Bare then "#<Bare:0x#{at(v).rjust(16, "0")}>"
  when Module then v.name || "#<#{v.class}:0x#{at(v).rjust(16, "0")}>"
  when nil then "nil"
  else v.instance_of?(Object) ? "#<Object:0x#{at(v).rjust(16, "0")}>" : v.inspect
  end
end

class Caller
  def initialize; @mark = "of caller"; end
  def outer(first, second = [2], *rest, key: :k, &block)
    number = 3.25
    [first].each { |item| inside = item; finish(item, block) }
    number
  end
  def finish(kind, block)
    shared = { "k" => kind }
    count = 0
    captured = proc { |x| here = x; proc { [here, count, shared] } }
    nested = captured.call("arg")
    GC.start
    GC.disable
    counts = [Worker, Small, Point, Near, Deep::Inner, Class, Module, Regexp, Rational, Set, Table].to_h { |c| [c.name, 0] }
    known = { values: VALUES.transform_values { |l| l.map { |v| shown(v) } }, at: VALUES.transform_values { |l| at(l) }, procs: at(nested), hash: at(VALUES) }
    known[:workers] = at($workers)
    known[:first] = at($workers[0])
    known[:name] = at($workers[0].instance_variable_get(:@name))
    known[:late] = at(VALUES["objects"][1].instance_variable_get(:@late))
    known[:late_of] = at(VALUES["objects"][1])
    known[:loop] = at($loop)
    known[:word] = at(VALUES["texts"][11])
    counts.each_key do |n|
      k = Object.const_get(n)
      counts[n] = ObjectSpace.each_object(k).count { |o| o.instance_of?(k) && !(Class === o && o.singleton_class?) }
    end
    known[:counts] = counts
    File.write(ARGV[0], JSON.generate(known))
    Process.kill("ABRT", $$) if kind == "core"
    puts "ready"
    $stdout.flush
    $stdin.gets
    [captured, count]
  end
end
$workers, $loop = workers, loop_of
KEPT = [smalls, points]
Caller.new.outer(ARGV[1], [7], 8, 9, key: "v") { }
'''


def line_of(text):
    """A value in several lines, in one."""
    text = re.sub(r"(#<[^\n,]*[^\n,=])\n *", r"\1 ", text.strip())
    text = re.sub(r",?\n *", lambda m: ", " if m[0][0] == "," else "", text)
    return re.sub(r",? (?=[\])}>])", "", re.sub(r", (?=[\])}>])", "", text))


def values_check(target, known):
    names = [(n, i) for n in known["values"] for i in range(len(known["values"][n]))]
    commands = "; ".join(f"{known['at'][n]}::rbprint -d 40 -n 1000 {i}" for n, i in names)
    shown = rows(target, commands)
    check(len(shown) == len(names), "a row for each value", len(shown))
    for (name, i), row in zip(names, shown):
        text, wanted = line_of(row["rows"][0]["value"]), known["values"][name][i]
        check(text == wanted, f"value {i} of '{name}'", f"{text}\n{wanted}")


def members_check(target, known):
    at = known["at"]
    check(run(target, f"{known['first']}::rbprint @name").strip() == '"w0"', "a member")
    check(run(target, f"{known['hash']}::rbprint objects.1.@late.1").strip() == "2", "a member of a member")
    check(run(target, f"{known['first']}::rbprint @id @name").strip() == '{ "@id": 0, "@name": "w0" }', "members in a line")
    text = run(target, f"{at['arrays']}::rbprint -n 3 5")
    check(line_of(text) == "[0, 1, 2, ... 148 more]", "no more than was asked for", text)
    text = run(target, f"{known['hash']}::rbprint -d 1 raised.0")
    check(line_of(text).startswith('#<Wrong "bad", @code=3, cause=#<ArgumentError'), "no deeper than was asked for", text)
    check(line_of(run(target, f"{known['loop']}::rbprint")) == "[1, [<above>]]", "a loop")
    check(run(target, f"{known['first']}::rbtype").split() == [f"0x{known['first']}:", "Worker"], "::rbtype")
    check(run(target, "3::rbtype; 14::rbprint").split() == ["0x3:", "Integer", "true"], "words that are no address")
    for wrong in (int(known["first"], 16) + 8, 0x10000, 1 << 62, int(known["first"], 16) + (1 << 36)):
        text = run(target, f"{wrong:x}::rbprint", status=1)
        check("is no value" in text, f"{wrong:x} is no value", text)


def closure_check(target, known):
    text = run(target, f"{known['procs']}::rbclosure -d 2")
    scopes = [line_of(s) for s in re.split(r"(?m)^(?=Scope)", text) if s]
    check(len(scopes) == 2 and scopes[0] == 'Scope {"x": "arg", "here": "arg"}', "variables of the block around a proc", text)
    check('"shared": {"k"=>' in scopes[1] and '"count": 0' in scopes[1], "variables of the method around it", text)


def stack_check(target, kind):
    text = run(target, "::rbstack -v")
    frames = re.findall(r"^rb: +(.*)\n +file: (\S+)\n +posn: line (\d+)\n((?: {10}.*\n)*)", text, re.M)
    names = [f[0] for f in frames]
    wanted = ["finish", "block in outer", "each", "outer", "<main>"]
    check(names[-5:] == wanted and names[:-5] in (["kill"], ["gets"]), "frames in their order", text)
    source = PROGRAM.splitlines()
    for name, file, line, _ in frames:
        check(file == f"{TMP}/graph.rb" and 0 < int(line) <= len(source), f"the place of {name}", text)
    found = {name: dict(re.findall(r"^ {10}(\w+): (.*)$", rest, re.M)) for name, _, _, rest in frames}

    def has(frame, variables):
        seen = {k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in found.get(frame, {}).items()}
        check({k: v for k, v in seen.items() if k in variables} == variables, f"variables of {frame}", f"{seen}\n{variables}\n{text}")

    has("outer", {"self": "(Caller)", "first": f'"{kind}"', "second": "(Array)", "rest": "(Array)", "key": '"v"', "number": "3.25"})
    has("block in outer", {"self": "(Caller)", "item": f'"{kind}"', "inside": f'"{kind}"'})
    has("each", {"self": "(Array)"})
    has("finish", {"kind": f'"{kind}"', "shared": "(Hash)", "count": "0", "counts": "(Hash)"})


def census_check(target, known):
    table = rows(target, "::findrbobjects")[0]["rows"]
    for name, count in known["counts"].items():
        got = sum(r["objects"] for r in table if r["shape"] == name + ":" or r["shape"].startswith(name + ": "))
        check(got == count, f"objects of {name}: {count}", got)
    shapes = {r["shape"] for r in table}
    check({"Point: x, y", "Small: @only"} <= shapes and any(s.startswith("Worker: @id, @name") for s in shapes), "names of variables", sorted(shapes))
    if "-p" in target:
        return
    text = run(target, "::findrbobjects -p @only")
    check(re.search(rf" {known['counts']['Small']} +\d+ Small: @only$", text, re.M) and "Worker" not in text, "objects with a variable", text)
    listed = run(target, "::findrbobjects -c Point -l").split()
    check(len(listed) == len(set(listed)) == known["counts"]["Point"], "each of a class", len(listed))
    check(run(target, "::findrbobjects -c Point -l | ::rbtype").split().count("Point") == known["counts"]["Point"], "what a census lists is of the class")

    wanted = [(known["first"], known["workers"], "[0]", "Array"), (known["name"], known["first"], "@name", "Worker"),
              (known["late"], known["late_of"], "@late", "Worker"), (known["at"]["objects"], known["hash"], "objects", "Hash")]
    for (word, holder, name, cls), document in zip(wanted, rows(target, "; ".join(f"{w[0]}::rbrefs" for w in wanted))):
        found = {str(r["object"]).replace("0x", ""): (r["name"], r["class"].split(":")[0]) for r in document["rows"] if "object" in r}
        check(found.get(holder) == (name, cls), f"{name} of {cls} refers to the object", found)


def program_run(ruby, kind):
    folder = f"{TMP}/{kind}"
    os.makedirs(folder, exist_ok=True)
    return subprocess.Popen([ruby, "--disable-gems", f"{TMP}/graph.rb", f"{TMP}/known", kind], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env={**os.environ, "LC_ALL": "C.UTF-8"})


open(f"{TMP}/graph.rb", "w").write(PROGRAM)
unlimited()
rubies = [os.environ["RUBY"]] if "RUBY" in os.environ else [p for p in ("/usr/bin/ruby%s" % v for v in ("2.7", "3.0", "3.1", "3.2", "3.3")) if os.access(p, os.X_OK)]
if not rubies:
    print("no Ruby 2.7 to 3.3 is installed")
    sys.exit(67)
for i, ruby in enumerate(rubies):
    asked.version = ruby
    with kernel_cores():
        program_run(ruby, "core").communicate()
    core = next(iter(glob.glob(f"{TMP}/core/core*")), None)
    if not core:
        check(False, "it leaves a core file")
        continue
    known = json.load(open(f"{TMP}/known"))
    values_check([core], known)
    members_check([core], known)
    closure_check([core], known)
    stack_check([core], "core")
    census_check([core], known)
    if i == 0 and os.path.getsize(core) < 200 << 20:  # that of 3.3 has much that was reserved only
        asked.damage_check(core, int(known["hash"], 16), [f"::rbstack -v; {known['hash']}::rbprint -d 20; ::findrbobjects; {known['first']}::rbrefs; "
                                                          f"{known['procs']}::rbclosure"], every=512, align=8)
    os.unlink(core)

asked.version = rubies[0]
p = program_run(asked.version, "live")
try:
    check(p.stdout.readline() == b"ready\n", "the program begins")
    known = json.load(open(f"{TMP}/known"))
    for target in (["-p", str(p.pid)], [f"{TMP}/live/core.{p.pid}"]):
        if target[0] != "-p":
            if not shutil.which("gcore"):
                continue
            subprocess.run(["gcore", "-o", f"{TMP}/live/core", str(p.pid)], capture_output=True, timeout=120)
        values_check(target, known)
        stack_check(target, "live")
        census_check(target, known)
    p.communicate(b"\n", timeout=60)
    check(p.returncode == 0, "it goes on to its end", p.returncode)
finally:
    if p.poll() is None:
        p.kill()
    p.wait()
sys.exit(1 if failed else 0)
