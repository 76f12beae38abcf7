/* SPDX-License-Identifier: MIT */
/* Compares lists of rules. */
#include "model/acl_cover.h"

bool acl_cover_read(struct text_list rules, struct acl_cover *out)
{
    *out = (struct acl_cover){.is_everything = acl_permits_everything(rules)};
    if (out->is_everything)
        return true;
    if (!acl_targets_read(rules, &out->targets))
        return false;
    acl_targets_narrow(&out->targets);
    return true;
}

bool acl_cover_includes(const struct acl_cover *cover, struct text_list before)
{
    struct acl_targets had = {0};
    bool covers;

    if (cover->is_everything)
        return true;
    if (acl_permits_everything(before))
        return false;
    covers = acl_targets_read(before, &had);
    for (size_t i = 0; i < had.n && covers; i++)
        covers = acl_targets_permit(&cover->targets, &had.items[i]);
    acl_targets_free(&had);
    return covers;
}

void acl_cover_free(struct acl_cover *cover)
{
    acl_targets_free(&cover->targets);
}
