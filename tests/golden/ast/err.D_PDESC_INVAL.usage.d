/* Calls of a function. */
pid1:$1:$2:entry { trace($2); }
pid1:$1:$2:return { trace($3); }
