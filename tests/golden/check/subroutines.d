/* Subroutines: numbers, arguments, conversions to the prototype (d-language.md 5.4, 13.2) */
BEGIN
{
	trace(rand());
	trace(strlen(execname)); trace(strjoin(execname, "x")); trace(substr("abc", 1)); trace(substr("abc", 1, 2l));
	trace(index("abc", "b")); trace(index("abc", "b", (char)1)); trace(rindex("abc", "b"));
	trace(strstr("abc", "b")); trace(strchr("abc", 'b')); trace(strrchr("abc", 98l)); trace(strtok("a b", " "));
	trace(strtok(NULL, " ")); trace(basename("/a")); trace(dirname("/a")); trace(cleanpath("/a/../b"));
	trace(lltostr(-1)); trace(lltostr(arg0, 16)); trace(strtoll("12")); trace(strtoll("ff", 16));
	trace(tolower("A")); trace(toupper("a"));
}

/* ours */
BEGIN { trace(sample(arg0, 512)); trace(sampled(arg1)); trace(followed(arg0)); }
BEGIN { trace(strerrno(errno)); trace(strerror(2)); trace(strsignal(arg0)); trace(strflags("access", arg1)); trace(copyinint(arg0, 1)); }

BEGIN
{
	trace(htons(1)); trace(htonl(1)); trace(htonll(1)); trace(ntohs(1)); trace(ntohl(1)); trace(ntohll(1));
	trace(getmajor(arg0)); trace(getminor(arg0));
	this->p = alloca(16);
	trace(inet_ntoa(this->p)); trace(inet_ntoa6(this->p)); trace(inet_ntop(2, this->p));
	bcopy("text", this->p, 4);
	copyinto(arg0, 16, this->p);
	this->q = (char *)copyin(arg0, 8);
	trace(copyinstr(arg0)); trace(copyinstr(arg0, 10)); trace(copyinstr((uintptr_t)this->q));
}
