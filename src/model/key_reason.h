/* SPDX-License-Identifier: MIT */
/* Why a public key is refused: one or two sentences for each condition.  The first one follows the
 * name of what holds the key. */
#ifndef ADIT_MODEL_KEY_REASON_H
#define ADIT_MODEL_KEY_REASON_H

#include "base/invisible.h"

/* clang-format off */
/* What was sent instead of a public key. */
#define KEY_REASON_PRIVATE "holds a private key. Send only the public half of a new key pair, and treat this private key as compromised."
#define KEY_REASON_CERTIFICATE "holds a certificate. Send the public key that it certifies."
#define KEY_REASON_DSA "holds a DSA key, which is too weak. Use Ed25519, ECDSA or RSA."
#define KEY_REASON_SEVERAL "holds several keys. Create one credential for each."
#define KEY_REASON_FORM "is not a public key in an accepted form. Send the line '<type> <base64> [comment]', PEM 'PUBLIC KEY' or 'RSA PUBLIC KEY', or RFC 4716 'SSH2 PUBLIC KEY'."
#define KEY_REASON_TYPE "holds a key of a type that is not accepted. Use Ed25519, ECDSA on P-256, P-384 or P-521, RSA, or a security key made by OpenSSH."
/* The text around the key. */
#define KEY_REASON_LONG "is longer than 16384 bytes."
#define KEY_REASON_EMPTY "is empty. Give the public half of an SSH key pair."
#define KEY_REASON_NUL "holds a NUL byte."
#define KEY_REASON_OPTIONS "has options or other words in front of the key. Send the key alone, and use acl to limit what it may bind."
#define KEY_REASON_BEFORE "has other text in front of the key. Send the key alone."
#define KEY_REASON_AFTER "has other text after the END line. Send the key alone."
#define KEY_REASON_LINES "continues on another line, but this form is one line. Send the key without line breaks."
#define KEY_REASON_NO_DATA "has a key type but lacks the key's data. It may be truncated."
#define KEY_REASON_LABEL "is PEM but not a public key. The first line must be exactly '-----BEGIN PUBLIC KEY-----' or '-----BEGIN RSA PUBLIC KEY-----'."
#define KEY_REASON_BEGIN_SSH2 "is not a public key in RFC 4716 form. The first line must be exactly '---- BEGIN SSH2 PUBLIC KEY ----'."
#define KEY_REASON_BLANK_LINE "has a blank line between its BEGIN line and its END line. Remove the blank line."
#define KEY_REASON_INVISIBLE(what) "contains " INVISIBLE_WORDS(what) "."
#define KEY_REASON_NO_END "lacks the END line that matches its BEGIN line. It may be truncated."
#define KEY_REASON_PEM_HEADER "is PEM with header lines. Remove the header lines."
#define KEY_REASON_SSH2_HEADER "has a malformed header line. RFC 4716 requires '<tag>: <value>', with a backslash at the end of each line that continues."
#define KEY_REASON_BASE64 "holds data that is not base64: characters outside its alphabet, wrong padding, or a missing part."
/* The key's data. */
#define KEY_REASON_DER "holds data that is not a key in DER. It may be damaged or truncated."
#define KEY_REASON_CUT "holds data that ends too early. It may be damaged or truncated."
#define KEY_REASON_TRAILING "holds extra data after the end of the key."
#define KEY_REASON_TYPE_DIFFERS "names a type that differs from the one in its data."
#define KEY_REASON_CURVE_DIFFERS "names a curve in its data that differs from the curve of its type."
#define KEY_REASON_SECURITY_KEY "holds a security key in RFC 4716 form, which does not support security keys. Send it as the line '<type> <base64> [comment]'."
#define KEY_REASON_APPLICATION "holds a security key whose application string is malformed."
#define KEY_REASON_ED25519 "holds an Ed25519 key that is not 32 bytes long."
#define KEY_REASON_ED25519_SMALL "holds an Ed25519 key under which anyone can sign (a point of small order)."
#define KEY_REASON_NUMBER "holds a number that is zero, negative or not in its shortest form."
#define KEY_REASON_RSA_SHORT "holds an RSA key of less than 2048 bits, which is too weak. Use 2048 to 16384 bits."
#define KEY_REASON_RSA_LONG "holds an RSA key of more than 16384 bits. Use 2048 to 16384 bits."
#define KEY_REASON_RSA_MODULUS "holds an RSA key whose modulus is even, which is invalid."
#define KEY_REASON_RSA_EXPONENT "holds an RSA key whose exponent is not an odd number from 3 to 2^64 - 1."
#define KEY_REASON_CURVE "holds an elliptic curve key on a curve that is not accepted. Use P-256, P-384 or P-521."
#define KEY_REASON_CURVE_EXPLICIT "holds an elliptic curve key with explicit curve parameters. Write it with the curve's name."
#define KEY_REASON_POINT_COMPRESSED "holds a compressed elliptic curve point. Write it uncompressed."
#define KEY_REASON_POINT_INFINITY "holds the point at infinity, which is not a key."
#define KEY_REASON_POINT_SIZE "holds an elliptic curve point that is not in uncompressed form, or not of its curve's size."
#define KEY_REASON_POINT_OFF "holds an elliptic curve point that is not on its curve."
/* clang-format on */

#endif
