/* SPDX-License-Identifier: MIT */
/* Compares answers. */
#include "judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* Returns 27, the length of the digits of an assigned identifier with that prefix at s, or 0. */
static size_t digits_behind(const char *s, const char *prefix)
{
    size_t len = strlen(prefix);
    size_t n = 0;

    if (strncmp(s, prefix, len) != 0)
        return 0;
    while (ascii_is_alnum(s[len + n]))
        n++;
    return n == 27 ? n : 0;
}

/* Copies text without times and without the digits of operations, credentials and entity tags. */
static void take(struct buf *out, struct text text)
{
    static const char time[] = "\"created_at\":\"";
    static const char etag[] = "ETag: \"";
    const char *s = text.s;

    buf_puts(out, "");
    while (*s) {
        size_t n = digits_behind(s, "op_") + digits_behind(s, "sshcr_");

        buf_add(out, s, 1);
        if (n > 0)
            s += strcspn(s, "_") + n;
        else if (strncmp(s, time, sizeof time - 1) == 0)
            s += sizeof time - 1 + strcspn(s + sizeof time - 1, "\"");
        else if (strncmp(s, etag, sizeof etag - 1) == 0)
            s += sizeof etag - 2 + strspn(s + sizeof etag - 1, "0123456789");
        s++;
    }
}

void answer_take(struct answer *answer, const struct response *response)
{
    *answer = (struct answer){.status = response->status, .omit_body = response->omit_body};
    take(&answer->headers, buf_text(&response->headers));
    take(&answer->body, buf_text(&response->body));
}

void answer_free(struct answer *answer)
{
    buf_free(&answer->headers);
    buf_free(&answer->body);
}

bool answer_equal(const struct answer *a, const struct answer *b)
{
    return a->status == b->status && a->omit_body == b->omit_body &&
           text_eq(buf_text(&a->headers), buf_text(&b->headers)) &&
           text_eq(buf_text(&a->body), buf_text(&b->body));
}

int answer_number(const struct answer *answer)
{
    static const char before[] = "{\"error_code\":\"ERR_SERVICE_";

    if (strncmp(answer->body.data, before, sizeof before - 1) != 0)
        return 0;
    return atoi(answer->body.data + sizeof before - 1);
}

const char *answer_refusal_fault(const struct response *response)
{
    static const char headers[] = "Service-Operation-Id: %s\r\nCache-Control: no-store\r\n"
                                  "Retry-After: 1\r\nContent-Type: application/json\r\n";
    static const char cors[] =
        "Vary: Origin\r\nAccess-Control-Allow-Origin: https://a.example\r\n"
        "Access-Control-Expose-Headers: ETag, Idempotent-Replayed, Retry-After, "
        "Service-Operation-Id\r\n";
    const char *got = buf_text(&response->headers).s;
    char wanted[sizeof headers + 32];
    char msg[512];
    char id[32];
    int number;
    int end = 0;

    if (response->status != 503)
        return "neither the right answer nor a 503";
    if (sscanf(buf_text(&response->body).s,
               "{\"error_code\":\"ERR_SERVICE_%d\",\"status_code\":503,\"msg\":\"%511[^\"]\","
               "\"details\":{\"operation_id\":\"%31[0-9A-Za-z_]\"}}%n",
               &number, msg, id, &end) != 3 ||
        end == 0 || response->body.data[end])
        return "a 503 with a body of another shape";
    snprintf(wanted, sizeof wanted, headers, id);
    if (strncmp(got, wanted, strlen(wanted)) != 0 ||
        (got[strlen(wanted)] && strcmp(got + strlen(wanted), cors) != 0))
        return "a 503 with other headers";
    return NULL;
}
