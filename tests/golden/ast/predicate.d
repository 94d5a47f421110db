/* 1.6: '/' divides or ends the predicate. */
a:b:c:d /x/ { }
a:b:c:d /x / 2/ { }
a:b:c:d /x / y / z == 1 / { }
a:b:c:d /x/ /* comment */ { }
a:b:c:d /x /* comment */ / 2 /
# 100 "other.h"
{ }
# 31 "/dev/stdin"
a:b:c:d /(x / 2) == (3 / y)/ { n = a / b; }
a:b:c:d
	/
	x
	/
{
	x /= 2;
}
