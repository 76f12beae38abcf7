# SPDX-License-Identifier: MIT
# Reads member_table.h, and resource_table.h if it is there, for the generators that follow it on awk's
# command line: the columns of each resource, of which a secret has two.
#
#     n_tables, tables[t]       their names, such as OAUTH_MODULE, in order
#     n_of[t]                   columns; i counts them from 1
#     column[t, i]              its name
#     type[t, i], pg[t, i]      its type in SQL, and in struct pg_statement
#     kind[t, i], use[t, i]     as in member_table.h; the second of a secret is SEALED
#     reads[t, i]               whether statements return it
#     writes[t, i]              whether statements write it
#     empty[t, i]               what it has if it is not given, as SQL; "" if that is NULL
#     n_modules, modules[m]     the rows of resource_table.h: NAME; module_name, place and form of it
#     n_renamed, renamed[n], renamed_to[n]  the members that answers call otherwise
#     unshown[t, i]             whether no answer has the column; of a secret, the key's
function refuse(why) {
    print "members.awk: " why > "/dev/stderr"
    failed = 1
    exit 1
}
function add_column(name, kind_, use_, shown, absent, is_key,    i) {
    if (!(kind_ in sql_types))
        refuse("the kind " kind_ " is unknown")
    if (use_ ~ /^(CHANGE|CREATE|OWNER)$/ && shown != "SHOWN")
        refuse(name " is in bodies, and not in answers")
    if (use_ != "SERVER" && (kind_ == "TIME" || kind_ == "NUMBER"))
        refuse(name ": no body has a " kind_)
    if (absent !~ (kind_ ~ /^TEXTS?$|^SEALED$/ ? "^(ASIS|EMPTY|FILLED)$" : kind_ == "BOOL" ? "^(ASIS|YES)$" : "^ASIS$"))
        refuse(name ": " absent " is nothing for a " kind_)
    i = ++n_of[table]
    column[table, i] = name
    kind[table, i] = kind_
    use[table, i] = use_
    type[table, i] = sql_types[kind_]
    pg[table, i] = pg_types[kind_]
    reads[table, i] = shown != "HIDDEN"
    unshown[table, i] = shown != "SHOWN" || is_key
    writes[table, i] = use_ != "SERVER"
    empty[table, i] = absent != "EMPTY" ? "" : kind_ == "TEXTS" ? "'{}'" : "''"
}
BEGIN {
    sql_types["TEXT"] = "text";           pg_types["TEXT"] = "PG_TEXT"
    sql_types["TEXTS"] = "text[]";        pg_types["TEXTS"] = "PG_TEXTS"
    sql_types["BOOL"] = "boolean";        pg_types["BOOL"] = "PG_BOOL"
    sql_types["UINT32"] = "bigint";       pg_types["UINT32"] = "PG_BIGINT"
    sql_types["NUMBER"] = "bigint";       pg_types["NUMBER"] = "PG_BIGINT"
    sql_types["TIME"] = "timestamptz";    pg_types["TIME"] = "PG_TIME"
    sql_types["TIME_OR_NULL"] = "timestamptz"; pg_types["TIME_OR_NULL"] = "PG_TIME"
    sql_types["PROVIDER"] = "smallint";   pg_types["PROVIDER"] = "PG_SMALLINT"
    sql_types["SEALED"] = "bytea";        pg_types["SEALED"] = "PG_BYTEA"
}
/^#define [A-Z_]+_MEMBERS\(/ {
    table = substr($2, 1, index($2, "_MEMBERS(") - 1)
    tables[++n_tables] = table
    n_of[table] = 0
    next
}
/^ +MODULE\(with,/ {
    sub(/^ +MODULE\(with, */, "")
    split($0, cells, / *, */)
    modules[++n_modules] = cells[1]
    module_name[cells[1]] = cells[2]
    place[cells[1]] = cells[3]
    form[cells[1]] = cells[4]
    next
}
/^ +(PROVIDER_)?MEMBER\(with,/ {
    row = $0
    sub(/^[^(]*\(with, */, "", row)
    sub(/ *\\$/, "", row)
    sub(/\)$/, "", row)
    split(row, cells, / *, */)
    # FILTER_OF_... of store/filter.h, which compare no NULL.
    if (cells[6] == "FILTERED" && cells[2] !~ /^(TEXTS?|BOOL|TIME)$/)
        refuse(cells[1] ": no filter compares a " cells[2])
    if (cells[2] == "PROVIDER")
        renamed_in[cells[1]] = table
    if ($0 ~ /^ +PROVIDER_MEMBER/) {
        renamed[++n_renamed] = cells[1]
        renamed_to[n_renamed] = "provider." cells[1]
        renamed_in[cells[1]] = table
    }
    if (cells[2] == "SECRET") {
        add_column(cells[1] "_key_id", "TEXT", cells[3], cells[5], cells[7], 1)
        add_column(cells[1] "_sealed", "SEALED", cells[3], cells[5], cells[7])
    } else {
        add_column(cells[1], cells[2], cells[3], cells[5], cells[7])
    }
}
/\.answered = "/ {
    match($0, /\.answered = "[a-z_]+"/)
    renamed[++n_renamed] = column[table, n_of[table]]
    renamed_to[n_renamed] = substr($0, RSTART + 13, RLENGTH - 14)
    renamed_in[renamed[n_renamed]] = table
}
END {
    if (failed)
        exit 1
    if (n_tables == 0)
        refuse("there is no table")
    # The record of changes goes by the names of columns.
    for (t = 1; t <= n_tables; t++) {
        for (i = 1; i <= n_of[tables[t]]; i++) {
            if (column[tables[t], i] in renamed_in && renamed_in[column[tables[t], i]] != tables[t] || \
                column[tables[t], i] ~ /^(name|digest|disabled_digest)$/)
                refuse(column[tables[t], i] ": the record of changes takes it for another table's")
        }
    }
}
