/* SPDX-License-Identifier: MIT */
/* Provider javascript of SpiderMonkey, which has had no probes since they were removed from its source. */
provider javascript {
	probe function__entry()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe function__return()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe object__create()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe object__create__start()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe object__create__done()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe object__finalize()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe execute__start()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe execute__done()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe function__info()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe function__args()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
	probe function__rval()
		= "SpiderMonkey has no probes any more, and compiles functions of JavaScript to code without symbols";
};
