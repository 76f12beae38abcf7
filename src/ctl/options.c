/* SPDX-License-Identifier: MIT */
/* Reads the command line with getopt_long, by the rows of verb_table.h. */
#include "ctl/options.h"

#include <getopt.h>
#include <string.h>

#include "base/ident.h"

/* Returns whether the text begins with an API key, whatever follows it. */
static bool begins_with_key(const char *text)
{
    static const size_t sizes[] = {API_KEY_SIZE, API_KEY_BARE_SIZE};
    size_t len = strlen(text);

    for (size_t i = 0; i < 2; i++) {
        if (len >= sizes[i] - 1 && api_key_valid((struct text){text, sizes[i] - 1}))
            return true;
    }
    return false;
}

/* Returns whether an API key is in the word, such as in --for=KEY or -fKEY. */
static bool holds_api_key(const char *word)
{
    for (; *word; word++) {
        if (begins_with_key(word))
            return true;
    }
    return false;
}

int options_refuse_keys(char *const *words)
{
    for (; *words; words++) {
        if (holds_api_key(*words))
            return ctl_misuse("an API key is on the command line, and no command takes one; "
                              "'aditctl key list' shows the ids of keys; the key may now be in "
                              "the history of your shell");
    }
    return CTL_OK;
}

/* Returns the row of a letter, which must have one. */
static const struct verb_option *find_option(int letter)
{
    size_t i = 0;

    while (i + 1 < VERB_N_OPTIONS && verb_options[i].letter != letter)
        i++;
    return &verb_options[i];
}

/* An empty value is mostly a variable that is not set.  The word is the last one that getopt_long()
 * took: the value, unless that is a part of it.  Returns CTL_OK, or CTL_USAGE after a message. */
static int set_option(struct ctl_options *options, int letter, const char *value, const char *word)
{
    const struct verb_option *option = find_option(letter);
    char *member = (char *)options + option->offset;

    if (option->value && *(const char **)(void *)member)
        return ctl_misuse("--%s is given twice; give it once", option->name);
    if (option->value && !*value)
        return ctl_misuse("--%s is empty; give it a value: --%s %s", option->name, option->name,
                          option->value);
    if (option->value && value == word && strncmp(value, "--", 2) == 0)
        return ctl_misuse("--%s needs a value before '%s'; for that value itself, write --%s=%s",
                          option->name, value, option->name, value);
    if (option->value)
        *(const char **)(void *)member = value;
    else
        *(bool *)(void *)member = true;
    return CTL_OK;
}

/* ---- misused options ---- */

/* Returns whether the first len bytes of the word begin the names of several options. */
static bool is_ambiguous(const struct verb *verb, const char *word, int len)
{
    int n = 0;

    for (size_t i = 0; len > 2 && i < VERB_N_OPTIONS; i++)
        n += verb_takes(verb, verb_options[i].letter) &&
             strncmp(word + 2, verb_options[i].name, (size_t)len - 2) == 0;
    return n > 1;
}

static int misuse_unknown(const struct verb *verb, const char *word, int len)
{
    struct buf list = {0};
    int status;

    if (verb)
        status = ctl_misuse("%s option '%.*s'; '%s' takes: %s",
                            is_ambiguous(verb, word, len) ? "ambiguous" : "unknown", len, word,
                            verb->words, verb_list_options(verb, &list));
    else
        status = ctl_misuse("unknown option '%.*s'; before the command, aditctl takes: %s", len,
                            word, verb_list_options(NULL, &list));
    buf_free(&list);
    return status;
}

/* Prints the fault of the option for which getopt_long() returned '?' or ':'.  The word is the one
 * before getopt's position: the option, unless it is one of several letters. */
static int misuse_option(const struct verb *verb, int outcome, const char *word)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    bool is_taken = optopt && verb_takes(verb, (char)optopt);

    if (outcome == ':')
        return ctl_misuse("--%s needs a value: --%s %s", find_option(optopt)->name,
                          find_option(optopt)->name, find_option(optopt)->value);
    if (is_taken)
        return ctl_misuse("--%s takes no value", find_option(optopt)->name);
    if (optopt)
        return misuse_unknown(verb, letter, 2);
    /* The word may be a private key. */
    return misuse_unknown(verb, word, (int)strcspn(word, "=\r\n"));
}

/* ---- reading ---- */

/* Fills getopt's tables with the options that the verb takes. */
static void make_tables(const struct verb *verb, struct option known[VERB_N_OPTIONS + 1],
                        char letters[2 * VERB_N_OPTIONS + 3])
{
    size_t n = 0;
    char *at = letters;

    /* Before the verb, stop at the first word, since later options are the verb's. */
    if (!verb)
        *at++ = '+';
    *at++ = ':'; /* distinguishes a missing value from an unknown option */
    for (size_t i = 0; i < VERB_N_OPTIONS; i++) {
        const struct verb_option *option = &verb_options[i];

        if (!verb_takes(verb, option->letter))
            continue;
        known[n++] = (struct option){.name = option->name,
                                     .has_arg = option->value ? required_argument : no_argument,
                                     .val = option->letter};
        *at++ = option->letter;
        if (option->value)
            *at++ = ':';
    }
    *at = '\0';
}

int options_read(struct ctl_options *options, const struct verb *verb, char ***words)
{
    static char program[] = "aditctl";
    struct option known[VERB_N_OPTIONS + 1] = {{0}};
    char letters[2 * VERB_N_OPTIONS + 3];
    char **at = *words;
    int status = CTL_OK;
    int n_words = 0;
    int letter;

    make_tables(verb, known, letters);
    at[-1] = program;
    while (at[n_words])
        n_words++;
    optind = 0; /* resets glibc's getopt */
    opterr = 0;
    while ((letter = getopt_long(n_words + 1, at - 1, letters, known, NULL)) != -1) {
        if (letter != '?' && letter != ':')
            status = set_option(options, letter, optarg, at[optind - 2]);
        else if (options->help || options->version)
            break;
        else
            status = misuse_option(verb, letter, at[optind - 2]);
        if (status != CTL_OK)
            return status;
    }
    *words = at + optind - 1;
    return CTL_OK;
}

/* Writes the verb's argument and the options that it needs, as its command line has them. */
static const char *needed_words(const struct verb *verb, struct buf *words)
{
    buf_puts(words, verb->argument);
    for (const char *mark = strchr(verb->options, '!'); mark; mark = strchr(mark + 1, '!')) {
        const struct verb_option *option = find_option(mark[-1]);

        buf_printf(words, " --%s %s", option->name, option->value);
    }
    return words->failed ? verb->argument : words->data;
}

/* Says that the number of arguments is wrong, and what to run. */
static int wrong_number(const struct verb *verb, const char *what)
{
    struct buf words = {0};
    int status = ctl_misuse("'%s' %s; run: aditctl %s %s", verb->words, what, verb->words,
                            needed_words(verb, &words));

    buf_free(&words);
    return status;
}

int options_read_argument(struct ctl_options *options, const struct verb *verb, char *const *words)
{
    bool takes_two = verb->argument && strchr(verb->argument, ' ');

    options->argument = words[0];
    options->second_argument = words[0] ? words[1] : NULL;
    if (verb->argument && !*words && strchr(verb->argument, '|')) {
        struct buf list = {0};
        int status = ctl_misuse("'%s' needs an argument; choose one of: %s", verb->words,
                                verb_list_choices(verb, &list));

        buf_free(&list);
        return status;
    }
    if (verb->argument && verb->argument[0] != '[' &&
        (takes_two ? !options->second_argument : !*words))
        return wrong_number(verb, takes_two ? "needs two arguments" : "needs an argument");
    if (*words && !verb->argument)
        return ctl_misuse("unexpected argument '%s'; '%s' takes none", *words, verb->words);
    /* The words may be keys: no message repeats them. */
    if (options->second_argument && (!takes_two || words[2]))
        return wrong_number(verb, takes_two ? "takes two arguments" : "takes one argument");
    return CTL_OK;
}
