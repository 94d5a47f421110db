/* @@opts: errtags */ BEGIN { trace(foo); }
