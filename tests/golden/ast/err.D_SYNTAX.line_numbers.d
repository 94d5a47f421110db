# 10 "other.d"
BEGIN { trace(; }
#line 50
END { trace(; }
# 7 "/dev/stdin"
END { trace(; }
