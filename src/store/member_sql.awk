# SPDX-License-Identifier: MIT
# Prints what statements are put together from (store/member_sql.h).  model/members.awk goes before.
function put(name, text) {
    print "#define " table "_" name (text ~ /\n/ ? " \\\n    " : " ") text
}
function quoted(text) { return "\"" text "\"" }
# Items of a list are expressions of C, one a line.
function item(list, text) { return list (list == "" ? "" : " \", \" \\\n    ") text }
function put_read(    i, n, sealed, columns, types, nothing, provider) {
    for (i = 1; i <= n_of[table]; i++) {
        if (!reads[table, i])
            continue
        if (kind[table, i] == "PROVIDER")
            provider = n + 0
        n++
        if (kind[table, i] == "SEALED")
            sealed = ", sealed"
        columns = item(columns, kind[table, i] == "SEALED" ? "sealed" : "row " quoted(column[table, i]))
        types = types (types == "" ? "" : " \\\n    ") pg[table, i]
        nothing = item(nothing, quoted("NULL::" type[table, i] \
            (use[table, i] == "KEY" || use[table, i] == "OWNER" ? \
                " COLLATE \\\"C\\\" AS listed_" column[table, i] : "")))
    }
    put("N_COLUMNS", n)
    put("COLUMNS(row" sealed ")", columns)
    put("TYPES", types)
    put("NO_COLUMNS", nothing)
    if (provider != "")
        put("PROVIDER", provider)
}
# Returns whether the resource has an owner; $4 is the first parameter.
function put_written(    i, n, param, value, owner, written, values, wanted, params, excluded) {
    n = 3
    for (i = 1; i <= n_of[table]; i++) {
        if (!writes[table, i])
            continue
        param = "$" ++n "::" type[table, i]
        value = quoted(empty[table, i] == "" ? param : "coalesce(" param ", " empty[table, i] ")")
        if (use[table, i] == "OWNER") {
            owner = n
            value = "owner"
        }
        written = item(written, "row " quoted(column[table, i]))
        values = item(values, value)
        wanted = item(wanted, value " " quoted(" AS " column[table, i]))
        params = item(params, quoted(param))
        if (use[table, i] != "KEY" && use[table, i] != "PATH")
            excluded = item(excluded, quoted(column[table, i] " = excluded." column[table, i]))
    }
    put("WRITTEN(row)", written)
    put("VALUES" (owner ? "(owner)" : ""), values)
    put("PARAMS", params)
    for (i = 1; i <= 4; i++)
        put("PARAM_" i, quoted("$" n + i))
    if (owner) {
        put("OWNER", quoted("$" owner))
        put("WANTED(owner)", wanted)
    } else {
        put("EXCLUDED", excluded)
    }
    return owner
}
function put_changed(    i, n, set, params) {
    n = 4
    for (i = 1; i <= n_of[table]; i++) {
        if (use[table, i] != "CHANGE")
            continue
        if (kind[table, i] ~ /^(PROVIDER|SEALED)$/)
            refuse(column[table, i] ": no PATCH has a " kind[table, i])
        n++
        if (kind[table, i] == "TIME_OR_NULL") {
            set = item(set, quoted(column[table, i] " = CASE WHEN $" n "::boolean THEN $" n + 1 "::timestamptz" \
                " ELSE ") " row " quoted(column[table, i] " END"))
            params = item(params, quoted("$" n++ "::boolean"))
            params = item(params, quoted("$" n "::timestamptz"))
            continue
        }
        set = item(set, quoted(column[table, i] " = coalesce($" n "::" type[table, i] ", ") \
            " row " quoted(column[table, i] ")"))
        params = item(params, quoted("$" n "::" type[table, i]))
    }
    put("CHANGED(row)", set)
    put("CHANGE_PARAMS", params)
    for (i = 1; i <= 2; i++)
        put("CHANGE_PARAM_" i, quoted("$" n + i))
}
END {
    print "/* SPDX-License-Identifier: MIT */"
    print "/* Made from model/member_table.h by store/member_sql.awk: \"make regen\" makes it again."
    print " *"
    print " *     N_COLUMNS, COLUMNS, TYPES   that a statement returns; row is a name and a dot"
    print " *     NO_COLUMNS                  in their place where there is no row"
    print " *     PROVIDER                    which of them is the position of the provider, from 0"
    print " *     WRITTEN, VALUES             columns and values of an INSERT; owner is SQL"
    print " *     WANTED                      the values with their names"
    print " *     EXCLUDED                    SET of ON CONFLICT"
    print " *     CHANGED                     SET of an UPDATE: what is not given stays"
    print " *     PARAMS, CHANGE_PARAMS       the parameters of a row, for a call of a function"
    print " *     PARAM_n, CHANGE_PARAM_n     the n-th parameter after them"
    print " *"
    print " * The first parameters are the caller's (store/executor.h); those of the row follow.  What"
    print " * an UPDATE changes follows $4, the id. */"
    print "#ifndef ADIT_STORE_MEMBER_SQL_H"
    print "#define ADIT_STORE_MEMBER_SQL_H"
    print ""
    print "/* clang-format off */"
    for (t = 1; t <= n_tables; t++) {
        table = tables[t]
        print ""
        put_read()
        if (put_written())
            put_changed()
    }
    print ""
    print "/* clang-format on */"
    print ""
    print "#endif"
}
