# SPDX-License-Identifier: MIT
# Makes doc/errors.md, the reference of errors, out of src/base/error_table.h: a table for each
# comment line between the rows.

# What Markdown would take for its own.
function plain(text) {
    gsub(/\\"/, "\"", text)
    gsub(/[\\`*<>|]/, "\\\\&", text)
    return text
}

function fail(why) {
    print FILENAME ":" FNR ": " why >"/dev/stderr"
    failed = 1
    exit 1
}

BEGIN {
    print "# Errors"
    print ""
    print "An error has one shape, whichever program or server answers it:"
    print ""
    print "```"
    print "{\"error_code\": \"ERR_SERVICE_600\", \"status_code\": 400, \"msg\": \"...\","
    print " \"details\": {\"operation_id\": \"op_...\", \"field\": \"acl[1]\"}}"
    print "```"
    print ""
    print "`error_code` ends in the number of the condition, and a number never comes to mean another"
    print "one; SERVICE is the service's name in capitals. `status_code` is the HTTP status. `msg` is"
    print "written for people: it is the text below, or says more exactly what was wrong. The values"
    print "of `details` are strings: `operation_id`, under which the operator finds the request in the"
    print "log (faults of the service, 401 and 403 by default, others at the level debug), `field`, the path"
    print "of the member at fault, and `offset`, the byte of the body at which its JSON stops being"
    print "acceptable. Errors of the web server have empty `details`."
    print ""
    print "This page is made from `src/base/error_table.h` by `tests/doc-guard --write`."
}

/^\/\* [A-Z].*\*\/$/ && !/SPDX/ && !/clang-format/ {
    heading = substr($0, 4, length($0) - 6)
    sub(/ +$/, "", heading)
}

/^(SERVER_)?ERROR\(/ {
    if (!match($0, /[0-9]+, *[0-9]+, *".*"\)$/))
        fail("a row that is none")
    row = substr($0, RSTART, RLENGTH - 2)
    number = status = text = row
    sub(/,.*/, "", number)
    sub(/^[0-9]+, */, "", status)
    sub(/,.*/, "", status)
    sub(/^[^"]*"/, "", text)
    if (heading != "") {
        print "\n## " heading "\n\n| Number | Status | Meaning |\n|---|---|---|"
        heading = ""
    }
    print "| " number " | " status " | " plain(text) " |"
    n_rows++
}

END {
    if (!failed && n_rows == 0)
        fail("there are no rows")
}
