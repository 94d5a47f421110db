# Ruby in a program in C, as a library: called from main(), from a thread, from the other side of a released lock, from blocks in C. At points where Ruby
# writes down caller_locations(0), every frame is there; threads that have never run Ruby have native frames only. At arbitrary instructions,
# each frame is called by what calls it in the program, and the outermost is the one that C has called.
if ! pkg-config --exists ruby-3.1 2>/dev/null || [ ! -x /usr/bin/ruby3.1 ]; then
	echo "this test needs Ruby 3.1 of Debian as a library (packages ruby3.1-dev, pkg-config)"
	exit 67
fi
cd "$TMP" || exit 1
cat >host.c <<'Y'
#include <pthread.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int is_over;

/* ---- points ---- */

static VALUE call(VALUE n)
{
	rb_funcall(rb_cObject, rb_intern("from_c"), 1, n);
	return Qnil;
}

static VALUE run(void *n)
{
	return call(LONG2NUM((long)n));
}

static void *with_lock(void *ctx)
{
	call(INT2FIX(7));
	return ctx;
}

static void *without_lock(void *ctx)
{
	rb_thread_call_with_gvl(with_lock, NULL);
	return ctx;
}

static VALUE release(VALUE self)
{
	rb_thread_call_without_gvl(without_lock, NULL, RUBY_UBF_IO, NULL);
	return Qnil;
}

static VALUE protect(VALUE self)
{
	int status;

	rb_protect(call, INT2FIX(9), &status);
	return Qnil;
}

static VALUE yield(VALUE self)
{
	rb_yield(INT2FIX(3));
	return Qnil;
}

static VALUE in_block(RB_BLOCK_CALL_FUNC_ARGLIST(x, data))
{
	return rb_funcall(rb_cObject, rb_intern("step"), 1, x);
}

static VALUE over(VALUE self, VALUE list)
{
	rb_block_call(list, rb_intern("each"), 0, NULL, in_block, Qnil);
	return Qnil;
}

static void *alone(void *ctx)
{
	do
		syscall(SYS_getppid);
	while (!is_over);
	return ctx;
}

/* ---- a profile ---- */

static VALUE run_busy(void *n)
{
	while (!is_over)
		rb_funcall(rb_cObject, rb_intern("busy"), 1, LONG2NUM((long)n));
	return Qnil;
}

static void busy(void)
{
	struct timespec begin, now;
	pthread_t thread;
	VALUE threads[2];

	syscall(SYS_getpgid, 0);
	is_over = 0;
	pthread_create(&thread, NULL, alone, NULL);
	for (long i = 0; i < 2; i++)
		threads[i] = rb_thread_create(run_busy, (void *)(4 + i));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin); /* a third of what three threads have */
	do {
		rb_funcall(rb_cObject, rb_intern("busy"), 1, INT2FIX(3));
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 1000);
	is_over = 1;
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++)
		rb_funcall(threads[i], rb_intern("join"), 0);
	syscall(SYS_getsid, 0);
}

int main(int argc, char **argv)
{
	int status = 0;
	pthread_t thread;

	ruby_sysinit(&argc, &argv);
	RUBY_INIT_STACK;
	ruby_init();
	ruby_init_loadpath();
	ruby_script("host");
	ruby_set_argv(argc - 1, argv + 1);
	rb_define_global_function("release", release, 0);
	rb_define_global_function("protect", protect, 0);
	rb_define_global_function("yield_c", yield, 0);
	rb_define_global_function("over", over, 1);
	rb_load_protect(rb_str_new_cstr("./host.rb"), 0, &status);
	if (status) {
		rb_p(rb_errinfo());
		return 1;
	}
	if (argc < 5) {
		call(INT2FIX(1));
		rb_eval_string_protect("from_c(2); release\nyield_c { |x| from_c(x) }; protect; over([1, 2])", &status);
		rb_funcall(rb_thread_create(run, (void *)4), rb_intern("join"), 0);
		is_over = 1;
		pthread_create(&thread, NULL, alone, NULL);
		pthread_join(thread, NULL);
	} else {
		busy();
	}
	return ruby_cleanup(0);
}
Y
cat >host.rb <<'Y'
$out = File.open(ARGV[0], "w")
def wait(file); 6000.times { sleep 0.02 unless File.exist?(file) }; end
wait ARGV[1]
Process.ppid
wait ARGV[2]
def point(*)
  $out.puts caller_locations(0).map { |l| "#{"#{l.path}:#{l.lineno} " if l.path}(#{l.label})" }.join("|"); $out.flush; Process.ppid
end
def from_c(n) = n > 0 ? [n].each { |x| point; from_c(n - 1) if n < 3 } : point
def step(x) = point
point

def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
def busy(n)
  fib(n)
  yield_c { |x| fib(x) }
  [3, 1, 2].sort_by { |x| fib(x) }
end
Y
cat >stacks.rb <<'Y'
$stdin.read.split("\n\n").each do |block|
  lines = block.lines.map(&:strip)
  found = lines.filter_map { |l| l[2..-3] if l.start_with?("[ ") && l.end_with?(" ]") }
  puts found.drop(1).join("|") if found[0]&.end_with?(" (ppid)")
  at = lines.index { |l| l.include?("`with_lock+") }
  whole = lines.last&.match?(/`(_start|clone3)\+/)
  good = at && lines[at - 3].include?("(from_c)") && lines[at + 2].include?("`without_lock+") && lines.any? { |l| l.end_with?(":1 (release) ]") }
  $stderr.puts "native frames: #{lines}" unless found.empty? || whole && (good || !at)
  $stderr.puts "a thread without Ruby: #{lines}" if lines.any? { |l| l.include?("`alone+") } && !(whole && found.empty?)
end
Y
script='syscall::getppid:entry /pid == $target/ { jstack(1024); }'
stacks='/usr/bin/ruby3.1 stacks.rb'

. "$SRC/tests/e2e/stack/compare.inc"

{
	# shellcheck disable=SC2046 # several options
	gcc -w -O1 -fno-optimize-sibling-calls -o host host.c $(pkg-config --cflags --libs ruby-3.1) -lpthread || exit 1
	command=./host
	check_begun
	check_running

	rm -f met
	command='./host noted noted met busy'
	"$TRIGGER/met" "$DTRACE" -q -x aggsize=64m -n 'syscall::getpgid:entry /pid == $target/ { begun = 1; } syscall::getsid:entry /pid == $target/ { over = 1; }
	    syscall::getppid:entry /pid == $target && !begun/ { @before[jstack(1)] = count(); } END { trunc(@before); }
	    profile-'$rate' /pid == $target && begun && !over/ { @[jstack(100)] = count(); }' -c "$command" >got.txt
	/usr/bin/ruby3.1 - <<'Y'
callers = { "fib" => ["fib", "busy", "block in busy"], "block in busy" => ["yield_c", "each"], "yield_c" => ["busy"], "each" => ["sort_by"], "sort_by" => ["busy"] }
lines = { "fib" => [13], "busy" => [15, 16, 17, 18], "block in busy" => [16, 17], "yield_c" => [16], "each" => [17], "sort_by" => [17] }
all = whole = 0
wrong = []
File.read("got.txt").split("\n\n").each do |block|
  count = block[/^ +(\d+)\s*\z/, 1].to_i
  found = block.scan(/\[ .*host\.rb:(\d+) \((.*)\) \]/)
  wrong << block if block.include?("`alone+") && !found.empty?
  next if found.empty?
  all += count
  whole += count if found.last.last == "busy" && block.match?(/`(_start|clone3)\+/)
  found.each_with_index do |(line, name), i|
    wrong << "#{name}:#{line}" unless lines[name]&.include?(line.to_i)
    wrong << "#{name} called by #{found[i + 1][1]}" if found[i + 1] && !callers[name]&.include?(found[i + 1][1])
  end
end
puts "profile: #{wrong.empty? && all > 1000 / ENV['slow'].to_i && all - whole <= [0.002 * all, 3].max ? 'good' : [wrong.uniq.first(9), all, whole]}"
Y
} 2>&1
