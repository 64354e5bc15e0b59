/* cache.h - objects of the runtime that `modc run` compiled, for the next time: in $XDG_CACHE_HOME/modc or ~/.cache/modc. */
#ifndef MODC_CACHE_H
#define MODC_CACHE_H

#include "base/text.h"
#include "commands/process.h"

struct cache {
    const char *folder; /* of sources and objects; NULL: there is no cache this time, whatever the reason */
    bool fresh;         /* all objects are there; else who compiles them there calls cache_keep */
    int file;           /* of the stamp, locked */
    const char *stamp;
    const char **objects;
    int count;
};

/* Whether the file is compiled once for all models. */
bool cache_takes(const struct output_file *file);

/* What these files of the runtime, but for the first `included`, become with these compilers. Those are there to be included. Never
 * says anything: without a cache all is compiled. */
struct cache cache_open(struct cx *cx, const struct output_file *runtime, int count, int included,
                        const struct process *compilers, int compiler_count);

/* The object of a file that the cache takes. */
const char *cache_object(struct cx *cx, const struct cache *cache, const struct output_file *file);

/* All objects have been compiled. Removes what was not used for longest, where there is much. */
void cache_keep(struct cx *cx, struct cache *cache);

/* When the objects have been linked. */
void cache_close(struct cache *cache);

#endif
