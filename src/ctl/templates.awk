# SPDX-License-Identifier: MIT
# Turns templates of configuration files into C strings (src/ctl/templates.h): nginx/adit.conf.in
# becomes template_nginx_adit.  Lines that begin with "#@" are left out.  A line "#@include PATH" stands
# for the lines of that file, with as many blanks before each.
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
function put_file(path, blanks,    line, read) {
    while ((read = (getline line < path)) > 0) {
        if (line !~ /^#@/)
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
    print "/* Made from nginx/, apache/ and gateway/ by src/ctl/templates.awk. */"
    print "#include \"ctl/templates.h\""
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
/^#@/ { next }
{ put($0) }
END {
    if (!failed)
        print "    \"\";"
}
