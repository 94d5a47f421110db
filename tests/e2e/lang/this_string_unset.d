/* A this-> string that a firing has not set is empty, and so is what is joined to it, after one that has set a longer text. */
#pragma D option quiet
this string s;

tick-10ms
/++n == 1/
{
	this->s = "a text of more than eight bytes";
	printf("<%s>\n", this->s);
}

tick-10ms
/n > 1 && n < 5/
{
	printf("<%s> %d <%s> %d\n", this->s, strlen(this->s), strjoin(this->s, "x"), this->s == "");
}

tick-10ms
/n == 5/
{
	exit(0);
}
