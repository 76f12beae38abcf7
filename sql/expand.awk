# SPDX-License-Identifier: MIT
# Prints sql/grants.sql or sql/optional/distributed.sql from its template, in which {LIST TABLE} and
# {LIST TABLE ROW} stand for lists of the columns of a resource, or of AUDIT_EVENT.  src/model/members.awk
# goes before, with src/model/member_table.h; src/model/audit_event.h may follow.
#
#     params, types    parameters of a write, and their types alone
#     changes, change_types  those of PATCH
#     returned         what a function returns of a row
#     columns          the same of a row, in the types of "returned"
#     written          columns that a write fills, of a row or without one
#     values           what it fills them with
#     excluded         SET of ON CONFLICT
#     changed          SET of PATCH
#     changing         columns that bodies change, as JSON
#     settings         the same, and those that are in the path
#     texts            those of AUDIT_EVENT that are texts, as JSON
/^#define AUDIT_EVENT_TEXTS\(/ { table = "AUDIT_EVENT" }
table == "AUDIT_EVENT" && match($0, /^ +ROW\([a-z_]+\)/) {
    sub(/^ +ROW\(/, "")
    sub(/\).*/, "")
    column[table, ++n_of[table]] = $0
}
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
    if (list == "texts" || list ~ /^(changing|settings)$/ && use[table, i] == "CHANGE" || list == "settings" && use[table, i] == "PATH")
        return "\"" name "\""
    value = use[table, i] == "OWNER" ? name : "p_" name
    if (list == "params" && writes[table, i] || list == "changes" && use[table, i] == "CHANGE")
        return "p_" name " " type[table, i]
    if (list == "types" && writes[table, i] || list == "change_types" && use[table, i] == "CHANGE")
        return type[table, i]
    if (list == "returned" && reads[table, i])
        return "r_" name " " type[table, i]
    # RETURN QUERY takes no domain for its type.
    if (list == "columns" && reads[table, i])
        return of "." name "::" type[table, i]
    if (list == "written" && writes[table, i])
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
        print "expand.awk: {" directive "} is nothing" > "/dev/stderr"
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
# The lines between {modules} and {end}, for a module of resource_table.h.
function put_module(NAME, lines, n,    of, i, line, j) {
    of["NAME"] = NAME
    of["name"] = module_name[NAME]
    of["key"] = place[NAME] == "ROUTE" ? "edge_id, route_id" : "edge_id"
    of["key_params"] = place[NAME] == "ROUTE" ? "p_edge_id text, p_route_id text" : "p_edge_id text"
    of["key_types"] = place[NAME] == "ROUTE" ? "text, text" : "text"
    of["is_at"] = "m.edge_id = p_edge_id" (place[NAME] == "ROUTE" ? " AND m.route_id = p_route_id" : "")
    of["sealed_param"] = form[NAME] == "PROVIDER" ? "p_sealed_for text, " : ""
    of["sealed_type"] = form[NAME] == "PROVIDER" ? "text, " : ""
    of["right_returned"] = form[NAME] == "PROVIDER" ? ", r_right_account boolean" : ""
    of["right_column"] = form[NAME] == "PROVIDER" ? ", is_right" : ""
    of["is_right"] = form[NAME] == "PROVIDER" ? "coalesce(p_sealed_for = p_account, true)" : "true"
    for (i = 1; i <= n; i++) {
        line = lines[i]
        for (j in of)
            gsub("\\{" j "\\}", of[j], line)
        put_line(line)
    }
}
function put_line(line,    expanded) {
    expanded = line
    while (match(expanded, /\{[a-z_]+ [A-Z_]+( [a-z]+)?\}/))
        expanded = substr(expanded, 1, RSTART - 1) expand(substr(expanded, RSTART + 1, RLENGTH - 2)) \
            substr(expanded, RSTART + RLENGTH)
    if (expanded == line)
        print line
    else
        fold(expanded)
}
END {
    file = template
    sub(/.*\//, "", file)
    print "-- Made from " file " and src/model/: \"make regen\" makes it again."
    while ((getline line < template) > 0) {
        n_lines++
        if (line == "{modules}") {
            n_kept = 0
            while ((getline line < template) > 0 && line != "{end}")
                kept[++n_kept] = line
            for (m = 1; m <= n_modules; m++)
                put_module(modules[m], kept, n_kept)
        } else {
            put_line(line)
        }
    }
    exit n_lines == 0
}
