BEGIN { trace(; }
#error this script needs more
BEGIN { trace(; }
