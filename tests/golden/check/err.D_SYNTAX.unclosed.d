/* What is open when the predicate ends is said, whether or not something stands in it. */
BEGIN /rand(/ { trace(1); }
BEGIN /(pid + / { trace(1); }
BEGIN /x[/ { trace(1); }
BEGIN /x[1/ { trace(1); }
