/* c_names.h - identifiers that are not free in emitted code, whatever the spec: keywords, what compilers and the headers that
 * emitted code includes define or declare, and what C reserves for later ones. Apart from emitted.h, which says what becomes of a
 * name of a spec. tests/support/c_names.py compares these lists with what the compilers here say of the headers. */
#ifndef MODC_C_NAMES_H
#define MODC_C_NAMES_H

#include <stdbool.h>

/* A keyword of C (up to C23) or C++ (up to C++20). */
bool c_is_keyword(const char *name);
/* Of C alone, for names that no header shows. */
bool c_is_keyword_of_c(const char *name);

/* Functions that begin so are of the C library: a model of this name would define some of them, or take their place. */
bool c_is_library(const char *name);

/* A header of theirs has this name, be it in other capitals, which not every system tells apart: NAME.h of a model would be found
 * in its place. */
bool c_is_header(const char *name);

/* What a header or a compiler may define as a macro that stands for something wherever its name stands, or that C reserves for
 * that; all with two underscores first, or with one and a capital. Macros that take arguments are none of these: no name of a
 * spec has a parenthesis behind it. */
bool c_is_macro(const char *name);

/* A type of a header. */
bool c_is_type(const char *name);

/* A function of a header, or a macro that takes arguments; those alone that have an underscore, as every function has that is
 * named for modules. */
bool c_is_function(const char *name);

#endif
