BEGIN { trace(__either(nosuch, ((struct task *)0)->pid)); trace(__either()); }
