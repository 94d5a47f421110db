/* only array elements and thread-locals are freed by 0 */
BEGIN { s = "a"; s = 0; }
