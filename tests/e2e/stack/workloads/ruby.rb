# SPDX-License-Identifier: MIT
# ruby.rb server|compiler|tests EVERY MOST: a workload that writes down its own stack at each EVERY-th call of a method.
what, every, most = ARGV[0], ARGV[1].to_i, ARGV[2].to_i
require "socket"
require "net/http"
require "erb"
require "set"
ARGV.clear
$out = File.open("noted", "a")
$out.sync = true
$calls = $points = 0
def workload_point
  number = ($points += 1) # its own: other threads may come in between
  text = caller_locations(1).map { |l| "#{"#{l.path}:#{l.lineno} " if l.path}(#{l.label})" }.join("|")
  $out.syswrite(format("POINT:%06d %s\n", number, text))
end
$out.syswrite("POINT:000000 \n")
6000.times { sleep 0.02 unless File.exist?("met") }

def server
  listener = TCPServer.new("127.0.0.1", 0)
  page = ERB.new("<% names.sort.each do |n| %><li><%= n.upcase %></li><% end %>")
  acceptor = Thread.new do
    while (client = listener.accept)
      Thread.new(client) do |c|
        path = c.gets.split[1]
        while (line = c.gets) && line != "\r\n"; end
        names = %w[one two three].map { |n| n + path }
        text = page.result(binding)
        c.write "HTTP/1.0 200 OK\r\nContent-Length: #{text.bytesize}\r\n\r\n#{text}"
        c.close
      end
    end
  end
  4.times.map { Thread.new { 40.times { |i| Net::HTTP.get(URI("http://127.0.0.1:#{listener.addr[1]}/#{i}")) } } }.each(&:join)
  acceptor.kill
end

def compiler
  require "rdoc"
  options = RDoc::Options.new
  options.parse(%w[--quiet --output doc_made] + [Set, ERB].map { |c| $LOADED_FEATURES.grep(/#{c.name.downcase}\.rb$/).first })
  RDoc::RDoc.new.document(options)
end

def tests
  require "minitest"
  Class.new(Minitest::Test) do
    define_singleton_method(:name) { "Sets" }
    200.times { |i| define_method("test_#{i}") { assert_equal i, Set.new(0...i).map(&:to_s).sort_by(&:to_i).size; assert_includes([i], i); assert_raises(ArgumentError) { Integer("x#{i}") } } }
  end
  $stdout.reopen(File::NULL)
  Minitest.run(%w[--seed 1])
end

trace = TracePoint.new(:call, :c_call) do
  unless Thread.current[:inside]
    Thread.current[:inside] = true
    workload_point if ($calls += 1) % every == 0 && $points < most
    Thread.current[:inside] = false
  end
end
trace.enable
send(what)
trace.disable
