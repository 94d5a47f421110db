#pragma D option quiet
inline int LIMIT = 10;
inline int twice[int n] = n * 2;
inline string greeting = "hi";
typedef int arr_t[LIMIT];
BEGIN { printf("%d %d %s %d\n", LIMIT + 1, twice[LIMIT], greeting, sizeof(arr_t)); exit(0); }
