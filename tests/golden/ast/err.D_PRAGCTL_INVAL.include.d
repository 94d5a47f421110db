#include <sys/types.h>
#pragmas D option quiet
#option quiet
BEGIN { }
