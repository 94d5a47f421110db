BEGIN { trace(089); trace(0779u); }
