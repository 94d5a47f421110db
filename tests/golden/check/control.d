/* if and else, predicates, retried order, several descriptions (d-language.md 2.5, 2.6) */
BEGIN, END / seen == 0 / { seen = 1; }
syscall::read:entry, syscall::write:entry / pid == $target / { if (arg0 > 2) trace(arg0); }
syscall::read:return / (this->v = arg0) > 0 /
{
	if (this->v > 10) { big = 1; } else if (this->v > 5) { trace("mid"); } else { if (pid) trace("low"); }
	trace(this->v);
}
tick-1s / pid && tid || !uid ^^ gid / { trace(pid ? tid : uid); }
