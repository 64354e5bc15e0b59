#pragma once
#include <stddef.h>
int snprintf(char *text, size_t room, const char *format, ...);
