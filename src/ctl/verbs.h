/* SPDX-License-Identifier: MIT */
/* Tables of the verbs and options in verb_table.h, lookups in them, and the help. */
#ifndef ADIT_CTL_VERBS_H
#define ADIT_CTL_VERBS_H

#include <stdio.h>

#include "base/buf.h"
#include "ctl/ctl.h"

/* Which connection of the settings a verb uses: admin_conninfo or conninfo. */
enum verb_role { VERB_AS_OWNER, VERB_AS_RESPONDER };

/* A row of verb_table.h, which explains the members. */
struct verb {
    const char *words;
    int (*run)(struct ctl *ctl); /* returns the exit status */
    const char *options;
    const char *argument;
    enum verb_role role;
    const char *summary;
};

struct verb_option {
    char letter;
    const char *name;
    const char *value; /* NULL: takes none */
    size_t offset;     /* of its member in struct ctl_options: text, or bool if value is NULL */
    const char *help;
};

enum {
    VERB_N_OPTIONS = 0
#define TEXT_OPTION(letter, name, value, member, help) +1
#define FLAG_OPTION(letter, name, member, help) +1
#include "ctl/verb_table.h"
};

extern const struct verb_option verb_options[VERB_N_OPTIONS];

/* Returns the verb at the start of the words, which end with NULL, and sets *n_words to the number
 * of its words.  Returns NULL if there is none. */
const struct verb *verb_find(char *const *words, int *n_words);

/* Returns whether a verb begins with this noun. */
bool verb_noun_known(const char *noun);

/* Returns whether the verb takes the option; for NULL, whether it may come before the verb. */
bool verb_takes(const struct verb *verb, char letter);

/* Return a list for a message, "a, b, c", of:
 *   names    the nouns or, with a noun, its verbs
 *   options  the options of the verb or, for NULL, those that may come before a verb
 *   choices  the accepted values of the verb's argument
 * The text belongs to *list, which must be empty and which the caller frees.  It is "" if memory
 * runs out. */
const char *verb_list_names(const char *noun, struct buf *list);
const char *verb_list_options(const struct verb *verb, struct buf *list);
const char *verb_list_choices(const struct verb *verb, struct buf *list);

/* Print the help of aditctl or, with a noun, of its verbs; and the help of one verb. */
void verb_print_all(FILE *out, const char *noun);
void verb_print(const struct verb *verb);

#endif
