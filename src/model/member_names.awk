# SPDX-License-Identifier: MIT
# Prints lists of names of columns (model/member_names.h).  model/members.awk goes before.
function add(list, name) { return (list " ") ~ (" " name " ") ? list : list " " name }
function put_list(name, list) {
    sub(/^ /, "", list)
    gsub(/ /, ",", list)
    print "#define MEMBER_" name " \"" list "\""
}
END {
    for (t = 1; t <= n_tables; t++) {
        for (i = 1; i <= n_of[tables[t]]; i++) {
            name = column[tables[t], i]
            of = use[tables[t], i]
            if (of == "KEY" || of == "PATH" || unshown[tables[t], i])
                unchosen = add(unchosen, name)
            if (unshown[tables[t], i] && of != "KEY" && of != "PATH" && of != "MADE")
                unseen = add(unseen, name)
            if (unshown[tables[t], i] && of != "KEY" && of != "PATH" && of != "SERVER")
                left_out = add(left_out, name)
        }
    }
    print "/* SPDX-License-Identifier: MIT */"
    print "/* Made from model/member_table.h by model/member_names.awk: \"make regen\" makes it again."
    print " *"
    print " *     RENAMED    a ROW for each member that answers call otherwise: its name, and that one"
    print " *     LEFT_OUT   a ROW for each column of which the record of changes says nothing"
    print " *     UNCHOSEN   the columns that nobody chose: keys, and what is made"
    print " *     UNSEEN     those that may differ in rows that are the same to a caller */"
    print "#ifndef ADIT_MODEL_MEMBER_NAMES_H"
    print "#define ADIT_MODEL_MEMBER_NAMES_H"
    print ""
    print "/* clang-format off */"
    printf "#define MEMBER_RENAMED(ROW)"
    for (n = 1; n <= n_renamed; n++)
        printf " \\\n    ROW(\"%s\", \"%s\")", renamed[n], renamed_to[n]
    printf "\n#define MEMBER_LEFT_OUT(ROW)"
    for (n = split(left_out, names, " "); n > 0; n--)
        printf " \\\n    ROW(\"%s\")", names[n]
    print ""
    put_list("UNCHOSEN", unchosen)
    put_list("UNSEEN", unseen)
    print "/* clang-format on */"
    print ""
    print "#endif"
}
