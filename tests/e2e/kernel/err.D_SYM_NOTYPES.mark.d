BEGIN { trace(`__start_BTF); exit(0); }
