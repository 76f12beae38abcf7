# SPDX-License-Identifier: MIT
# Turns templates of configuration files into C strings (src/ctl/templates.h): nginx/adit.conf.in
# becomes template_nginx_adit.  Lines that begin with "#@" are left out.
function name_of(path) {
    sub(/\.conf\.in$/, "", path)
    gsub(/[^A-Za-z0-9]/, "_", path)
    return path
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
/^#@/ { next }
{
    line = $0
    gsub(/\\/, "&&", line)
    gsub(/"/, "\\\"", line)
    print "    \"" line "\\n\""
}
END { print "    \"\";" }
