provider p {
	probe a(int n) = rawtp:::x;
	probe b__c(int n, char *s) : (char *s) = rawtp:::x /arg0 / (arg1) == 2/ (arg0, "(/;"), syscall::read:return (1, 0)
		|| tick-1s /1/, p:::a ();
	probe d();
	probe e(int n) = "it has \"none\"";
	probe f() = pid:x`y:g*:entry /arg1/ ();
};
p:::b-c /arg0/ { trace(1); }
