/* @@args: 12 -7 word a/b "q\\tq" int64_t 0x1fu int ->x
   1.9: macro variables. */
typedef int int64_t_t;

BEGIN
{
	$pid; $$pid; $target; $$target; $uid;
	$1; -$1; 2 - $2; $2; $$1; $$2; $3 = 1; $$3; $4; $$4; $5; $7; $$7;
	self->$3 = a->$3; "$1";
	($6)1; sizeof ($8);
	$9;
}
tick-$1, tick-$1ms, pid$target:$3:$$3:, x$1, syscall::$3:entry { }
