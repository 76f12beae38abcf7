/* SPDX-License-Identifier: MIT */
/* Fuzz target: certificates of authorities.  The input is PEM.  Or it is the byte 1, which begins
 * no text, and the data of a block: a fuzzer does not find valid base64. */
#include "crypt/certificate.h"

#include "crypt/key.h"
#include "fuzz.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"
#define END "-----END CERTIFICATE-----\n"

/* Writes the data as a block of PEM. */
static void write_block(struct buf *out, const uint8_t *data, size_t size)
{
    char *text = malloc(CRYPT_KEY_ENCODED_SIZE(size));
    size_t len;

    MUST(text);
    crypt_key_base64_encode(data, size, text);
    len = strlen(text);
    buf_puts(out, BEGIN);
    for (size_t at = 0; at < len; at += 64) {
        buf_add(out, text + at, len - at < 64 ? len - at : 64);
        buf_puts(out, "\n");
    }
    buf_puts(out, END);
    free(text);
}

/* Returns how many blocks of certificates the text has, and nothing besides. */
static size_t count_blocks(struct text pem)
{
    size_t n = 0;

    while (pem.len > 0) {
        const char *end = memmem(pem.s, pem.len, END, strlen(END));
        size_t len;

        MUST(end && text_begins(pem, BEGIN));
        len = (size_t)(end - pem.s);
        for (size_t i = strlen(BEGIN); i < len; i++)
            MUST(pem.s[i] != '\n' || (pem.s[i - 1] != '\n' && pem.s[i + 1] != '\n'));
        MUST(strspn(pem.s + strlen(BEGIN), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                           "0123456789+/=\n") == len - strlen(BEGIN));
        pem = text_part(pem, len + strlen(END), pem.len);
        n++;
    }
    return n;
}

/* What was written is read again as it is. */
static void expect_same(struct text pem)
{
    struct crypt_certificates found;
    struct buf again = {0};

    MUST(crypt_certificates_take(pem.s, pem.len, &again, &found) == CRYPT_CERTIFICATES_READ);
    MUST(text_eq(buf_text(&again), pem) && found.n_others == 0);
    buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct crypt_certificates found;
    struct buf pem = {0};
    struct buf out = {0};

    if (size > 0 && data[0] == 1)
        write_block(&pem, data + 1, size - 1);
    else
        buf_add(&pem, (const char *)data, size);
    MUST(!pem.failed);
    if (crypt_certificates_take(pem.data, pem.len, &out, &found) == CRYPT_CERTIFICATES_READ &&
        found.n_taken > 0) {
        MUST(count_blocks(buf_text(&out)) <= found.n_taken);
        expect_same(buf_text(&out));
        accepted();
    } else {
        MUST(out.len == 0 && found.n_taken == 0);
    }
    buf_free(&pem);
    buf_free(&out);
    return 0;
}
