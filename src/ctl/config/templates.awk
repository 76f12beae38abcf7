# SPDX-License-Identifier: MIT
# Turns templates of configuration files into C strings (src/ctl/config/templates.h):
# nginx/adit.conf.in becomes template_nginx_adit.  With -v plain=1, prints them as aditctl has them.
#
# Lines that begin with "#@" are left out, except, also behind blanks:
#   #@include PATH NAME=WORD...  the lines of that file, with as many blanks before each, and the word
#                                in place of "@NAME@"
#   #@each TABLE PATH            the file once for each row of the table, whose first row has the names
#   #@unset X-A-B CHARACTERS     has Apache drop headers whose names have two of the characters in place
#                                of the "-"
# "@ERROR_9050@" is the answer with that number of src/base/error_table.h.
function die(what) {
    print "templates.awk: " what > "/dev/stderr"
    failed = 1
    exit 1
}
function name_of(path) {
    sub(/\.conf\.in$/, "", path)
    gsub(/[^A-Za-z0-9]/, "_", path)
    return path
}
# ERROR(SYMBOL, 9000, 404, "TEXT") or SERVER_ERROR(9050, 400, "TEXT").
function read_errors(path,    line, parts, text) {
    while ((getline line < path) > 0) {
        if (line !~ /^(SERVER_)?ERROR\(/)
            continue
        text = line
        sub(/^[^"]*"/, "", text)
        sub(/"\)$/, "", text)
        sub(/^[^(]*\(([A-Z][A-Z0-9_]*, *)?/, "", line)
        split(line, parts, /, */)
        errors[parts[1]] = "{\"error_code\":\"ERR_@NAME@_" parts[1] "\",\"status_code\":" parts[2] \
            ",\"msg\":\"" text "\",\"details\":{}}"
    }
    close(path)
}
# The line with the answers.  Both servers have them between single quotes, and read "$" and "%" there.
function with_errors(line,    number) {
    while (match(line, /@ERROR_[0-9]+@/)) {
        number = substr(line, RSTART + 7, RLENGTH - 8)
        if (!(number in errors) || errors[number] ~ /['\\$%]/)
            die("no answer of a web server: " number)
        line = substr(line, 1, RSTART - 1) errors[number] substr(line, RSTART + RLENGTH)
    }
    return line
}
# The line with the words.  values: "NAME=WORD", a tab between two.
function with_values(line, values,    parts, n, i, name, at) {
    n = split(values, parts, "\t")
    for (i = 1; i <= n; i++) {
        name = "@" substr(parts[i], 1, index(parts[i], "=") - 1) "@"
        while ((at = index(line, name)) > 0)
            line = substr(line, 1, at - 1) substr(parts[i], length(name)) substr(line, at + length(name))
    }
    return line
}
function put(line) {
    line = with_errors(line)
    if (!plain) {
        gsub(/\\/, "&&", line)
        gsub(/"/, "\\\"", line)
        line = "    \"" line "\\n\""
    }
    print line
}
# Not for the name itself.
function put_unset(name, characters, blanks,    parts, one, other, spelling) {
    split(name, parts, "-")
    for (one = 1; one <= length(characters); one++) {
        for (other = 1; other <= length(characters); other++) {
            spelling = parts[1] substr(characters, one, 1) parts[2] substr(characters, other, 1) parts[3]
            if (spelling != name)
                put(blanks "RequestHeader unset \"" spelling "\"")
        }
    }
}
function put_each(table, path, blanks,    line, names, n, parts, values, i) {
    while ((getline line < table) > 0) {
        if (line ~ /^#/)
            continue
        if (!n) {
            n = split(line, names, "\t")
            continue
        }
        split(line, parts, "\t")
        values = ""
        for (i = 1; i <= n; i++)
            values = values (i > 1 ? "\t" : "") names[i] "=" parts[i]
        put_file(path, blanks, values)
    }
    close(table)
    if (!n)
        die("cannot read " table)
}
function put_directive(line, blanks,    words, n, values, i) {
    n = split(line, words, " ")
    if (words[1] == "#@include") {
        for (i = 3; i <= n; i++)
            values = values (i > 3 ? "\t" : "") words[i]
        put_file(words[2], blanks, values)
    } else if (words[1] == "#@each")
        put_each(words[2], words[3], blanks)
    else if (words[1] == "#@unset")
        put_unset(words[2], words[3], blanks)
}
function put_file(path, blanks, values,    line, read) {
    while ((read = (getline line < path)) > 0) {
        line = with_values(line, values)
        if (line ~ /^ *#@/)
            put_directive(line, blanks substr(line, 1, index(line, "#") - 1))
        else
            put(line == "" ? "" : blanks line)
    }
    if (read < 0)
        die("cannot read " path)
    close(path)
}
BEGIN {
    read_errors("src/base/error_table.h")
    if (!plain) {
        print "/* Made from nginx/, apache/ and gateway/ by src/ctl/config/templates.awk. */"
        print "#include \"ctl/config/templates.h\""
    }
    for (i = 1; i < ARGC && !failed; i++) {
        if (!plain)
            print "\nconst char template_" name_of(ARGV[i]) "[] ="
        put_file(ARGV[i], "", "")
        if (!plain)
            print "    \"\";"
    }
    exit failed
}
