BEGIN { trace(strlen); a[1] = 2; trace(a); s = 1; trace(s[2]); strlen = 1; args = 2; }
