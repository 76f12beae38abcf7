# SPDX-License-Identifier: MIT
# Makes doc/errors.md, the reference of errors, from src/base/error_table.h.  Each comment line
# between the rows starts a new table.

# Escapes the characters that Markdown would interpret.
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
    print "All errors have the same shape, whichever program or server answers:"
    print ""
    print "```"
    print "{\"error_code\": \"ERR_SERVICE_600\", \"status_code\": 400, \"msg\": \"...\","
    print " \"details\": {\"operation_id\": \"op_...\", \"field\": \"acl[1]\"}}"
    print "```"
    print ""
    print "- `error_code` ends in the number of the condition. A number is never reused for another"
    print "  condition. SERVICE is the service's name in capitals."
    print "- `status_code` is the HTTP status."
    print "- `msg` is for people. It is the text below or a more exact one."
    print "- `details` holds strings. Errors of the web server have empty `details`."
    print "  - `operation_id` identifies the request in the log. By default the log has faults of the"
    print "    service, 401 and 403; at the level debug it has every request."
    print "  - `field` is the path of the member at fault."
    print "  - `offset` is the byte of the body at which its JSON stops being acceptable."
    print ""
    print "`make regen` makes this page from `src/base/error_table.h`."
}

/^\/\* [A-Z].*\*\/$/ && !/SPDX/ && !/clang-format/ {
    heading = substr($0, 4, length($0) - 6)
    sub(/ +$/, "", heading)
}

/^(SERVER_)?ERROR\(/ {
    if (!match($0, /[0-9]+, *[0-9]+, *".*"\)$/))
        fail("malformed row")
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
        fail("no rows found")
}
