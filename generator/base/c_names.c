/* c_names.c - identifiers that are not free in emitted code; see c_names.h. */
#include "base/c_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

/* Up to C23. */
static const char keywords_of_c[] =
    " alignas alignof asm auto bool break case char const constexpr continue default do double else enum "
    "extern false float for goto if inline int long nullptr register restrict return short signed sizeof "
    "static static_assert struct switch thread_local true typedef typeof typeof_unqual union unsigned void "
    "volatile while ";

/* And those of C++ beside them. */
static const char keywords[] =
    " and and_eq bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield compl "
    "concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend mutable "
    "namespace new noexcept not not_eq operator or or_eq private protected public reinterpret_cast "
    "requires static_cast template this throw try typeid typename using virtual wchar_t xor xor_eq ";

/* Those at the end are of headers that come with the others often enough (stdio.h, errno.h, complex.h, ...), and of compilers
 * for other machines. */
static const char macros[] =
    " HAVE_INITFINI_ARRAY INFINITY MAXFLOAT NAN NULL basename linux math_errhandling signgam unix "
    "EOF I complex errno i386 imaginary noreturn ";

static const char types[] =
    " double_t float_t locale_t max_align_t nullptr_t ptrdiff_t size_t ssize_t wchar_t ";

/* What functions of C libraries begin with that end as functions of models do: pthread_create, sem_init, timespec_get. */
static const char libraries[] =
    " aio argz atomic cnd envz epoll fanotify inotify memfd mtx pkey posix_spawnattr pthread_attr pthread_barrier "
    "pthread_barrierattr pthread_cond pthread_condattr pthread_key pthread_mutex pthread_mutexattr pthread_rwlock "
    "pthread_rwlockattr pthread_spin sem thrd timer timerfd timespec tss ";

/* Headers of C and of the systems that the runtime knows, without their ending. */
static const char headers[] =
    " alloca arm_neon assert complex cpuid ctype dirent endian errno fcntl features fenv float immintrin inttypes iso646 limits "
    "locale malloc math memory poll pthread sched semaphore setjmp signal stdalign stdarg stdatomic stdbit stdbool stdckdint stddef "
    "stdint stdio stdlib stdnoreturn string strings tgmath threads time uchar unistd wchar wctype ";

static const char functions[] =
    " explicit_bzero gamma_r gammaf_r lgamma_r lgammaf_r lgammal_r strcasecmp_l strcoll_l strerror_l strerror_r "
    "strncasecmp_l strtok_r strxfrm_l timingsafe_bcmp timingsafe_memcmp ";

/* math.h has these as double, and with a suffix as another type. */
static const char constants[] =
    " M_1_PI M_2_PI M_2_SQRTPI M_3PI_4 M_E M_INVLN2 M_IVLN10 M_LN10 M_LN2 M_LN2HI M_LN2LO M_LOG10E M_LOG2E M_LOG2_E M_PI "
    "M_PI_2 M_PI_4 M_SQRT1_2 M_SQRT2 M_SQRT3 M_SQRTPI M_TWOPI ";

/* `word` is one of those in `list`, which has a blank around each. */
static bool is_listed(const char *list, const char *word, size_t length)
{
    char between[64];

    if (length > sizeof between - 3 || memchr(word, ' ', length))
        return false;
    between[0] = ' ';
    memcpy(between + 1, word, length);
    between[length + 1] = ' ';
    between[length + 2] = 0;
    return length > 0 && strstr(list, between);
}

/* `text` is `start` and then nothing but capitals, digits and underscores. */
static bool is_in_family(const char *text, const char *start)
{
    const size_t length = strlen(start);

    if (strncmp(text, start, length) != 0)
        return false;
    return text[length + strspn(text + length, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] == 0;
}

/* INT32_MAX, UINT_FAST8_WIDTH, SIZE_MAX */
static bool is_limit(const char *name)
{
    static const char *const of[] = {"INT", "UINT", "SIZE_", "PTRDIFF_", "SIG_ATOMIC_", "WCHAR_", "WINT_"};

    if (!text_ends_with(name, "_MAX") && !text_ends_with(name, "_MIN") && !text_ends_with(name, "_WIDTH"))
        return false;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (is_in_family(name, of[i]))
            return true;
    return false;
}

/* M_PI, M_PIf, M_PIf64x */
static bool is_constant(const char *name)
{
    static const char *const suffixes[] = {"", "f", "l", "f16", "f32", "f64", "f128", "f32x", "f64x"};

    for (size_t i = 0; name[0] == 'M' && i < sizeof suffixes / sizeof *suffixes; i++)
        if (text_ends_with(name, suffixes[i]) &&
            is_listed(constants, name, strlen(name) - strlen(suffixes[i])))
            return true;
    return false;
}

bool c_is_keyword(const char *name)
{
    return is_listed(keywords, name, strlen(name)) || c_is_keyword_of_c(name);
}

bool c_is_keyword_of_c(const char *name)
{
    return is_listed(keywords_of_c, name, strlen(name));
}

bool c_is_library(const char *name)
{
    return is_listed(libraries, name, strlen(name));
}

bool c_is_header(const char *name)
{
    char lower[16];
    size_t length = strlen(name);

    if (length >= sizeof lower)
        return false;
    for (size_t i = 0; i <= length; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    return is_listed(headers, lower, length);
}

bool c_is_macro(const char *name)
{
    static const char *const families[] = {"FP_", "HUGE_VAL", "MATH_", "SNAN"};

    if (name[0] == '_' && (name[1] == '_' || isupper((unsigned char)name[1])))
        return true;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (is_in_family(name, families[i]))
            return true;
    return is_listed(macros, name, strlen(name)) || is_limit(name) || is_constant(name);
}

bool c_is_type(const char *name)
{
    static const char *const sizes[] = {"8_t", "16_t", "32_t", "64_t", "max_t", "ptr_t"};
    static const char *const ranks[] = {"int", "uint", "int_fast", "uint_fast", "int_least", "uint_least"};

    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            if (strncmp(name, ranks[i], strlen(ranks[i])) == 0 &&
                strcmp(name + strlen(ranks[i]), sizes[j]) == 0)
                return true;
    return is_listed(types, name, strlen(name));
}

bool c_is_function(const char *name)
{
    /* INT32_C(1) */
    return is_listed(functions, name, strlen(name)) ||
           (text_ends_with(name, "_C") && (is_in_family(name, "INT") || is_in_family(name, "UINT")));
}
