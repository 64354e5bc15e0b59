#pragma once
#include <stddef.h>
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *block, size_t bytes);
void free(void *block);
void *_aligned_malloc(size_t bytes, size_t align);
void _aligned_free(void *block);
void abort(void);
