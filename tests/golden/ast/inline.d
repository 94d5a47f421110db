/* 2.8: inlines. */
inline int ONE = 1;
inline string NAME = pid == 1 ? "init" : execname;
inline int *p[int fd, string s] = (int *)fd;
inline int MORE = ONE + 1;
