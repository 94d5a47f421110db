# Stacks of Ruby: at points where the program writes down caller_locations(0), every frame of Ruby and of C methods is there, in order,
# with file, line and label; native frames stand where they belong. The program runs before and while it is traced, in threads, fibers,
# blocks, evaluated text, deep recursion; it needs no flag. Then the same with code that YJIT has made.
ruby=${RUBY:-/usr/bin/ruby3.1}
if [ ! -x $ruby ]; then
	echo "this test needs Ruby 3.1 of Debian (package ruby3.1)"
	exit 67
fi
export LC_ALL=C.UTF-8
cd "$TMP" || exit 1

cat >points.rb <<'X'
$out = File.open(ARGV[0], "w")

# the first stack, after which the tracer looks at the process
def wait(file); 6000.times { sleep 0.02 unless File.exist?(file) }; end
wait ARGV[1]
Process.ppid
wait ARGV[2]

def point(*)
  $out.puts caller_locations(0).map { |l| "#{"#{l.path}:#{l.lineno} " if l.path}(#{l.label})" }.join("|"); Process.ppid
end

class Worker
  point
  def self.all; point; end
  def step
    [3, 1, 2].sort_by { |x| point; x }
  end
  define_method(:defined) { [1].map { point } }
  def method_missing(name, *); point; end
  def respond_to_missing?(*); true; end
  def coerce(other)
    point
    [1, 2]
  end
  def <=>(other); point && 0; end
  include Comparable
  def to_s; "#{point}"; end
  def größe; point; end
  class << self
    def single; tap { point }; end
  end
end

def deep(n)
  return deep(n - 1) if n > 0
  point
end

def back_and_forth(n)
  case n > 0 && n % 4
  when 0 then return [n - 1].each { |i| back_and_forth(i) }
  when 1 then return [n - 1, 0].sort_by { |i| i == n - 1 && n != 1 ? back_and_forth(i) && 1 : 0 } if n > 1
  when 2 then return [n - 1].map { |i| back_and_forth(i) }
  when 3 then return { n - 1 => 0 }.each_pair { |i, _| back_and_forth(i) }
  end
  point
end

def exceptions
  begin
    raise "x"
  rescue
    point
    begin
      Integer("y")
    rescue ArgumentError
      point
    else
      0
    ensure
      point
    end
  end
  catch(:done) { point; throw :done }
  point
end

# the line tables of long methods have blocks of 512 instructions
def long_text(n)
  "def long_#{n}\n" + (1..n).map { |i| i % 37 == 0 ? "point\n" : "a = [#{i}]\n" }.join + "point; end"
end

def main
  Worker.all
  w = Worker.new
  w.step
  w.defined
  w.unknown(1)
  1 + w
  w == Worker.new
  w.clamp(w, w)
  "#{w}"
  w.größe
  w.send(:größe)
  w.method(:größe).call
  Worker.single
  deep(5)
  deep(900)
  back_and_forth(60)
  back_and_forth(80)
  exceptions
  [20, 60, 300, 1500].each { |n| eval(long_text(n), TOPLEVEL_BINDING, "long.rb", 7); send("long_#{n}") }
  eval("point\n\npoint")
  w.instance_eval { point }
  Worker.class_eval("point\ndef evaluated\n point\nend")
  w.evaluated
  Class.new { point; def anonymous; point; end }.new.anonymous
  e = Enumerator.new { |y| point; y << 1; point; y << 2 }
  e.next
  e.next
  Fiber.new { point; Fiber.yield; point }.tap(&:resume).resume
  Thread.new { exceptions; [1].each_slice(1) { point } }.join
  Hash.new { |h, k| point }[1]
  loop { point; break }
  3.times { |i| point if i == 1 }
  1.step(2) { point }
  [1].lazy.map { point }.first
  [:point].each(&method(:send))
  proc { |x| ->(y) { point }.(x) }.(1)
  Struct.new(:a) { def a; point; end }.new(1).a
  [[1, 2], [3]].inject { |a, b| point; a }
  "abc".gsub(/b/) { point; "" }
  { a: 1 }.each_pair { |k, v| point }
  for i in 1..1 do point end
  /#{point}/o
  at_exit { point; $out.close }
end

main
X

# stacks.rb < output: one line a stack, the Ruby frames of each, without stacks that have none
cat >stacks.rb <<'X'
$stdin.read.split("\n\n").each do |block|
  found = block.lines.map(&:strip).filter_map { |l| l[2..-3] if l.start_with?("[ ") && l.end_with?(" ]") }
  # the innermost one is the C method that makes the system call
  puts found.drop(1).join("|") if found[0]&.match?(/ \((Process\.)?ppid\)$/)
end
X
script='syscall::getppid:entry /pid == $target/ { jstack(1024); }'
stacks="$ruby stacks.rb"

. "$SRC/tests/e2e/stack/compare.inc"

# all_checks [OPTION]: of a program that Ruby runs with the option
all_checks() {
	command="$ruby $1 points.rb"
	check_begun
	check_running

	# native frames are where they belong: Array#sort_by calls the block, which calls point()
	$ruby - <<'X'
# from 3.4 on, labels have the class
CLASS = /(?<=[( ])[A-Z][\w:]*[#.](?=[^)]+\) \])/
File.read("got.txt").split("\n\n").each do |block|
  lines = block.lines.map { |l| l.strip.sub(CLASS, "") }.reject(&:empty?)
  at = lines.index { |l| l.include?("(block in step)") } or next
  step = lines.index { |l| l.include?("(step)") }
  good = lines[0].include?("getppid") && lines[at + 1].include?("`") && lines[step - 3].match?(/`(rb_vm_exec|\+?0x)/) &&
         lines[step - 2].include?("(each)") && lines[step - 1].include?("(sort_by)") && lines[-1].include?("`_start+0x")
  puts "mixed: #{good ? 'good' : lines}"
  break
end
X

	# as a key: one for each place, with a sum that is the number of calls and of the one before the helper was there
	traced 'syscall::getppid:entry /pid == $target/ { @[jstack(1024)] = count(); }' >got.txt
	$ruby - <<'X'
noted = File.readlines("noted")
counts = File.read("got.txt").scan(/^ +(\d+)$/).flatten.map(&:to_i)
puts "keys: #{counts.size > noted.uniq.size && counts.sum == noted.size + 1 ? 'good' : [counts.sum, noted.size, noted.uniq.size, counts]}"
X

	# at arbitrary instructions: each frame is called by what calls it in the program, also one that has just been made and that no
	# native frame runs yet, and the outermost is <main>, or what a fiber begins with. While one fiber switches to another, which
	# emulated machines interrupt more often, the machine stack is the one's, and the control frames are the other's already.
	cat >busy.rb <<'X'
def one(n) n < 2 ? n : one(n - 1) + one(n - 2) end
def two; [3, 1, 2, 9, 7].sort { |x, y| x <=> y } end
def three; [3, 1, 2, 9, 7].each_slice(2).map { |x| x } end
class K; attr_reader :v; def initialize(v) @v = v end; def <=>(other) v <=> other.v end; include Comparable end
def four; [K.new(1), K.new(3), K.new(2)].sort end
def five; Fiber.new { one(3) }.resume end
def six; "hello world".gsub(/o/) { |m| m } end
def all; one(5); two; three; four; five; six end
until File.exist?("met"); end; Process.getpgid(0); stop = Process.clock_gettime(2) + 3; while Process.clock_gettime(2) < stop; all end; Process.getsid
X
	rm -f met
	"$TRIGGER/met" "$DTRACE" -q -n 'syscall::getpgid:entry /pid == $target/ { begun = 1; } syscall::getsid:entry /pid == $target/ { over = 1; }
	    profile-'$rate' /pid == $target && !begun/ { @before[jstack(1)] = count(); } END { trunc(@before); }
	    profile-'$rate' /pid == $target && begun && !over/ { @[jstack(100)] = count(); }' -c "$ruby $1 busy.rb" >got.txt 2>errors
	$ruby - <<'X'
callers = { "one" => ["one", "all", "block in five"], "two" => ["all"], "three" => ["all"], "four" => ["all"], "five" => ["all"],
            "six" => ["all"], "all" => ["<main>"], "sort" => ["two", "four"], "block in two" => ["sort"], "block in three" => ["each", "each_slice"],
            "each_slice" => ["each", "three"], "<=>" => ["sort", "<=>", "block in two"], "initialize" => ["new"],
            "new" => ["four", "five"], "gsub" => ["six"], "block in six" => ["gsub"], "resume" => ["five"] }
lines = { "one" => 1, "two" => 2, "block in two" => 2, "three" => 3, "block in three" => 3, "four" => 5, "five" => 6, "block in five" => 6,
          "six" => 7, "block in six" => 7, "all" => 8, "<main>" => 9 }
all = whole = 0
wrong = []
seen = {}
File.read("got.txt").split("\n\n").each do |block|
  count = block[/^ +(\d+)\s*\z/, 1].to_i
  # from 3.4 on, labels have the class
  found = block.scan(/\[ busy\.rb:(\d+) \((.*)\) \]/).map { |line, name| [line, name.sub(/(^| )[A-Z]\w*[#.]/, '\1')] }
  # where a fiber begins and ends, it has no frame of Ruby
  all += count unless found.empty? && !block.match?(/`_start\+|\[cut\]/)
  whole += count if ["<main>", "block in five"].include?(found.last&.last)
  found.each_with_index do |(line, name), i|
    seen[name] = 1
    wrong << "#{name}:#{line}" if lines[name] && lines[name] != line.to_i
    wrong << "#{name} called by #{found[i + 1][1]}" if found[i + 1] && callers[name] && !callers[name].include?(found[i + 1][1])
  end
end
good = wrong.empty? && (callers.keys - seen.keys).size < 3 && all > 1000 / ENV['slow'].to_i && whole >= (ENV['slow'] == '1' ? 0.998 : 0.99) * all
puts "profile: #{good ? 'good' : [wrong.uniq.first(9), callers.keys - seen.keys, all, whole]}"
X
}

{
	all_checks
	jit=--yjit-call-threshold=2
	if [ "$($ruby $jit -e 'p RubyVM::YJIT.enabled?' 2>errors)" = true ]; then
		echo 'with YJIT:'
		all_checks $jit
	else
		# this Ruby has no YJIT
		printf 'with YJIT:\n%s: 110 stacks\n%s: 110 stacks\nmixed: good\nkeys: good\nprofile: good\n' 'a program that begins' 'a process that runs'
	fi
} 2>&1
