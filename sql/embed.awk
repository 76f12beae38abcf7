# Turns SQL files into the C table of migrations (src/store/migrations.h).  schema.sql is version 1; files
# named NNN_*.sql are later ones, in the order of the command line.  The other files become variables of
# their own, as does the table of rights in grants.sql.  Of a script for psql, its transaction is taken, without BEGIN and
# COMMIT; "\ir FILE" becomes the file.
function name_of(path) { sub(/.*\//, "", path); return path }
# The replacement of gsub() has backslashes of its own, which awks read differently.
function double_backslashes(line,    parts, n, i, doubled) {
    n = split(line, parts, /\\/)
    doubled = parts[1]
    for (i = 2; i <= n; i++)
        doubled = doubled "\\\\" parts[i]
    return doubled
}
function put(line) {
    line = double_backslashes(line)
    gsub(/"/, "\\\"", line)
    print "        \"" line "\\n\""
}
function put_file(path,    line, n) {
    while ((getline line < path) > 0) {
        put(line)
        n++
    }
    close(path)
    if (n == 0) {
        print "embed.awk: cannot read " path > "/dev/stderr"
        exit 1
    }
}
function finish() { if (open) print "        \"\""; open = 0 }
BEGIN {
    print "/* Made from sql/ by sql/embed.awk. */"
    print "#include \"store/migrations.h\"\n"
    n = 0
}
FNR == 1 {
    finish()
    file = name_of(FILENAME)
    variable = file
    sub(/\.sql$/, "", variable)
    if (file ~ /^[0-9]/ || file == "schema.sql") {
        n++
        versions[n] = file == "schema.sql" ? 1 : file + 0
        names[n] = file
        variable = "migration_" versions[n]
        printf "%s", (n > 1 || started) ? ";\n" : ""
        print "static const char " variable "[] ="
    } else {
        printf "%s", started ? ";\n" : ""
        print "const char migrations_" (file == "citus.sql" ? "optional" : variable) "_sql[] ="
    }
    started = 1
    open = 1
    is_script = file == "citus.sql"
    in_transaction = 0
}
is_script && $0 == "BEGIN;" { in_transaction = 1; next }
is_script && $0 == "COMMIT;" { in_transaction = 0 }
is_script && !in_transaction { next }
is_script && $1 == "\\ir" {
    included = FILENAME
    sub(/[^\/]*$/, "", included)
    put_file(included $2)
    next
}
{
    line = $0
    sub(/^ +/, "", line)
    if (in_rights)
        rights = rights (line ~ /^}/ ? "}" : line)
    if (in_rights && line ~ /^}/)
        in_rights = 0
    if (line == "rights CONSTANT jsonb := '{") {
        in_rights = 1
        rights = "{"
    }
}
{ put($0) }
END {
    if (rights !~ /^{.*}$/) {
        print "embed.awk: grants.sql has no table of rights" > "/dev/stderr"
        exit 1
    }
    finish()
    print ";\n"
    print "const struct migration migrations[] = {"
    for (i = 1; i <= n; i++)
        printf "    {%d, \"%s\", migration_%d},\n", versions[i], names[i], versions[i]
    print "};"
    print "const int migrations_n = " n ";"
    print "const int migrations_latest = " versions[n] ";"
    gsub(/"/, "\\\"", rights)
    print "const char migrations_rights[] = \"" rights "\";"
}
