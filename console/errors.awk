# SPDX-License-Identifier: MIT
# Prints the numbers of the service's errors, from src/base/error_table.h.
BEGIN {
    print "// Made by console/build from src/base/error_table.h."
}

/^ERROR\(/ {
    split($0, parts, /[(,]/)
    printf "export const %s = %d;\n", parts[2], parts[3]
    n++
}

END {
    exit (n == 0)
}
