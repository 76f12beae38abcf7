/* SPDX-License-Identifier: MIT */
/* Characters that do not show, or look like a plain space: INVISIBLE(first, last, name).  Editors,
 * web pages and chat programs leave them in copied text.  Include this with INVISIBLE defined. */
/* clang-format off */
INVISIBLE(0xFEFF, 0xFEFF, "a byte order mark (U+FEFF)")
INVISIBLE(0x00A0, 0x00A0, "a no-break space (U+00A0)")
INVISIBLE(0x200B, 0x200B, "a zero-width space (U+200B)")
INVISIBLE(0x200C, 0x200C, "a zero-width non-joiner (U+200C)")
INVISIBLE(0x200D, 0x200D, "a zero-width joiner (U+200D)")
INVISIBLE(0x2060, 0x2064, "a word joiner or an invisible operator (U+2060 to U+2064)")
INVISIBLE(0x00AD, 0x00AD, "a soft hyphen (U+00AD)")
INVISIBLE(0x034F, 0x034F, "a grapheme joiner (U+034F)")
INVISIBLE(0x180E, 0x180E, "a vowel separator (U+180E)")
INVISIBLE(0x1680, 0x1680, "an ogham space (U+1680)")
INVISIBLE(0x2000, 0x200A, "a typographic space (U+2000 to U+200A)")
INVISIBLE(0x202F, 0x202F, "a narrow no-break space (U+202F)")
INVISIBLE(0x205F, 0x205F, "a mathematical space (U+205F)")
INVISIBLE(0x3000, 0x3000, "an ideographic space (U+3000)")
INVISIBLE(0x2028, 0x2029, "a line or paragraph separator (U+2028, U+2029)")
INVISIBLE(0x061C, 0x061C, "a mark of text direction (U+061C)")
INVISIBLE(0x200E, 0x200F, "a mark of text direction (U+200E, U+200F)")
INVISIBLE(0x202A, 0x202E, "a mark of text direction (U+202A to U+202E)")
INVISIBLE(0x2066, 0x2069, "a mark of text direction (U+2066 to U+2069)")
INVISIBLE(0x0080, 0x009F, "a control character (U+0080 to U+009F)")
/* clang-format on */
#undef INVISIBLE
