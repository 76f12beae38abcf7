/* SPDX-License-Identifier: MIT */
/* Prints the tables that man/adit-api.7 describes, a row a line, for tests/man-guard. */
#include <stdio.h>

#include "api/call.h"
#include "base/ident.h"
#include "base/json_check.h"
#include "model/acl.h"
#include "model/mutual_tls_module.h"
#include "model/oauth_module.h"
#include "model/ssh_credential.h"

static void print_routes(void)
{
    for (const struct route *route = api_routes; route->method; route++) {
        printf("route\t%s %s\t%s\t%s\n", route->method, route->path,
               route->is_public ? "public" : "key", route->reads_only ? "reads" : "writes");
        for (const struct query_param *param = route->query; param && param->name; param++)
            printf("query\t%s\t%s\n", param->name, param->alias ? param->alias : "");
    }
}

/* Rows that a body may not hold are no members of it. */
static void print_fields(const char *table, const struct field *fields, size_t n)
{
    static const char *const kinds[] = {
        [FIELD_TEXT] = "string",   [FIELD_TEXTS] = "list",    [FIELD_BOOL] = "boolean",
        [FIELD_UINT32] = "uint32", [FIELD_OBJECT] = "object",
    };

    for (size_t i = 0; i < n; i++) {
        if (fields[i].kind != FIELD_REFUSED)
            printf("field\t%s\t%s\t%s\t%zu\n", table, fields[i].name, kinds[fields[i].kind],
                   fields[i].max);
    }
}

static void print_limit(const char *name, size_t value)
{
    printf("limit\t%s\t%zu\n", name, value);
}

int main(void)
{
    print_routes();
    print_fields("create", ssh_credential_create_fields, ssh_credential_n_create_fields);
    print_fields("update", ssh_credential_update_fields, ssh_credential_n_update_fields);
    print_fields("oauth", oauth_module_fields, oauth_module_n_fields);
    print_fields("provider", oauth_provider_fields, oauth_provider_n_fields);
    print_fields("mutual_tls", mutual_tls_module_fields, mutual_tls_module_n_fields);
    print_limit("body bytes", REQUEST_BODY_MAX);
    print_limit("nesting", JSON_MAX_DEPTH);
    print_limit("values", JSON_MAX_VALUES);
    print_limit("list entries", FIELD_MAX_ENTRIES);
    print_limit("identifier characters", IDENT_MAX);
    return 0;
}
