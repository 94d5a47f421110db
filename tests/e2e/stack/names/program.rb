# SPDX-License-Identifier: MIT
# Random functions of Ruby for names.py: program.rb COUNT SEED BASE
N, SEED, BASE = ARGV.map(&:to_i)
RNG = Random.new(SEED)
OWN = File.open("own", "w")
$count = 0

SYSCALL = RUBY_VERSION >= "3.4" ? "Kernel#syscall" : "syscall" # the innermost frame is that of this method, at its caller's line

def text(frames)
  "#{frames[0].path}:#{frames[0].lineno} (#{SYSCALL})|" + frames.map { |l| "#{l.path}:#{l.lineno} (#{l.label})" }.join("|")
end

def mark
  $count += 1
  begin
    OWN.write("#{BASE + $count} #{text(caller_locations(0))}\n"); syscall(3, BASE + $count)
  rescue SystemCallError
  end
  $count
end

class Value
  attr_reader :depth
  def initialize(d) = @depth = d
  def <=>(other)
    call(@depth)
    0
  end
  def each
    call(@depth)
    yield 1
  end
  include Enumerable
  def method_missing(name, *rest) = call(@depth)
  def respond_to_missing?(*) = false
  def to_s = call(@depth).to_s
  define_method(:defined) { call(@depth) }
  def self.of_class(d) = call(d)
end

WAYS = [
  "call(d)", "[Value.new(d), Value.new(d)].sort", "[d].map { |x| call(x) }", "[d].each { call(d) }", "1.times { call(d) }", "lambda { call(d) }.call",
  "proc { call(d) }.()", "[3, 1].sort_by { |x| call(d) }", "Value.new(d).map { |x| call(d) }", "Value.new(d).missing", "Value.new(d).defined", "Value.of_class(d)",
  '"#{Value.new(d)}"', "send(:call, d)", "[d].inject(1) { |a, b| call(d) }", "instance_eval { call(d) }", "eval('call(d)')", "catch(:done) { call(d); throw :done }",
  "Hash.new { |h, k| h[k] = call(d) }[1]", "{ a: 1 }.each { |k, v| call(d) }", "(1..1).each_with_index { |x, i| call(d) }", "method(:call).call(d)",
  "method(:call).to_proc.(d)", "[d].each_slice(1) { |x| call(d) }", "tap { call(d) }",
]
STATEMENTS = [
  "begin\n raise ArgumentError, call(d).to_s\n rescue ArgumentError\n call(d)\n end", "begin\n call(d)\n ensure\n call(d)\n end", "2.times do |i|\n call(d - i)\n end",
  "while true\n call(d)\n break\n end", "[1].each do\n [2].each do\n call(d)\n end\n end",
]
$functions = []

def function_make(n)
  name = "function_with_a_long_name_#{%w[a b][n % 2] * RNG.rand(1..60)}_#{n}"
  name = "f\u00fcnction_\u0436_#{n}" if RNG.rand < 0.1
  file = "/srv/application/modules/#{%w[x y][n % 2] * RNG.rand(1..40)}/module_#{n % 97}.rb"
  body = RNG.rand < 0.4 ? STATEMENTS.sample(random: RNG) : WAYS.sample(random: RNG)
  eval("\n" * RNG.rand(500) + "def #{name}(d)\n#{"\n" * RNG.rand(200)} #{body}\n 1\nend\n", TOPLEVEL_BINDING, file, 1)
  name.to_sym
end

def call(d)
  return mark if d <= 0 || $count >= N || RNG.rand < 0.15
  send($functions.sample(random: RNG), d - 1)
end

60.times { |n| $functions << function_make(n) }
n = 60
mark
6000.times do
  break if File.exist?("met")
  sleep 0.02
end
while $count < N
  call(RNG.rand(1..13))
  RNG.rand(3).times do
    i = RNG.rand($functions.size)
    Object.send(:remove_method, $functions[i])
    $functions[i] = function_make(n)
    n += 1
  end
end
mark
