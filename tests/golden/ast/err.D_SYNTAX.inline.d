inline int x;
inline int y[int] = 1;
inline z = 1;
