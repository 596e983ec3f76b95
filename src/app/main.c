/* weft: the command. */
#include <stdio.h>

int main(void)
{
    puts("weft");
    return 0;
}
