/* SPDX-License-Identifier: MIT */
/* The tables from verb_table.h, and the help that they give. */
#include "ctl/verbs.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#if !defined ADIT_SOCKET_PATH || !defined ADIT_PROGRAM_PATH || !defined ADIT_DOCS_PATH ||          \
    !defined ADIT_CONSOLE_PATH
#error "the build has to define the paths of the socket, the program and both folders"
#endif

static const struct verb verbs[] = {
#define VERB(words, handler, options, argument, role, summary)                                     \
    {words, handler, options, argument, VERB_AS_##role, summary},
#include "ctl/verb_table.h"
};

#define N_VERBS (sizeof verbs / sizeof verbs[0])

const struct verb_option verb_options[VERB_N_OPTIONS] = {
#define TEXT_OPTION(letter, name, value, member, help)                                             \
    {letter, name, value, offsetof(struct ctl_options, member), help},
#define FLAG_OPTION(letter, name, member, help)                                                    \
    {letter, name, NULL, offsetof(struct ctl_options, member), help},
#include "ctl/verb_table.h"
};

/* Every verb takes the first options.  The second ones may come before a verb. */
static const char common_letters[] = "cjh";
static const char leading_letters[] = "cjhTQV";

static size_t noun_len(const char *words)
{
    return strcspn(words, " ");
}

static bool has_noun(const struct verb *verb, const char *noun)
{
    return strlen(noun) == noun_len(verb->words) && strncmp(verb->words, noun, strlen(noun)) == 0;
}

/* Returns the word after the noun, or "". */
static const char *second_word(const struct verb *verb)
{
    const char *rest = verb->words + noun_len(verb->words);

    return *rest ? rest + 1 : rest;
}

const struct verb *verb_find(char *const *words, int *n_words)
{
    for (size_t i = 0; words[0] && i < N_VERBS; i++) {
        const char *second = second_word(&verbs[i]);

        if (!has_noun(&verbs[i], words[0]))
            continue;
        if (!*second || (words[1] && strcmp(words[1], second) == 0)) {
            *n_words = *second ? 2 : 1;
            return &verbs[i];
        }
    }
    return NULL;
}

bool verb_noun_known(const char *noun)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        if (has_noun(&verbs[i], noun))
            return true;
    }
    return false;
}

bool verb_takes(const struct verb *verb, char letter)
{
    return verb ? strchr(common_letters, letter) || strchr(verb->options, letter)
                : strchr(leading_letters, letter) != NULL;
}

/* ---- lists for messages ---- */

static void add_name(struct buf *list, const char *name, size_t len)
{
    if (list->len > 0)
        buf_puts(list, ", ");
    buf_add(list, name, len);
}

static const char *list_text(const struct buf *list)
{
    return list->failed ? "" : buf_text(list).s;
}

const char *verb_list_names(const char *noun, struct buf *list)
{
    for (size_t i = 0; i < N_VERBS; i++) {
        const char *words = verbs[i].words;
        size_t len = noun_len(words);

        if (noun && has_noun(&verbs[i], noun))
            add_name(list, second_word(&verbs[i]), strlen(second_word(&verbs[i])));
        /* The verbs of a noun are together. */
        else if (!noun && (i == 0 || noun_len(verbs[i - 1].words) != len ||
                           strncmp(verbs[i - 1].words, words, len) != 0))
            add_name(list, words, len);
    }
    return list_text(list);
}

const char *verb_list_options(const struct verb *verb, struct buf *list)
{
    for (size_t i = 0; i < VERB_N_OPTIONS; i++) {
        if (!verb_takes(verb, verb_options[i].letter))
            continue;
        add_name(list, "--", 2);
        buf_puts(list, verb_options[i].name);
    }
    return list_text(list);
}

const char *verb_list_choices(const struct verb *verb, struct buf *list)
{
    for (const char *at = verb->argument; *at;) {
        size_t len = strcspn(at, "|");

        add_name(list, at, len);
        at += len + (at[len] == '|');
    }
    return list_text(list);
}

/* ---- help ---- */

static void print_options(FILE *out, const struct verb *verb)
{
    fputs("\nOptions:\n", out);
    for (size_t i = 0; i < VERB_N_OPTIONS; i++) {
        const struct verb_option *option = &verb_options[i];
        char text[40];

        if (!verb_takes(verb, option->letter))
            continue;
        snprintf(text, sizeof text, "--%s%s%s", option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        fprintf(out, "  -%c, %-20s", option->letter, text);
        fprintf(out, strlen(text) < 20 ? " %s\n" : "\n                           %s\n",
                option->help);
    }
}

void verb_print(const struct verb *verb)
{
    printf("Usage: aditctl %s [OPTION]...%s%s\n%c%s.\n", verb->words, verb->argument ? " " : "",
           verb->argument ? verb->argument : "", toupper((unsigned char)verb->summary[0]),
           verb->summary + 1);
    print_options(stdout, verb);
}

static int widest_verb(void)
{
    size_t widest = 0;

    for (size_t i = 0; i < N_VERBS; i++) {
        size_t len = strlen(verbs[i].words);

        widest = len > widest ? len : widest;
    }
    return (int)widest;
}

void verb_print_all(FILE *out, const char *noun)
{
    const int width = widest_verb();

    fprintf(out, "Usage: aditctl %s%s [OPTION]...\n\n%s:\n", noun ? noun : "COMMAND",
            noun ? " VERB" : "", noun ? "Verbs" : "Commands");
    for (size_t i = 0; i < N_VERBS; i++) {
        if (!noun || has_noun(&verbs[i], noun))
            fprintf(out, "  %-*s  %s\n", width, verbs[i].words, verbs[i].summary);
    }
    print_options(out, NULL);
    fprintf(out, "\nFor the options of a command, run: aditctl COMMAND --help\n"
                 "Exit status: 0 done, 1 failed, 2 wrong usage; nothing was tried.  'permits' and\n"
                 "'diff': 0 or 1 is the answer, 3 failed.\n");
}
