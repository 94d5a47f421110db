provider p {
	probe a(int n) = rawtp:::x;
	probe b__c(int n, char *s) : (char *s) = rawtp:::x /arg0 / (arg1) == 2/ (arg0, "(/;"), syscall::read:return (1, 0)
		|| tick-1s /1/, p:::a ();
	probe d();
};
p:::b-c /arg0/ { trace(1); }
