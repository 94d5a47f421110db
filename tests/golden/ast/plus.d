/* 2.1: a plus sign is part of names of files, and behind them still an operator. */
pid1:libstdc++.so.6:malloc:entry { x++; y = x+1; }
pid1:libstdc++.so.6.0.30:_Znwm:entry, pid2:a+b::entry /x++ > 1/ { z = a+++b; }
