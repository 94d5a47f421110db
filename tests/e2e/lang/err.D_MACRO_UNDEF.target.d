inline int OPT = 1;

BEGIN /!OPT || pid == $target/ { trace($$target); }
BEGIN { x = 1; trace(x && $target); trace(OPT ? $target : 0); } /* reported once */
