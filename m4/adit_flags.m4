# ADIT_PROBE_FLAG(VARIABLE, FLAG)
# Appends FLAG to VARIABLE if the compiler and the linker accept it without a warning.
AC_DEFUN([ADIT_PROBE_FLAG], [
    AS_VAR_PUSHDEF([cache], [adit_cv_flag_$2])
    AC_CACHE_CHECK([whether $CC takes $2], [cache], [
        adit_saved_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS -Werror $2"
        AC_LINK_IFELSE([AC_LANG_PROGRAM([[]], [[]])],
            [AS_VAR_SET([cache], [yes])], [AS_VAR_SET([cache], [no])])
        CFLAGS=$adit_saved_CFLAGS])
    AS_VAR_IF([cache], [yes], [$1="$$1 $2"])
    AS_VAR_POPDEF([cache])
])

# ADIT_WARNINGS: puts the warnings that the code must not cause into WARN_CFLAGS.
AC_DEFUN([ADIT_WARNINGS], [
    WARN_CFLAGS=
    m4_foreach_w([flag], [-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
        -Wformat=2 -Wvla -Wconversion -Wundef -Wpointer-arith -Wwrite-strings],
        [ADIT_PROBE_FLAG([WARN_CFLAGS], flag)])
    AC_ARG_ENABLE([werror],
        [AS_HELP_STRING([--enable-werror], [treat warnings as errors])])
    AS_VAR_IF([enable_werror], [yes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
    AC_SUBST([WARN_CFLAGS])
])

# ADIT_HARDENING: puts flags that make a bug harder to exploit into HARDEN_CFLAGS and
# HARDEN_LDFLAGS.
AC_DEFUN([ADIT_HARDENING], [
    AC_ARG_ENABLE([hardening],
        [AS_HELP_STRING([--disable-hardening], [build without the hardening flags])],
        [], [enable_hardening=yes])
    HARDEN_CFLAGS=
    HARDEN_LDFLAGS=
    AS_VAR_IF([enable_hardening], [yes], [
        m4_foreach_w([flag], [-fPIE -fstack-protector-strong -fstack-clash-protection
            -fcf-protection], [ADIT_PROBE_FLAG([HARDEN_CFLAGS], flag)])
        m4_foreach_w([flag], [-pie -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack],
            [ADIT_PROBE_FLAG([HARDEN_LDFLAGS], m4_defn([flag]))])
        AS_CASE([" $CFLAGS $CPPFLAGS "], [*_FORTIFY_SOURCE*], [],
            [*" -O0 "*], [],
            [HARDEN_CFLAGS="$HARDEN_CFLAGS -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"])
    ])
    AC_SUBST([HARDEN_CFLAGS])
    AC_SUBST([HARDEN_LDFLAGS])
])

# ADIT_ENABLE_MODES: puts the flags of test builds, all off by default, into MODE_CFLAGS.
# FUZZ_LDFLAGS links a fuzz target.  When a process ends, sanitizers write reports, trace it and
# read /proc, and coverage writes its counts.  A confined worker could not do that, so only these
# builds are unconfined (ADIT_UNCONFINED).
AC_DEFUN([ADIT_ENABLE_MODES], [
    AC_ARG_ENABLE([sanitizers],
        [AS_HELP_STRING([--enable-sanitizers], [build with AddressSanitizer and UBSan])])
    AC_ARG_ENABLE([coverage],
        [AS_HELP_STRING([--enable-coverage], [build so that gcov can count lines])])
    MODE_CFLAGS=
    AS_VAR_IF([enable_sanitizers], [yes], [
        MODE_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined dnl
-fno-omit-frame-pointer -DADIT_UNCONFINED"
        HARDEN_CFLAGS=
    ])
    AS_VAR_IF([enable_coverage], [yes], [
        MODE_CFLAGS="$MODE_CFLAGS --coverage -O0 -fprofile-update=atomic -DADIT_UNCONFINED"
        HARDEN_CFLAGS=
    ])
    AC_ARG_ENABLE([fuzz],
        [AS_HELP_STRING([--enable-fuzz], [build for libFuzzer, which needs CC=clang])])
    FUZZ_LDFLAGS=
    AS_VAR_IF([enable_fuzz], [yes], [
        MODE_CFLAGS="-fsanitize=fuzzer-no-link,address,undefined dnl
-fno-sanitize-recover=undefined -fno-omit-frame-pointer"
        FUZZ_LDFLAGS=-fsanitize=fuzzer
        HARDEN_CFLAGS=
        HARDEN_LDFLAGS=
        ADIT_NEED_LIBFUZZER
    ])
    AM_CONDITIONAL([ENABLE_FUZZ], [test "$enable_fuzz" = yes])
    AC_SUBST([MODE_CFLAGS])
    AC_SUBST([FUZZ_LDFLAGS])
])

# ADIT_NEED_LIBFUZZER: fails if the compiler has no libFuzzer.
AC_DEFUN([ADIT_NEED_LIBFUZZER], [
    AC_MSG_CHECKING([whether $CC has libFuzzer])
    adit_saved_CFLAGS=$CFLAGS
    CFLAGS="$CFLAGS $MODE_CFLAGS $FUZZ_LDFLAGS"
    AC_LINK_IFELSE([AC_LANG_SOURCE([[
        int LLVMFuzzerTestOneInput(const unsigned char *data, __SIZE_TYPE__ size);
        int LLVMFuzzerTestOneInput(const unsigned char *data, __SIZE_TYPE__ size)
        { return size > 8 && data[0]; }]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([--enable-fuzz needs clang and its libFuzzer: configure with CC=clang])])
    CFLAGS=$adit_saved_CFLAGS
])
