/* object.c - ELF, of 32 and 64 bits and either byte order. Nothing in a file is trusted: what points outside of it makes
 * the whole file a broken one. */
#include "commands/object.h"

#include <string.h>

/* Numbers of the format (System V ABI, chapters 4 and 5). */
enum {
    CLASS_64 = 2,
    BIG_ENDIAN_DATA = 2,
    TYPE_RELOCATABLE = 1,
    MACHINE_386 = 3,
    MACHINE_X86_64 = 62,
    SECTION_SYMBOLS = 2,
    SECTION_STRINGS = 3,
    SECTION_RELA = 4,
    SECTION_NOBITS = 8,
    SECTION_REL = 9,
    FLAG_WRITE = 1,
    FLAG_ALLOC = 2,
    FLAG_EXECUTE = 4,
    INDEX_RESERVED = 0xff00,
    SYMBOL_FUNCTION = 2,
    SYMBOL_GLOBAL = 1
};

struct reader {
    const unsigned char *bytes;
    size_t length;
    bool wide, big;
    bool broken;
};

struct header { /* of a section */
    uint64_t name, type, flags, offset, size, link, info, entry;
};

static uint64_t number(struct reader *r, uint64_t at, int count)
{
    uint64_t value = 0;

    if (at > r->length || r->length - at < (uint64_t)count) {
        r->broken = true;
        return 0;
    }
    for (int i = 0; i < count; i++)
        value |= (uint64_t)r->bytes[at + (uint64_t)i] << 8 * (r->big ? count - 1 - i : i);
    return value;
}

static struct header section_header(struct reader *r, uint64_t at)
{
    bool wide = r->wide;
    int word = wide ? 8 : 4;

    return (struct header){
        .name = number(r, at, 4),
        .type = number(r, at + 4, 4),
        .flags = number(r, at + 8, word),
        .offset = number(r, at + (wide ? 24 : 16), word),
        .size = number(r, at + (wide ? 32 : 20), word),
        .link = number(r, at + (wide ? 40 : 24), 4),
        .info = number(r, at + (wide ? 44 : 28), 4),
        .entry = number(r, at + (wide ? 56 : 36), word),
    };
}

/* A string of a table; "" outside of it. */
static const char *string(struct reader *r, const struct header *table, uint64_t at)
{
    const char *start = (const char *)r->bytes + table->offset + at;

    if (table->type != SECTION_STRINGS || at >= table->size || !memchr(start, 0, (size_t)(table->size - at)))
        return "";
    return start;
}

static enum object_kind kind_of(const struct header *header, const char *name)
{
    if (!(header->flags & FLAG_ALLOC) || strncmp(name, ".eh_frame", 9) == 0 ||
        strncmp(name, ".ARM.ex", 7) == 0 || strncmp(name, ".note", 5) == 0)
        return OBJECT_OTHER;
    if (header->flags & FLAG_EXECUTE)
        return OBJECT_TEXT;
    if (header->flags & FLAG_WRITE)
        return header->type == SECTION_NOBITS ? OBJECT_BSS : OBJECT_DATA;
    return OBJECT_RODATA;
}

static void read_symbols(struct reader *r, struct arena *arena, const struct header *headers,
                         const struct header *table, struct object *object)
{
    uint64_t size = r->wide ? 24 : 16;
    const struct header *strings = table->link < (uint64_t)object->section_count ? &headers[table->link]
                                                                                 : &headers[0];

    if (table->size / size > INT32_MAX)
        r->broken = true;
    if (r->broken)
        return;
    object->symbol_count = (int)(table->size / size);
    object->symbols = ARENA_ARRAY(arena, object->symbol_count + 1, struct object_symbol);
    for (int i = 0; i < object->symbol_count; i++) {
        uint64_t at = table->offset + (uint64_t)i * size, info = number(r, at + (r->wide ? 4 : 12), 1);
        uint64_t section = number(r, at + (r->wide ? 6 : 14), 2);
        bool inside = section > 0 && section < INDEX_RESERVED && section < (uint64_t)object->section_count;

        object->symbols[i] = (struct object_symbol){
            .name = arena_string(arena, string(r, strings, number(r, at, 4))),
            .section = inside ? (int)section : -1,
            .function = (info & 15) == SYMBOL_FUNCTION,
            .global = info >> 4 >= SYMBOL_GLOBAL, /* or weak */
        };
    }
}

static void read_uses(struct reader *r, struct arena *arena, const struct header *table,
                      struct object *object)
{
    int word = r->wide ? 8 : 4;
    uint64_t size = (uint64_t)word * (table->type == SECTION_RELA ? 3 : 2);
    struct object_section *section =
        &object->sections[table->info < (uint64_t)object->section_count ? table->info : 0];

    for (uint64_t at = 0; at + size <= table->size && !r->broken; at += size) {
        uint64_t symbol = number(r, table->offset + at + (uint64_t)word, word) >> (r->wide ? 32 : 8);

        if (symbol < (uint64_t)object->symbol_count)
            ARENA_PUSH(arena, section->uses, section->use_count, (int)symbol);
        else
            r->broken = true;
    }
}

bool object_read(struct arena *arena, const void *bytes, size_t length, struct object *object)
{
    struct reader r = {.bytes = bytes, .length = length};
    struct header *headers;
    uint64_t table, size, count, names;

    *object = (struct object){0};
    if (length < 52 || memcmp(bytes, "\177ELF", 4) != 0)
        return false;
    r.wide = r.bytes[4] == CLASS_64;
    r.big = r.bytes[5] == BIG_ENDIAN_DATA;
    if (number(&r, 16, 2) != TYPE_RELOCATABLE)
        return false;
    object->x86 = number(&r, 18, 2) == MACHINE_X86_64 || number(&r, 18, 2) == MACHINE_386;
    table = number(&r, r.wide ? 40 : 32, r.wide ? 8 : 4);
    size = number(&r, r.wide ? 58 : 46, 2);
    count = number(&r, r.wide ? 60 : 48, 2);
    names = number(&r, r.wide ? 62 : 50, 2);
    if (count == 0) /* more than fit there */
        count = section_header(&r, table).size;
    if (names == 0xffff)
        names = section_header(&r, table).link;
    if (r.broken || size < (r.wide ? 64u : 40u) || count == 0 || count > length / size || names >= count)
        return false;

    headers = ARENA_ARRAY(arena, count, struct header);
    object->section_count = (int)count;
    object->sections = ARENA_ARRAY(arena, count, struct object_section);
    for (uint64_t i = 0; i < count; i++) {
        headers[i] = section_header(&r, table + i * size);
        r.broken |= headers[i].type != SECTION_NOBITS &&
                    (headers[i].offset > length || headers[i].size > length - headers[i].offset);
    }
    for (uint64_t i = 0; i < count && !r.broken; i++)
        object->sections[i] = (struct object_section){
            .kind = i == 0 ? OBJECT_OTHER
                           : kind_of(&headers[i], string(&r, &headers[names], headers[i].name)),
            .bytes = headers[i].size > INT64_MAX ? 0 : (int64_t)headers[i].size,
        };
    for (uint64_t i = 0; i < count && !r.broken; i++)
        if (headers[i].type == SECTION_SYMBOLS)
            read_symbols(&r, arena, headers, &headers[i], object);
    for (uint64_t i = 0; i < count && !r.broken; i++)
        if (headers[i].type == SECTION_REL || headers[i].type == SECTION_RELA)
            read_uses(&r, arena, &headers[i], object);
    return !r.broken;
}
