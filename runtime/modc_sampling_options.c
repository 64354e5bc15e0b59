/* modc_sampling_options.c - the options of generation in one table: defaults, checks, and values as text; see modc_sampling.h. */
#include "modc_sampling_parts.h"

#include <limits.h>

enum option_kind {
    WHOLE,
    REAL,
    SWITCH, /* bool */
    ID,
    SEED,
    MAYBE, /* do_sample: a flag, or MODC_UNSET */
    STOPPING,
    LOGPROBS,
    IDS,
    SEQUENCES,
    BIASES,
    DECAY,
    TEXTS
};

enum { OVER = 1, UNDER = 2, UNSET = 4, SAMPLING = 8, BEAMS = 16, SCORED = 32 };

/* OVER, UNDER: the limit itself is not allowed; UNSET: MODC_UNSET is; SAMPLING, BEAMS: with them alone something else than `neutral`;
 * SCORED: ids of the vocabulary. */
struct option_row {
    const char *name;
    enum option_kind kind;
    size_t at, count_at; /* in struct modc_generation_options */
    double least, most, neutral;
    unsigned flags;
    const char *takes;
    const char *same_as; /* the name that this is another of */
};

#define MOST_REAL 3.4e38
#define IN_OPTIONS(member) offsetof(struct modc_generation_options, member)
#define NUMBER(name, kind, least, most, neutral, flags, takes)                                               \
    {                                                                                                        \
#name, kind, IN_OPTIONS(name), 0, least, most, neutral, flags, takes, NULL                           \
    }
#define COUNT_FROM(least, name, flags, takes) NUMBER(name, WHOLE, least, INT_MAX, 0, flags, takes)
#define FLAG(name) NUMBER(name, SWITCH, 0, 1, 0, 0, "true or false")
#define LIST(name, kind, count, flags, takes)                                                                \
    {                                                                                                        \
#name, kind, IN_OPTIONS(name), IN_OPTIONS(count), 0, 0, 0, flags, takes, NULL                        \
    }
#define OF_IDS(name) NUMBER(name, IDS, 0, 0, 0, SCORED, "ids, such as 1, 2")
#define FROM_0 "a whole number from 0 on; 0 is off"
#define FROM_1 "a whole number from 1 on"

static const struct option_row rows[] = {
    COUNT_FROM(1, max_new_tokens, UNSET, FROM_1),
    COUNT_FROM(0, min_new_tokens, 0, FROM_0),
    COUNT_FROM(1, max_length, UNSET, "a whole number from 1 on, which counts the prompt"),
    COUNT_FROM(0, min_length, 0, FROM_0),
    NUMBER(max_time, REAL, 0, MOST_REAL, 0, 0, "seconds from 0 on; 0 is no limit"),
    NUMBER(do_sample, MAYBE, 0, 1, 0, UNSET, "true or false"),
    NUMBER(temperature, REAL, 0, MOST_REAL, MODC_UNSET, UNSET | SAMPLING, "a number from 0 on; 0 is greedy"),
    COUNT_FROM(0, top_k, SAMPLING, FROM_0),
    NUMBER(top_p, REAL, 0, 1, 1, SAMPLING, "a number from 0 to 1; 1 is off"),
    NUMBER(min_p, REAL, 0, 1, 0, SAMPLING, "a number from 0 to 1; 0 is off"),
    NUMBER(typical_p, REAL, 0, 1, 1, OVER | SAMPLING, "a number over 0, up to 1; 1 is off"),
    NUMBER(top_h, REAL, 0, 1, 0, SAMPLING, "a number from 0 to 1; 0 is off"),
    NUMBER(epsilon_cutoff, REAL, 0, 1, 0, UNDER | SAMPLING, "a number from 0 to below 1; 0 is off"),
    NUMBER(eta_cutoff, REAL, 0, 1, 0, UNDER | SAMPLING, "a number from 0 to below 1; 0 is off"),
    NUMBER(seed, SEED, 0, 0, 0, 0, "a whole number from 0 on"),
    NUMBER(repetition_penalty, REAL, 0, MOST_REAL, 1, OVER, "a number over 0; 1 is off"),
    NUMBER(encoder_repetition_penalty, REAL, 0, MOST_REAL, 1, OVER, "a number over 0; 1 is off"),
    NUMBER(presence_penalty, REAL, -2, 2, 0, 0, "a number from -2 to 2; 0 is off"),
    NUMBER(frequency_penalty, REAL, -2, 2, 0, 0, "a number from -2 to 2; 0 is off"),
    COUNT_FROM(0, no_repeat_ngram_size, 0, FROM_0),
    COUNT_FROM(0, encoder_no_repeat_ngram_size, 0, FROM_0),
    LIST(bad_words_ids, SEQUENCES, bad_words_count, SCORED, "sequences of ids, such as 1 2, 3"),
    LIST(sequence_bias, BIASES, sequence_bias_count, SCORED,
         "sequences of ids with finite numbers or -inf, such as 1 2: -3.5, 7: 2"),
    OF_IDS(suppress_tokens),
    OF_IDS(begin_suppress_tokens),
    NUMBER(forced_bos_token_id, ID, 0, INT_MAX, 0, UNSET | SCORED, "an id"),
    OF_IDS(forced_eos_token_id),
    {"exponential_decay_length_penalty", DECAY, IN_OPTIONS(exponential_decay_start), 0, 0, INT_MAX, 0, UNSET,
     "tokens from 0 on and a factor over 0, such as 5, 1.1", NULL},
    FLAG(remove_invalid_values),
    FLAG(renormalize_logits),
    COUNT_FROM(1, num_beams, 0, FROM_1),
    NUMBER(length_penalty, REAL, -MOST_REAL, MOST_REAL, 1, BEAMS, "a number; 0 ignores lengths"),
    NUMBER(early_stopping, STOPPING, MODC_EARLY_FALSE, MODC_EARLY_NEVER, MODC_EARLY_FALSE, BEAMS,
           "true, false or never"),
    COUNT_FROM(1, num_return_sequences, 0, FROM_1),
    OF_IDS(eos_token_id),
    NUMBER(pad_token_id, ID, 0, INT_MAX, 0, UNSET, "an id"),
    FLAG(ignore_eos),
    LIST(stop, TEXTS, stop_count, 0, "a text of at least one byte"),
    FLAG(include_stop_str_in_output),
    FLAG(skip_special_tokens),
    NUMBER(logprobs, LOGPROBS, 0, 7, 0, 0, "words of prompt, response and full, or none"),
    COUNT_FROM(0, top_logprobs, 0, FROM_0),
    FLAG(zero_first),
    COUNT_FROM(0, prompt_lookup_num_tokens, 0, FROM_0),
    COUNT_FROM(1, max_matching_ngram_size, 0, FROM_1),
    {.name = "max_tokens", .same_as = "max_new_tokens"},
    {.name = "n", .same_as = "num_return_sequences"},
    {.name = "stop_sequences", .same_as = "stop"},
    {.name = "stop_strings", .same_as = "stop"},
};
enum { ROWS = sizeof rows / sizeof rows[0] }; /* at most 64: `given` */

/* ---- messages ----------------------------------------------------------------------------------------------- */

struct message {
    char *text;
    size_t room, length;
};

static void put(struct message *m, const char *text)
{
    if (!m->text || m->room == 0)
        return;
    for (; *text && m->length + 1 < m->room; text++)
        m->text[m->length++] = *text;
    m->text[m->length] = '\0';
}

static void put_whole(struct message *m, uint64_t value)
{
    char digits[24];
    int at = (int)sizeof digits - 1;

    digits[at] = '\0';
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put(m, digits + at);
}

static void put_signed(struct message *m, int64_t value)
{
    if (value < 0)
        put(m, "-");
    put_whole(m, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* Six digits, as %g has them. */
static void put_real(struct message *m, double value)
{
    enum { PLACES = 6 };
    char digits[PLACES + 1] = "";
    int exponent, places = PLACES;
    double scaled;

    put(m, value < 0 ? "-" : "");
    value = fabs(value);
    if (!(value > 0) || isinf(value)) {
        put(m, isnan(value) ? "nan" : value > 0 ? "inf" : "0");
        return;
    }
    exponent = (int)floor(log10(value));
    scaled = floor(value * pow(10, PLACES - 1 - exponent) + 0.5);
    if (scaled >= 1e6) {
        scaled /= 10;
        exponent++;
    }
    for (int i = PLACES - 1; i >= 0; i--, scaled = floor(scaled / 10))
        digits[i] = (char)('0' + (int)fmod(scaled, 10));
    while (places > 1 && digits[places - 1] == '0')
        digits[--places] = '\0';
    if (exponent < 0 && exponent >= -5) {
        put(m, "0.");
        for (int i = exponent + 1; i < 0; i++)
            put(m, "0");
        put(m, digits);
        return;
    }
    for (int i = 0, point = exponent >= 0 && exponent < 9 ? exponent : 0; i < places || i <= point; i++) {
        const char digit[2] = {i < places ? digits[i] : '0', '\0'};

        put(m, digit);
        if (i == point && i + 1 < places)
            put(m, ".");
    }
    if (exponent < 0 || exponent >= 9) {
        put(m, "e");
        put_signed(m, exponent);
    }
}

static void put_ids(struct message *m, struct modc_ids ids)
{
    for (int i = 0; i < ids.count; i++) {
        put(m, i > 0 ? " " : "");
        put_signed(m, ids.ids[i]);
    }
}

/* ---- what is in the options --------------------------------------------------------------------------------- */

static const void *member_of(const struct modc_generation_options *options, size_t at)
{
    return (const char *)options + at;
}

static int count_of(const struct modc_generation_options *options, const struct option_row *row)
{
    return *(const int *)member_of(options, row->count_at);
}

/* Of those that are numbers. */
static double number_of(const struct modc_generation_options *options, const struct option_row *row)
{
    const void *member = member_of(options, row->at);

    switch (row->kind) {
    case REAL:
        return (double)*(const float *)member;
    case ID:
        return (double)*(const int64_t *)member;
    case SWITCH:
        return *(const bool *)member;
    case STOPPING:
        return (double)*(const enum modc_early_stopping *)member;
    case LOGPROBS:
        return *(const unsigned *)member;
    default:
        return *(const int *)member;
    }
}

static bool is_number(const struct option_row *row)
{
    return row->kind < IDS && row->kind != SEED;
}

static const struct option_row *row_named(const char *name)
{
    for (int i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

const char *modc_generation_name(int index)
{
    return index >= 0 && index < ROWS ? rows[index].name : NULL;
}

void modc_generation_defaults(struct modc_generation_options *options)
{
    *options = (struct modc_generation_options){
        .max_new_tokens = MODC_UNSET,
        .max_length = MODC_UNSET,
        .do_sample = MODC_UNSET,
        .temperature = MODC_UNSET,
        .top_p = 1,
        .typical_p = 1,
        .repetition_penalty = 1,
        .encoder_repetition_penalty = 1,
        .forced_bos_token_id = MODC_UNSET,
        .exponential_decay_start = MODC_UNSET,
        .exponential_decay_factor = 1,
        .num_beams = 1,
        .length_penalty = 1,
        .num_return_sequences = 1,
        .pad_token_id = MODC_UNSET,
        .include_stop_str_in_output = true,
        .skip_special_tokens = true,
        .max_matching_ngram_size = 2,
    };
}

void modc_generation_defaults_hf(struct modc_generation_options *options)
{
    modc_generation_defaults(options);
    options->do_sample = 0;
    options->top_k = 50;
}

/* Whether an option says something that only sampling, or only beams, has. */
static bool is_said(const struct modc_generation_options *options, const struct option_row *row)
{
    return number_of(options, row) != row->neutral;
}

bool modc_generation_samples(const struct modc_generation_options *options)
{
    if (options->temperature == 0)
        return false;
    if (options->do_sample != MODC_UNSET)
        return options->do_sample > 0;
    for (int i = 0; i < ROWS; i++)
        if ((rows[i].flags & SAMPLING) && is_said(options, &rows[i]))
            return true;
    return false;
}

int modc_generation_length(const struct modc_generation_options *options, int prompt_count)
{
    const int added = options->max_new_tokens == MODC_UNSET ? 20 : options->max_new_tokens;

    if (options->max_length != MODC_UNSET)
        return options->max_length;
    return added > INT_MAX - prompt_count ? INT_MAX : prompt_count + added;
}

struct modc_ids modc_generation_eos(const struct modc_generation_options *options)
{
    return options->ignore_eos ? (struct modc_ids){NULL, 0} : options->eos_token_id;
}

bool modc_ids_have(struct modc_ids ids, int64_t id)
{
    for (int i = 0; i < ids.count; i++)
        if (ids.ids[i] == id)
            return true;
    return false;
}

/* ---- the check ---------------------------------------------------------------------------------------------- */

struct check {
    const struct modc_generation_options *options;
    int vocabulary;
    struct message message;
};

static void put_value(struct message *m, const struct option_row *row, double value)
{
    if (row->kind == REAL)
        put_real(m, value);
    else if (row->kind == STOPPING && value >= row->least && value <= row->most)
        put(m, value == MODC_EARLY_NEVER ? "never" : value == MODC_EARLY_TRUE ? "true" : "false");
    else
        put_signed(m, (int64_t)value);
}

static enum modc_status refuse_number(struct check *c, const struct option_row *row)
{
    struct message *m = &c->message;

    put(m, row->name);
    put(m, " is ");
    put_value(m, row, number_of(c->options, row));
    if (row->kind == DECAY) {
        put(m, ", ");
        put_real(m, (double)c->options->exponential_decay_factor);
    }
    put(m, ": it takes ");
    put(m, row->takes);
    return MODC_ARGUMENT;
}

static bool is_in_range(const struct option_row *row, double value)
{
    if (((row->flags & OVER) && value == row->least) || ((row->flags & UNDER) && value == row->most))
        return false;
    return value >= row->least && value <= row->most;
}

static enum modc_status check_number(struct check *c, const struct option_row *row)
{
    const double value = number_of(c->options, row);
    bool good = is_in_range(row, value) || ((row->flags & UNSET) && value == MODC_UNSET);

    if (row->kind == DECAY && c->options->exponential_decay_start != MODC_UNSET)
        good &= c->options->exponential_decay_factor > 0 && isfinite(c->options->exponential_decay_factor);
    return good ? MODC_OK : refuse_number(c, row);
}

static enum modc_status check_ids(struct check *c, const struct option_row *row, struct modc_ids ids)
{
    struct message *m = &c->message;

    if (ids.count < 0 || (ids.count > 0 && !ids.ids)) {
        put(m, row->name);
        put(m, ids.count < 0 ? " has a count below 0" : " has a count, and NULL as its ids");
        return ids.count < 0 ? MODC_ARGUMENT : MODC_POINTER;
    }
    for (int i = 0; i < ids.count; i++) {
        if (ids.ids[i] >= 0 && (c->vocabulary == 0 || !(row->flags & SCORED) || ids.ids[i] < c->vocabulary))
            continue;
        put(m, row->name);
        put(m, " has the id ");
        put_signed(m, ids.ids[i]);
        put(m, c->vocabulary == 0 ? ": ids are 0 or more" : ": ids are from 0 to ");
        if (c->vocabulary > 0)
            put_signed(m, (int64_t)c->vocabulary - 1);
        return MODC_INDEX;
    }
    return MODC_OK;
}

static struct modc_ids sequence_of(const struct modc_generation_options *options,
                                   const struct option_row *row, int i)
{
    return row->kind == BIASES ? options->sequence_bias[i].ids : options->bad_words_ids[i];
}

static bool are_same(struct modc_ids a, struct modc_ids b)
{
    if (a.count != b.count)
        return false;
    for (int i = 0; i < a.count; i++)
        if (a.ids[i] != b.ids[i])
            return false;
    return true;
}

/* Of sequences: none is empty; biases are numbers, and none stands twice. */
static enum modc_status check_sequences(struct check *c, const struct option_row *row)
{
    const struct modc_generation_options *o = c->options;
    const int count = count_of(o, row);
    struct message *m = &c->message;

    for (int i = 0; i < count; i++) {
        const struct modc_ids ids = sequence_of(o, row, i);
        const enum modc_status status = check_ids(c, row, ids);
        const float bias = row->kind == BIASES ? o->sequence_bias[i].bias : 0;
        bool twice = false;

        if (status != MODC_OK)
            return status;
        for (int j = 0; row->kind == BIASES && j < i; j++)
            twice |= are_same(ids, sequence_of(o, row, j));
        if (ids.count > 0 && !isnan(bias) && bias < INFINITY && !twice)
            continue;
        put(m, row->name);
        put(m, " has ");
        if (ids.count == 0) {
            put(m, "a sequence without ids");
        } else if (twice) {
            put(m, "two biases for ");
            put_ids(m, ids);
        } else {
            put(m, "a bias of ");
            put_real(m, (double)bias);
        }
        put(m, ": it takes ");
        put(m, row->takes);
        return MODC_ARGUMENT;
    }
    return MODC_OK;
}

static enum modc_status check_texts(struct check *c, const struct option_row *row)
{
    for (int i = 0; i < c->options->stop_count; i++) {
        if (c->options->stop[i] && *c->options->stop[i])
            continue;
        put(&c->message, row->name);
        put(&c->message, " has an empty text, with which all would stop");
        return MODC_ARGUMENT;
    }
    return MODC_OK;
}

static enum modc_status check_row(struct check *c, const struct option_row *row)
{
    const void *member = member_of(c->options, row->at);
    int64_t id;

    switch (row->kind) {
    case ID:
        id = *(const int64_t *)member;
        return id == MODC_UNSET ? MODC_OK : check_ids(c, row, (struct modc_ids){&id, 1});
    case IDS:
        return check_ids(c, row, *(const struct modc_ids *)member);
    case SEQUENCES:
    case BIASES:
    case TEXTS:
        if (count_of(c->options, row) < 0 ||
            (count_of(c->options, row) > 0 && !*(const void *const *)member)) {
            put(&c->message, row->name);
            put(&c->message, " is NULL, or its count is below 0");
            return MODC_POINTER;
        }
        return row->kind == TEXTS ? check_texts(c, row) : check_sequences(c, row);
    case SEED:
        return MODC_OK;
    default:
        return check_number(c, row);
    }
}

static enum modc_status refuse(struct check *c, const char *name, const char *why)
{
    const struct option_row *row = row_named(name);

    put(&c->message, name);
    if (row && is_number(row)) {
        put(&c->message, " is ");
        put_value(&c->message, row, number_of(c->options, row));
    }
    put(&c->message, why);
    return MODC_ARGUMENT;
}

static enum modc_status check_lengths(struct check *c)
{
    const struct modc_generation_options *o = c->options;
    const int most = o->max_new_tokens == MODC_UNSET ? 20 : o->max_new_tokens;

    if (o->max_new_tokens != MODC_UNSET && o->max_length != MODC_UNSET)
        return refuse(c, "max_length", ", and max_new_tokens is set, too: one of them says where it ends");
    if (o->min_new_tokens > 0 && o->min_length > 0)
        return refuse(c, "min_length",
                      ", and min_new_tokens is set, too: one of them says where EOS may come");
    if (o->max_length == MODC_UNSET && o->min_new_tokens > most)
        return refuse(c, "min_new_tokens",
                      o->max_new_tokens == MODC_UNSET
                          ? ": at most 20 tokens come where max_new_tokens is not set"
                          : ", which is more than max_new_tokens");
    if (o->max_length != MODC_UNSET && (o->min_length > o->max_length || o->min_new_tokens > o->max_length))
        return refuse(c, o->min_length > 0 ? "min_length" : "min_new_tokens",
                      ", which is more than max_length");
    return MODC_OK;
}

/* What says something that the others make meaningless. */
static enum modc_status check_modes(struct check *c)
{
    const struct modc_generation_options *o = c->options;

    for (int i = 0; i < ROWS; i++) {
        const bool hugging_face = rows[i].at == IN_OPTIONS(top_k) && o->top_k == 50;

        if ((rows[i].flags & SAMPLING) && o->do_sample == 0 && o->temperature != 0 && !hugging_face &&
            is_said(o, &rows[i]))
            return refuse(c, rows[i].name, ", which only sampling has, and do_sample is false");
        if ((rows[i].flags & BEAMS) && o->num_beams == 1 && is_said(o, &rows[i]))
            return refuse(c, rows[i].name, ", which only beams have: num_beams is 1");
    }
    if (o->num_beams > 1 && o->num_return_sequences > o->num_beams)
        return refuse(c, "num_return_sequences", ", which is more than num_beams");
    if (o->num_beams == 1 && o->num_return_sequences > 1 && !modc_generation_samples(o))
        return refuse(c, "num_return_sequences",
                      ": greedy ones would be the same: set do_sample or num_beams");
    if (o->num_beams > 1 && o->prompt_lookup_num_tokens > 0)
        return refuse(c, "prompt_lookup_num_tokens", ", which beams have not: num_beams has to be 1");
    if (o->top_logprobs > 0 && !(o->logprobs & (MODC_LOGPROBS_RESPONSE | MODC_LOGPROBS_FULL)))
        return refuse(c, "top_logprobs", ", and logprobs has neither response nor full");
    if (c->vocabulary > 0 && o->top_logprobs > c->vocabulary)
        return refuse(c, "top_logprobs", ", which is more than the vocabulary has");
    return MODC_OK;
}

static enum modc_status check_forced(struct check *c)
{
    const struct modc_generation_options *o = c->options;
    bool all = o->forced_eos_token_id.count > 0;

    for (int i = 0; i < o->forced_eos_token_id.count; i++)
        all &= modc_ids_have(o->suppress_tokens, o->forced_eos_token_id.ids[i]);
    if (all)
        return refuse(c, "forced_eos_token_id", ": all of it is in suppress_tokens, too");
    if (o->forced_bos_token_id >= 0 && modc_ids_have(o->suppress_tokens, o->forced_bos_token_id))
        return refuse(c, "forced_bos_token_id", ", which is in suppress_tokens, too");
    if (o->exponential_decay_start != MODC_UNSET && modc_generation_eos(o).count == 0)
        return refuse(c, "exponential_decay_length_penalty",
                      o->ignore_eos ? ": it makes EOS likelier, and ignore_eos is true"
                                    : ": it makes EOS likelier, and eos_token_id is not set");
    return MODC_OK;
}

enum modc_status modc_generation_check(const struct modc_generation_options *options, int vocabulary,
                                       char *message, size_t room)
{
    struct check c = {options, vocabulary, {message, room, 0}};
    enum modc_status status = MODC_OK;

    put(&c.message, "");
    if (!options)
        return MODC_POINTER;
    for (int i = 0; i < ROWS && status == MODC_OK; i++)
        if (!rows[i].same_as)
            status = check_row(&c, &rows[i]);
    if (status == MODC_OK)
        status = check_lengths(&c);
    if (status == MODC_OK)
        status = check_modes(&c);
    return status == MODC_OK ? check_forced(&c) : status;
}

/* ---- values as text ----------------------------------------------------------------------------------------- */

static void skip_spaces(const char **at)
{
    while (**at == ' ' || **at == '\t')
        ++*at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool read_word(const char **at, const char *word)
{
    const size_t length = strlen(word);

    skip_spaces(at);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool ends(const char *at)
{
    skip_spaces(&at);
    return *at == '\0';
}

/* Digits alone: negative numbers are nothing that an option takes whole. */
static bool read_whole(const char **at, uint64_t most, uint64_t *value)
{
    skip_spaces(at);
    if (!is_digit(**at))
        return false;
    for (*value = 0; is_digit(**at); ++*at) {
        const uint64_t digit = (uint64_t)(**at - '0');

        if (*value > (most - digit) / 10)
            return false;
        *value = *value * 10 + digit;
    }
    return true;
}

static bool read_exponent(const char **at, int *exponent)
{
    const char *next = *at;
    uint64_t value;
    int sign;

    if (*next != 'e' && *next != 'E')
        return true;
    next++;
    sign = *next == '-' ? -1 : 1;
    if (*next == '-' || *next == '+')
        next++;
    if (!is_digit(*next) || !read_whole(&next, 10000, &value))
        return false;
    *exponent += sign * (int)value;
    *at = next;
    return true;
}

/* A decimal number; "-inf" and "inf". */
static bool read_real(const char **at, double *value)
{
    uint64_t digits = 0;
    int exponent = 0, count = 0;
    bool negative, point = false;

    skip_spaces(at);
    negative = **at == '-';
    if (**at == '-' || **at == '+')
        ++*at;
    if (read_word(at, "inf")) {
        *value = negative ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    for (; is_digit(**at) || (**at == '.' && !point); ++*at) {
        if (**at == '.') {
            point = true;
            continue;
        }
        count++;
        if (digits < UINT64_MAX / 10 - 1) {
            digits = digits * 10 + (uint64_t)(**at - '0');
            exponent -= point;
        } else {
            exponent += !point;
        }
    }
    if (count == 0 || !read_exponent(at, &exponent))
        return false;
    *value = exponent < 0 ? (double)digits / pow(10, -exponent) : (double)digits * pow(10, exponent);
    if (digits == 0)
        *value = 0;
    if (negative)
        *value = -*value;
    return true;
}

/* ---- lists -------------------------------------------------------------------------------------------------- */

static void *take(struct modc_option_memory *memory, size_t bytes)
{
    const size_t rounded = (bytes + 7) / 8 * 8;
    void *taken;

    if (!memory || !memory->block || memory->used > memory->bytes || rounded > memory->bytes - memory->used)
        return NULL;
    taken = (char *)memory->block + memory->used;
    memory->used += rounded;
    return taken;
}

/* Sequences of ids with commas between them, each with a bias or none. ids, lists, biases: NULL, or where they go. */
static bool read_sequences(const char *at, bool biased, int64_t *ids, struct modc_ids *lists,
                           struct modc_biased *biases, int *id_count, int *list_count)
{
    *id_count = *list_count = 0;
    do {
        struct modc_ids list = {ids ? ids + *id_count : NULL, 0};
        double bias = 0;
        uint64_t id;

        for (; read_whole(&at, INT64_MAX, &id); list.count++)
            if (ids)
                ids[*id_count + list.count] = (int64_t)id;
        if (list.count == 0 || (biased && (!read_word(&at, ":") || !read_real(&at, &bias))))
            return false;
        if (lists)
            lists[*list_count] = list;
        if (biases)
            biases[*list_count] = (struct modc_biased){list, (float)bias};
        *id_count += list.count;
        ++*list_count;
    } while (read_word(&at, ","));
    return ends(at);
}

static enum modc_status set_sequences(struct modc_generation_options *options, const struct option_row *row,
                                      const char *value, struct modc_option_memory *memory)
{
    const bool biased = row->kind == BIASES;
    struct modc_biased *biases = NULL;
    struct modc_ids *lists = NULL;
    int64_t *ids;
    int id_count, list_count;

    if (!read_sequences(value, biased, NULL, NULL, NULL, &id_count, &list_count))
        return MODC_ARGUMENT;
    ids = (int64_t *)take(memory, (size_t)id_count * sizeof *ids);
    if (biased)
        biases = (struct modc_biased *)take(memory, (size_t)list_count * sizeof *biases);
    else
        lists = (struct modc_ids *)take(memory, (size_t)list_count * sizeof *lists);
    if (!ids || (!biases && !lists))
        return MODC_MEMORY;
    (void)read_sequences(value, biased, ids, lists, biases, &id_count, &list_count);
    if (biased) {
        options->sequence_bias = biases;
        options->sequence_bias_count = list_count;
    } else if (row->kind == SEQUENCES) {
        options->bad_words_ids = lists;
        options->bad_words_count = list_count;
    } else { /* one list, whose ids lie together: commas say nothing */
        *(struct modc_ids *)((char *)options + row->at) = (struct modc_ids){ids, id_count};
    }
    return MODC_OK;
}

static enum modc_status add_stop(struct modc_generation_options *options, const char *value,
                                 struct modc_option_memory *memory)
{
    const char **texts;

    if (!*value)
        return MODC_ARGUMENT;
    texts = (const char **)take(memory, ((size_t)options->stop_count + 1) * sizeof *texts);
    if (!texts)
        return MODC_MEMORY;
    for (int i = 0; i < options->stop_count; i++)
        texts[i] = options->stop[i];
    texts[options->stop_count++] = value;
    options->stop = texts;
    return MODC_OK;
}

/* ---- setting one -------------------------------------------------------------------------------------------- */

static bool read_flag(const char **at, int *value)
{
    if (read_word(at, "true") || read_word(at, "True") || read_word(at, "1"))
        *value = 1;
    else if (read_word(at, "false") || read_word(at, "False") || read_word(at, "0"))
        *value = 0;
    else
        return false;
    return true;
}

static bool read_log_probs(const char **at, unsigned *value)
{
    static const char *const words[] = {"prompt", "response", "full"};
    bool found = false;

    *value = 0;
    if (read_word(at, "none"))
        return true;
    do {
        found = false;
        for (unsigned i = 0; i < 3; i++) {
            if (!found && read_word(at, words[i])) {
                *value |= 1u << i;
                found = true;
            }
        }
        (void)read_word(at, ",");
    } while (found && !ends(*at));
    return found;
}

static bool set_value(struct modc_generation_options *options, const struct option_row *row, const char *at)
{
    void *member = (char *)options + row->at;
    uint64_t whole = 0;
    double real = 0;
    unsigned words;
    int flag = 0;

    switch (row->kind) {
    case REAL:
        if (!read_real(&at, &real) || !is_in_range(row, real))
            return false;
        *(float *)member = (float)real;
        break;
    case SWITCH:
    case MAYBE:
    case STOPPING:
        if (row->kind == STOPPING && (read_word(&at, "never") || read_word(&at, "\"never\"")))
            flag = MODC_EARLY_NEVER;
        else if (!read_flag(&at, &flag))
            return false;
        if (row->kind == SWITCH)
            *(bool *)member = flag != 0;
        else if (row->kind == MAYBE)
            *(int *)member = flag;
        else
            *(enum modc_early_stopping *)member = (enum modc_early_stopping)flag;
        break;
    case LOGPROBS:
        if (!read_log_probs(&at, &words))
            return false;
        *(unsigned *)member = words;
        break;
    case SEED:
        if (!read_whole(&at, UINT64_MAX, &whole))
            return false;
        *(uint64_t *)member = whole;
        break;
    default:
        if (!read_whole(&at, INT_MAX, &whole) || !is_in_range(row, (double)whole))
            return false;
        if (row->kind == DECAY) {
            if (!read_word(&at, ",") || !read_real(&at, &real) || !(real > 0) || real > MOST_REAL)
                return false;
            options->exponential_decay_factor = (float)real;
        }
        if (row->kind == ID)
            *(int64_t *)member = (int64_t)whole;
        else
            *(int *)member = (int)whole;
        break;
    }
    return ends(at);
}

/* How many letters differ: those that are put in, left out or others. */
static int distance_of(const char *a, const char *b)
{
    enum { LONGEST = 40 };
    const int length = (int)strlen(b);
    int line[LONGEST + 1];

    if (length > LONGEST || strlen(a) > LONGEST)
        return LONGEST;
    for (int j = 0; j <= length; j++)
        line[j] = j;
    for (int i = 0; a[i]; i++) {
        int corner = line[0];

        line[0] = i + 1;
        for (int j = 0; j < length; j++) {
            int least = corner + (a[i] != b[j]);

            corner = line[j + 1];
            least = least < line[j] + 1 ? least : line[j] + 1;
            line[j + 1] = least < corner + 1 ? least : corner + 1;
        }
    }
    return line[length];
}

static enum modc_status refuse_name(struct message *m, const char *name)
{
    const char *nearest = NULL;
    int least = (int)(strlen(name) / 3) + 1;

    for (int i = 0; i < ROWS; i++) {
        const int distance = distance_of(name, rows[i].name);

        if (distance < least || (distance == least && !nearest)) {
            nearest = rows[i].name;
            least = distance;
        }
    }
    put(m, "there is no option '");
    put(m, name);
    put(m, nearest ? "': did you mean '" : "'");
    if (nearest) {
        put(m, nearest);
        put(m, "'?");
    }
    return MODC_NAME;
}

/* Another name of the same option that was set; NULL: none. */
static const char *other_name(const struct modc_generation_options *options, const struct option_row *named,
                              const struct option_row *row)
{
    for (int i = 0; i < ROWS; i++) {
        const bool same = &rows[i] == row || (rows[i].same_as && strcmp(rows[i].same_as, row->name) == 0);

        if (same && &rows[i] != named && options->given >> i & 1)
            return rows[i].name;
    }
    return NULL;
}

enum modc_status modc_generation_set(struct modc_generation_options *options, const char *name,
                                     const char *value, struct modc_option_memory *memory, char *message,
                                     size_t room)
{
    struct message m = {message, room, 0};
    enum modc_status status;
    const struct option_row *named, *row;
    const char *other;

    put(&m, "");
    if (!options || !name || !value)
        return MODC_POINTER;
    named = row = row_named(name);
    if (!named)
        return refuse_name(&m, name);
    if (named->same_as)
        row = row_named(named->same_as);
    other = other_name(options, named, row);
    if (other) {
        put(&m, name);
        put(&m, " is set, and ");
        put(&m, other);
        put(&m, ", which is another name for the same");
        return MODC_ARGUMENT;
    }
    if (row->kind == TEXTS) {
        status = add_stop(options, value, memory);
    } else if (is_number(row) || row->kind == SEED || row->kind == DECAY) {
        struct modc_generation_options changed = *options;

        status = set_value(&changed, row, value) ? MODC_OK : MODC_ARGUMENT;
        if (status == MODC_OK)
            *options = changed;
    } else {
        status = set_sequences(options, row, value, memory);
    }
    if (status == MODC_OK) {
        options->given |= (uint64_t)1 << (named - rows);
        return MODC_OK;
    }
    put(&m, name);
    put(&m, status == MODC_MEMORY ? " has no room for '" : " cannot be '");
    put(&m, value);
    put(&m, status == MODC_MEMORY ? "'" : "': it takes ");
    put(&m, status == MODC_MEMORY ? "" : row->takes);
    return status;
}
