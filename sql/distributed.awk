# SPDX-License-Identifier: MIT
# Prints sql/optional/distributed.sql from its template, in which {LIST TABLE} and {LIST TABLE ROW} stand for
# lists of the columns of a resource.  src/model/members.awk goes before, with src/model/member_table.h.
#
#     params, types    parameters of a write, and their types alone
#     changes, change_types  those of PATCH
#     returned         what a function returns of a row
#     columns          the same of a row
#     written          columns that a write fills, of a row or without one
#     values           what it fills them with
#     excluded         SET of ON CONFLICT
#     changed          SET of PATCH
function entry(list, i, of,    name, value) {
    name = column[table, i]
    if (kind[table, i] == "TIME_OR_NULL" && use[table, i] == "CHANGE") {
        if (list == "changes")
            return "p_" name "_given boolean, p_" name " timestamptz"
        if (list == "change_types")
            return "boolean, timestamptz"
        if (list == "changed")
            return name " = CASE WHEN p_" name "_given THEN p_" name " ELSE " of "." name " END"
    }
    value = use[table, i] == "OWNER" ? name : "p_" name
    if (list == "params" && writes[table, i] || list == "changes" && use[table, i] == "CHANGE")
        return "p_" name " " type[table, i]
    if (list == "types" && writes[table, i] || list == "change_types" && use[table, i] == "CHANGE")
        return type[table, i]
    if (list == "returned" && reads[table, i])
        return "r_" name " " type[table, i]
    if (list == "columns" && reads[table, i] || list == "written" && writes[table, i])
        return (of == "" ? "" : of ".") name
    if (list == "values" && writes[table, i])
        return empty[table, i] == "" ? value : "coalesce(" value ", " empty[table, i] ")"
    if (list == "excluded" && writes[table, i] && use[table, i] != "KEY" && use[table, i] != "PATH")
        return name " = excluded." name
    if (list == "changed" && use[table, i] == "CHANGE")
        return name " = coalesce(p_" name ", " of "." name ")"
    return ""
}
function expand(directive,    words, i, one, all) {
    split(directive, words, " ")
    table = words[2]
    for (i = 1; i <= n_of[table]; i++) {
        one = entry(words[1], i, words[3])
        if (one != "")
            all = all (all == "" ? "" : ", ") one
    }
    if (all == "") {
        print "distributed.awk: {" directive "} is nothing" > "/dev/stderr"
        exit 1
    }
    return all
}
# Breaks a line behind commas.
function fold(line,    indent, at) {
    match(line, /^ */)
    indent = substr(line, 1, RLENGTH) "    "
    while (length(line) > 110) {
        for (at = 110; at > length(indent) && substr(line, at, 2) != ", "; at--)
            ;
        if (at <= length(indent))
            break
        print substr(line, 1, at)
        line = indent substr(line, at + 2)
    }
    print line
}
END {
    print "-- Made from distributed.sql.in and src/model/member_table.h: \"make regen\" makes it again."
    while ((getline line < template) > 0) {
        expanded = line
        while (match(expanded, /\{[a-z_]+ [A-Z_]+( [a-z]+)?\}/))
            expanded = substr(expanded, 1, RSTART - 1) expand(substr(expanded, RSTART + 1, RLENGTH - 2)) \
                substr(expanded, RSTART + RLENGTH)
        if (expanded == line)
            print line
        else
            fold(expanded)
        n_lines++
    }
    exit n_lines == 0
}
