/* SPDX-License-Identifier: MIT */
/* Filters of OAuth modules that have a provider's title in place of its name. */
#include "api/oauth_module.h"

#include "base/ascii.h"
#include "store/resource.h"

/* Returns whether the text is how people call a provider, and no name of one. */
static bool is_title(const void *context, struct text word)
{
    return oauth_names_find(context, word) == 0 && identity_provider_called(word) > 0;
}

/* Returns the word behind "provider." at the byte that an error is about. */
static struct text member_of_provider(struct text source, size_t offset)
{
    static const char front[] = "provider.";
    struct text rest = offset < source.len ? text_part(source, offset, source.len) : source;
    size_t from = sizeof front - 1;
    size_t to = from;

    if (!text_begins(rest, front))
        return (struct text){0};
    while (to < rest.len && (ascii_is_alnum(rest.s[to]) || rest.s[to] == '_'))
        to++;
    return text_part(rest, from, to);
}

static bool refuse_title(const struct call *call, size_t offset, struct text title,
                         struct error *err)
{
    int position = identity_provider_called(title);

    return filter_refuse(err, offset,
                         "obj.provider is a provider's name, and %s is \"%s\"; write: "
                         "obj.provider == \"%s\"",
                         identity_provider_at(position)->title,
                         call->settings->oauth.providers[position - 1],
                         call->settings->oauth.providers[position - 1]);
}

bool api_oauth_module_read_page(struct call *call, struct api_page *page, struct error *err)
{
    struct text title;
    size_t offset;

    if (!api_page_read(call, store_resource_filter(RESOURCE_OAUTH_MODULE), page, err)) {
        title = member_of_provider(page->source, err->offset);
        return err->code == ERR_FILTER && identity_provider_called(title) > 0
                   ? refuse_title(call, err->offset, title, err)
                   : false;
    }
    if (!page->filter)
        return true;
    title = filter_find_text(page->filter, "provider", is_title, &call->settings->oauth, &offset);
    return !title.s || refuse_title(call, offset, title, err);
}
