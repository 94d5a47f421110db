/* 2.9: provider definitions. */
provider none { };
provider app {
	probe start();
	probe query__start(string, int count);
	probe done(struct req *r, void *p) : (size_t *r);
	probe quiet(void) : ();
	probe probe(int, ...);
};
#pragma D attributes Evolving/Evolving/Common provider app provider
#pragma D attributes Private provider app args
