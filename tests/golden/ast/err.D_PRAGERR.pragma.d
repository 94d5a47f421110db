#pragma D error no
