/* check.h - plain checks, for programs that need no cmocka. */
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)
#define CHECK_OK(call) CHECK((call) == MODC_OK)
