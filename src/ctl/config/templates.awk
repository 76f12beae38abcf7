# SPDX-License-Identifier: MIT
# Turns templates of configuration files into C strings (src/ctl/config/templates.h):
# nginx/adit.conf.in becomes template_nginx_adit.  Lines that begin with "#@" are left out.  A line "#@include PATH" stands
# for the lines of that file, with as many blanks before each.  A line "#@unset X-A-B CHARACTERS" stands
# for lines that have Apache drop headers whose names have two of the characters in place of the "-".
function name_of(path) {
    sub(/\.conf\.in$/, "", path)
    gsub(/[^A-Za-z0-9]/, "_", path)
    return path
}
function put(line) {
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\"", line)
    print "    \"" line "\\n\""
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
function put_directive(line, blanks,    words) {
    split(line, words, " ")
    if (words[1] == "#@unset")
        put_unset(words[2], words[3], blanks)
}
function put_file(path, blanks,    line, read) {
    while ((read = (getline line < path)) > 0) {
        if (line ~ /^#@/)
            put_directive(line, blanks)
        else
            put((line == "" ? "" : blanks) line)
    }
    if (read < 0) {
        print FILENAME ": cannot read " path > "/dev/stderr"
        failed = 1
        exit 1
    }
    close(path)
}
BEGIN {
    print "/* Made from nginx/, apache/ and gateway/ by src/ctl/config/templates.awk. */"
    print "#include \"ctl/config/templates.h\""
}
FNR == 1 {
    if (NR > 1)
        print "    \"\";"
    print "\nconst char template_" name_of(FILENAME) "[] ="
}
/^ *#@include / {
    put_file($2, substr($0, 1, index($0, "#") - 1))
    next
}
/^ *#@/ {
    put_directive($0, substr($0, 1, index($0, "#") - 1))
    next
}
{ put($0) }
END {
    if (!failed)
        print "    \"\";"
}
