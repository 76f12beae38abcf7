# SPDX-License-Identifier: MIT
# Prints what the console knows of the identity providers, from src/model/provider_table.h.
BEGIN {
    print "// Made by console/build from src/model/provider_table.h."
    print "// In the order of the deployment's names."
    print "export const PROVIDERS = ["
}

/^IDENTITY_PROVIDER\(/ {
    split($0, parts, "\"")
    name = parts[2]
}

name != "" && /HAS_(NO_)?TEAMS/ {
    printf "    { standard: \"%s\", hasTeams: %s },\n", name, /HAS_TEAMS/ ? "true" : "false"
    name = ""
    n++
}

END {
    print "];"
    exit (n == 0)
}
