/* @@trigger: funcs 3 */
/* @@runtest-opts: -q */
/* the parts of a probe's name; one clause on many probes; an alias means the probe of the function */
pid$target:funcs:f_*:entry
{
	@[probeprov == strjoin("pid", lltostr(pid)) ? "ours" : "other", probemod, probefunc, probename] = count();
}

pid$target:a.out:f_alias:entry
{
	@[probeprov == strjoin("pid", lltostr(pid)) ? "ours" : "other", probemod, probefunc, probename] = count();
}
