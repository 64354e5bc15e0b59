/* emit_element.c - elements that are stored in a narrower type than they are computed with: how C reads and writes them. */
#include "base/narrow.h"
#include "emit/emit_names.h"

#include <assert.h>
#include <string.h>

bool element_converts(struct element element)
{
    const bool converts = element.computed == DTYPE_FLOAT32 && element.stored != element.computed;

    assert(converts ? narrow_of(element.stored) != NULL
                    : element.stored == element.computed || dtype_is_int(element.stored));
    return converts;
}

const char *vector_prefix(enum dtype computed)
{
    return computed == DTYPE_FLOAT64 ? "modc_f64" : "modc_f32";
}

const char *element_vector(struct element element)
{
    return element_converts(element) ? narrow_of(element.stored)->vector : vector_prefix(element.computed);
}

const char *element_get(struct cx *cx, struct element element)
{
    return element_converts(element) ? arena_format(&cx->arena, "%s_to_f32", element_vector(element)) : NULL;
}

const char *element_put(struct cx *cx, struct element element)
{
    return element_converts(element)
               ? arena_format(&cx->arena, "modc_f32_to_%s", element_vector(element) + strlen("modc_"))
               : NULL;
}

const char *element_read(struct cx *cx, struct element element, const char *place)
{
    const char *get = element.stored == DTYPE_BOOL ? "MODC_TRUE" : element_get(cx, element);

    return get ? arena_format(&cx->arena, "%s(%s)", get, place) : place;
}

const char *element_written(struct cx *cx, struct element element, const char *value)
{
    const char *put = element_put(cx, element);

    return put ? arena_format(&cx->arena, "%s(%s)", put, value) : value;
}
