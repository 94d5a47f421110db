/* json(): a member, an element, what is not there (d-language.md 5.4). */
/* @@runtest-opts: -q */
BEGIN
{
	this->t = "{ \"name\": \"a b\", \"n\": [ 1, { \"x\": -2.5, \"y\": null } ], \"q\\\"\": true }";
	printf("%s %s %s %s\n", json(this->t, "name"), json(this->t, "n[0]"), json(this->t, "n[1].x"), json(this->t, "n[1]"));
	printf("%d %d\n", json(this->t, "none") == NULL, json(this->t, "n[2]") == NULL);
	printf("%d\n", strtoll(json("[10,20,30]", "[2]")));
	/* text that was cut in the middle of a word, and text that is no JSON */
	printf("%d", json("{\"a\": 12", "a") == NULL); printf("%d", json("{\"a\": [12, 3", "a[1]") == NULL); printf("%d", json("{\"a\": nul", "a") == NULL);
	printf("%d", json("{\"a\": \"x", "a") == NULL); printf("%d", json("{\"a\": {\"b\": 1]}", "a") == NULL); printf("%d", json("{\"a\": wrong}", "a") == NULL);
	printf("%d", json("{\"a\": 1 2}", "a") == NULL); printf("%d", json("{\"a\" 1}", "a") == NULL); printf("%d", json("[01]", "0") == NULL);
	printf(" %s %s\n", json("{\"a\": 12, \"b\": 1", "a"), json("{\"a\": \"x\"", "a"));
	printf("%s\n", memstr((void *)execname, '-', 9));
	exit(0);
}
