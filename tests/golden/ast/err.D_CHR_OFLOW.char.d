BEGIN { x = 'abcdefghi'; y = '\q2345678'; }
