/* json(): a member, an element, what is not there (d-language.md 5.4). */
/* @@runtest-opts: -q */
BEGIN
{
	this->t = "{ \"name\": \"a b\", \"n\": [ 1, { \"x\": -2.5, \"y\": null } ], \"q\\\"\": true }";
	printf("%s %s %s %s\n", json(this->t, "name"), json(this->t, "n[0]"), json(this->t, "n[1].x"), json(this->t, "n[1]"));
	printf("%d %d\n", json(this->t, "none") == NULL, json(this->t, "n[2]") == NULL);
	printf("%d\n", strtoll(json("[10,20,30]", "[2]")));
	printf("%s\n", memstr((void *)execname, '-', 9));
	exit(0);
}
