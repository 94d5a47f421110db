int while;
BEGIN { goto x; }
import x;
counter y;
