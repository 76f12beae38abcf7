/* SPDX-License-Identifier: MIT */
/* Asks on the terminal. */
#include "ctl/question.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool ctl_may_ask(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

int ctl_confirm(const struct ctl *ctl, const char *question)
{
    char answer[16];

    if (ctl->options.yes)
        return CTL_OK;
    if (!ctl_may_ask())
        return ctl_misuse("nothing was changed: without a terminal to ask on, this needs --yes");
    fprintf(stderr, "%s Type yes to go on: ", question);
    if (fgets(answer, sizeof answer, stdin) && strcmp(answer, "yes\n") == 0)
        return CTL_OK;
    return ctl_fail("nothing was changed");
}
