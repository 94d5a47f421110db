/* SPDX-License-Identifier: MIT */
/* as other systems' dtrace -h makes it */
#ifdef __cplusplus
extern "C" {
#endif
extern void __dtrace_my_app___query__start(int, const char *, long);
extern int __dtraceenabled_my_app___query__start(void);
extern void __dtrace_my_app___many(int, long, char, unsigned short, long long, unsigned char, int,
				   long);
extern void __dtrace_my_app___ratio(double, int, float);
extern void __dtrace_my_app___idle(void);
extern void __dtrace_my_app___tail(int);
extern int __dtraceenabled_my_app___tail(void);
#ifdef __cplusplus
}
#endif
#define MY_APP_QUERY_START(a, b, c)  __dtrace_my_app___query__start(a, b, c)
#define MY_APP_QUERY_START_ENABLED() __dtraceenabled_my_app___query__start()
